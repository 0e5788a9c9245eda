#include "layout/language/parse_node.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "layout/language/parse_json.hpp"
#include "tensor/shape.hpp"

namespace ckpt::parsing {

namespace {

using nlohmann::json;

constexpr std::size_t max_shown = 60;
constexpr std::size_t max_listed = 32;

std::string plural(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::string json_string(std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, is_plain)) return '"' + std::string(text) + '"';  // most are, and the library is slow
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

void Node::fail(const std::string& found, const std::string& expected, const std::string& remedy) const {
  // An error that is told again at its place may say so already.
  throw Error(Kind::layout, place(), {(found.starts_with("found ") ? "" : "found ") + found, expected, remedy});
}

void Node::fail_unlisted(const std::string& found, const std::string& what,
                         const std::vector<std::string>& allowed) const {
  std::vector<std::string> shown;
  shown.reserve(allowed.size());
  for (const auto& word : allowed) shown.push_back(json_string(word));
  std::string remedy;
  if (is_string() && value_->get_ref<const std::string&>().size() <= max_shown && !allowed.empty())
    remedy = "did you mean " + json_string(nearest(value_->get_ref<const std::string&>(), allowed, 1).front()) + "?";
  fail(found, what + "one of " + join(shown, max_listed), remedy);
}

std::string Node::describe() const {
  if (value_->is_array() && value_->size() > 8) return "a list of " + plural(value_->size(), "item");
  if (value_->is_object() && !value_->empty()) return "an object of " + plural(value_->size(), "key");
  if (is_string() && value_->get_ref<const std::string&>().size() > max_shown)
    return "a string of " + plural(value_->get_ref<const std::string&>().size(), "byte");
  const auto text = value_->dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 2 * max_shown ? text : "a list of " + plural(value_->size(), "item");
}

void Node::check_keys(const std::vector<std::string>& allowed, const std::vector<std::string>& required) const {
  if (!value_->is_object()) fail("an object");
  for (const auto& entry : value_->items()) {
    if (std::find(allowed.begin(), allowed.end(), entry.key()) != allowed.end()) continue;
    const json key = entry.key();
    Node unknown(key, *origin_);
    unknown.pointer_ = member(entry.key()).pointer_;
    unknown.fail_unlisted("the unknown key " + unknown.describe(), "", allowed);
  }
  for (const auto& key : required)
    if (!value_->contains(key)) fail("no key " + json_string(key) + ", which is required", "");
}

std::optional<Node> Node::find(const std::string& key) const {
  if (!value_->contains(key)) return std::nullopt;
  return member(key);
}

Node Node::member(const std::string& key) const {
  Node node(value_->at(key), *origin_);
  node.pointer_ = pointer_ + "/" + pointer_token(key);
  return node;
}

std::vector<std::string> Node::keys() const {
  if (!value_->is_object()) fail("an object");
  std::vector<std::string> result;
  for (const auto& entry : value_->items()) result.push_back(entry.key());
  return result;
}

Node Node::item(std::size_t index) const {
  Node node(value_->at(index), *origin_);
  node.pointer_ = pointer_ + "/" + std::to_string(index);
  return node;
}

std::vector<Node> Node::items() const {
  if (!is_list()) fail("a list");
  std::vector<Node> result;
  result.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) result.push_back(item(i));
  return result;
}

std::string Node::text() const {
  if (!is_string()) fail("a string");
  const auto& text = value_->get_ref<const std::string&>();
  if (text.empty()) fail("a string that is not empty");
  if (text.find('\0') != std::string::npos) fail("a string without a NUL character");
  return text;
}

bool Node::truth() const {
  if (!value_->is_boolean()) fail("true or false");
  return value_->get<bool>();
}

std::uint64_t Node::number(std::uint64_t least, std::uint64_t most) const {
  const bool is_bounded = most != ~std::uint64_t{0};
  const std::string range =
      "a whole number " + (is_bounded ? "between " + std::to_string(least) + " and " + std::to_string(most)
                                      : "from " + std::to_string(least) + " to 2^64 - 1");
  if (!value_->is_number_unsigned()) fail(range);
  const auto number = value_->get<std::uint64_t>();
  if (number < least || number > most) fail(range);
  return number;
}

std::vector<std::uint64_t> Node::numbers(std::uint64_t least) const {
  if (!is_list()) fail("a list of whole numbers");
  std::vector<std::uint64_t> result;
  result.reserve(value_->size());
  for (const auto& value : *value_) {
    const bool is_good = value.is_number_unsigned() && value.get<std::uint64_t>() >= least;
    result.push_back(is_good ? value.get<std::uint64_t>() : item(result.size()).number(least));
  }
  return result;
}

std::size_t Node::dimension_key(const std::string& key) const {
  std::size_t dimension = 0;
  const auto [end, status] = std::from_chars(key.data(), key.data() + key.size(), dimension);
  const bool is_number = status == std::errc{} && end == key.data() + key.size() && std::to_string(dimension) == key;
  if (!is_number || dimension >= max_rank)
    member(key).fail("the key " + json_string(key), R"(a dimension's number, "0" to "31")");
  return dimension;
}

Pattern Node::pattern(const std::set<std::string>& numeric) const {
  return with_context(*origin_ + ": " + pointer_, [&, words = text()] { return Pattern(words, numeric); });
}

std::uint64_t Node::card_id(const std::string& key) const {
  std::uint64_t card = 0;
  const auto [end, status] = std::from_chars(key.data(), key.data() + key.size(), card);
  if (status != std::errc{} || end != key.data() + key.size() || std::to_string(card) != key)
    member(key).fail("the key \"" + key + "\"", "a card's id");
  return card;
}

FileTemplate Node::file_template(const Mesh& mesh) const {
  if (is_object()) {
    FileTemplate::ByCard paths;
    for (const std::string& key : keys()) {
      const Node path = member(key);
      paths.emplace(card_id(key), path.text());
    }
    return with_context(*origin_ + ": " + pointer_, [&] { return FileTemplate(std::move(paths), mesh); });
  }
  if (!is_string()) fail("a string, or an object of the cards' paths");
  return with_context(*origin_ + ": " + pointer_,
                      [&] { return FileTemplate(value_->get_ref<const std::string&>(), mesh); });
}

Axis Node::axis(const Mesh& mesh) const {
  const auto found = is_string() ? mesh.axis(value_->get_ref<const std::string&>()) : std::nullopt;
  if (!found) fail_unlisted(describe(), "an axis of the mesh, ", mesh.axes);
  return *found;
}

Axis Node::axis_key(const std::string& key, const Mesh& mesh) const {
  const json name = key;
  Node node(name, *origin_);
  node.pointer_ = member(key).pointer_;
  return node.axis(mesh);
}

std::optional<std::uint64_t> product(const std::vector<std::uint64_t>& factors) {
  if (std::find(factors.begin(), factors.end(), 0U) != factors.end()) return 0;
  std::uint64_t result = 1;
  for (const auto factor : factors)
    if (__builtin_mul_overflow(result, factor, &result)) return std::nullopt;
  return result;
}

std::optional<std::uint64_t> sum(const std::vector<std::uint64_t>& numbers) {
  std::uint64_t result = 0;
  for (const auto number : numbers)
    if (__builtin_add_overflow(result, number, &result)) return std::nullopt;
  return result;
}

}  // namespace ckpt::parsing
