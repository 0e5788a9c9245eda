#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "layout/language/layout.hpp"
#include "layout/language/parse_words.hpp"

namespace ckpt::parsing {

/// Returns the text as a JSON string.
std::string json_string(std::string_view text);

/// A value of the document together with its place in it, so that every error contains a JSON pointer. It refers to the
/// document and to the origin's name, which must outlive it.
class Node {
 public:
  Node(const nlohmann::json& value, const std::string& origin) : value_(&value), origin_(&origin) {}

  /// Throws layout: "ORIGIN: POINTER: found FOUND, expected EXPECTED; REMEDY".
  [[noreturn]] void fail(const std::string& found, const std::string& expected, const std::string& remedy = {}) const;
  /// Throws layout, with this value as what was found.
  [[noreturn]] void fail(const std::string& expected) const { fail(describe(), expected); }

  bool is_null() const noexcept { return value_->is_null(); }
  bool is_string() const noexcept { return value_->is_string(); }
  bool is_list() const noexcept { return value_->is_array(); }
  bool is_object() const noexcept { return value_->is_object(); }

  /// Returns "ORIGIN: POINTER", the beginning of messages.
  std::string place() const { return pointer_.empty() ? *origin_ : *origin_ + ": " + pointer_; }

  /// Returns the value for a message: in full if it is short, otherwise its kind.
  std::string describe() const;

  /// Throws unless it is an object with no other keys than these, and with the required ones.
  void check_keys(const std::vector<std::string>& allowed, const std::vector<std::string>& required) const;
  bool has(const std::string& key) const { return value_->contains(key); }
  std::optional<Node> find(const std::string& key) const;
  Node member(const std::string& key) const;  ///< the key must exist
  std::vector<std::string> keys() const;      ///< throws unless it is an object
  Node item(std::size_t index) const;
  std::vector<Node> items() const;  ///< throws unless it is a list

  std::string text() const;  ///< a string, not empty
  bool truth() const;        ///< true or false
  /// Returns a whole number of at least `least` and at most `most`.
  std::uint64_t number(std::uint64_t least = 0, std::uint64_t most = ~std::uint64_t{0}) const;
  std::vector<std::uint64_t> numbers(std::uint64_t least = 0) const;
  /// Parses an object key that is a dimension's number.
  std::size_t dimension_key(const std::string& key) const;

  /// Parses the string as a pattern, a template or an axis of the mesh; errors from their own checks get the place.
  Pattern pattern(const std::set<std::string>& numeric = {}) const;
  std::uint64_t card_id(const std::string& key) const;  ///< the card id in one of its keys; throws if there is none
  FileTemplate file_template(const Mesh& mesh) const;
  Axis axis(const Mesh& mesh) const;
  Axis axis_key(const std::string& key, const Mesh& mesh) const;

  template <std::size_t Count, class Value>
  Value word(const std::array<Word<Value>, Count>& words) const {
    std::vector<std::string> allowed;
    for (const auto& word : words) {
      if (is_string() && value_->template get_ref<const std::string&>() == word.text) return word.value;
      allowed.emplace_back(word.text);
    }
    fail_unlisted(describe(), "", allowed);
  }

  /// Runs `work`; an error that it throws becomes one at this place.
  template <class Work>
  auto told(const Work& work) const {
    try {
      return work();
    } catch (const Error& error) {
      fail(error.text().found, error.text().expected, error.text().remedy);
    }
  }

 private:
  /// Throws "found FOUND, expected WHAT one of ...; did you mean ...?".
  [[noreturn]] void fail_unlisted(const std::string& found, const std::string& what,
                                  const std::vector<std::string>& allowed) const;

  const nlohmann::json* value_;
  const std::string* origin_;
  std::string pointer_;
};

/// Return the product, or the sum; nothing for 2^64 or more.
std::optional<std::uint64_t> product(const std::vector<std::uint64_t>& factors);
std::optional<std::uint64_t> sum(const std::vector<std::uint64_t>& numbers);

}  // namespace ckpt::parsing
