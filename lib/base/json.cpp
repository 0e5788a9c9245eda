#include "base/json.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace ckpt {

namespace {

using nlohmann::json;

constexpr std::size_t max_detail_bytes = 200;

/// Returns nlohmann's message without its error name and its own description of the place, cut to a readable length.
std::string detail_of(std::string_view what) {
  if (const auto bracket = what.find("] "); bracket != what.npos) what.remove_prefix(bracket + 2);
  static constexpr std::string_view before_place = "parse error at line ";
  if (what.starts_with(before_place))
    if (const auto colon = what.find(": "); colon != what.npos) what.remove_prefix(colon + 2);
  std::string detail(what.substr(0, max_detail_bytes));
  while (detail.size() == max_detail_bytes && (static_cast<unsigned char>(detail.back()) & 0xC0U) == 0x80)
    detail.pop_back();
  return detail;
}

/// `position` counts the characters up to and including the wrong one.
[[noreturn]] void fail_at(const std::string& text, const std::string& origin, const JsonRules& rules,
                          std::size_t position, const std::string& detail) {
  const std::string_view before = std::string_view(text).substr(0, position == 0 ? 0 : position - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  throw Error(rules.kind, origin + ": line " + std::to_string(line) + ", column " + std::to_string(column),
              {"found text that is not JSON: " + detail, "", rules.remedy});
}

/// Builds the document event by event: the parser itself silently keeps the last of two equal keys.
class Builder final : public nlohmann::json_sax<json> {
 public:
  using Visit = std::function<void(const std::string&, const json&)>;

  /// `visit`, if given, receives the members of the top level's object `streamed`.
  Builder(const std::string& text, const std::string& origin, const JsonRules& rules, std::string streamed = {},
          Visit visit = {})
      : text_(text), origin_(origin), rules_(rules), streamed_(std::move(streamed)), visit_(std::move(visit)) {}

  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    auto& level = open_.back();
    const auto [member, is_new] = level.value->emplace(key, nullptr);
    level.member = &*member;
    level.key = std::move(key);
    if (is_streaming()) kept_values_ = values_;
    if (!is_new) fail("found the key \"" + level.key + "\" twice", "each key once");
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    fail_at(text_, origin_, rules_, position, detail_of(error.what()));
  }

 private:
  struct Level {
    json* value;
    std::string key;         ///< for an object: the last key read
    json* member = nullptr;  ///< its value
  };

  json* place(json&& value) {
    if (++values_ > rules_.max_values)
      fail("found more than " + std::to_string(rules_.max_values) + " values", rules_.expected);
    if (open_.empty()) return &(root_ = std::move(value));
    auto& level = open_.back();
    if (level.value->is_object()) return &(*level.member = std::move(value));
    level.value->push_back(std::move(value));
    return &level.value->back();
  }

  bool add(json&& value) {
    place(std::move(value));
    hand_over();
    return true;
  }

  bool open(json&& value) {
    json* const placed = place(std::move(value));
    if (open_.size() >= rules_.max_depth)
      fail("found lists and objects nested deeper than " + std::to_string(rules_.max_depth), rules_.expected);
    open_.push_back({placed, {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    hand_over();
    return true;
  }

  /// Returns whether the innermost object is the one whose members are streamed.
  bool is_streaming() const {
    return visit_ && open_.size() == 2 && open_[0].key == streamed_ && open_[1].value->is_object();
  }

  void hand_over() {
    if (!is_streaming()) return;
    const Level& level = open_.back();
    visit_(level.key, level.value->front());
    level.value->clear();
    values_ = kept_values_;
  }

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    std::string place;
    for (const auto& level : open_) {
      place += '/';
      place += level.value->is_object() ? pointer_token(level.key) : std::to_string(level.value->size() - 1);
    }
    throw Error(rules_.kind, origin_ + (place.empty() ? "" : ": " + place), {found, expected, ""});
  }

  const std::string& text_;
  const std::string& origin_;
  const JsonRules& rules_;
  std::string streamed_;
  Visit visit_;
  json root_;
  std::vector<Level> open_;
  std::size_t values_ = 0;
  std::size_t kept_values_ = 0;  ///< before the member that is being streamed
};

json build(const std::string& text, const std::string& origin, const JsonRules& rules, Builder builder) {
  // The parser would take a NUL for the end of the text, and silently ignore what follows.
  if (const auto nul = text.find('\0'); nul != std::string::npos)
    fail_at(text, origin, rules, nul + 1, "a NUL character");
  json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace

json parse_json(const std::string& text, const std::string& origin, const JsonRules& rules) {
  return build(text, origin, rules, Builder(text, origin, rules));
}

json parse_json(const std::string& text, const std::string& origin, const JsonRules& rules, const std::string& streamed,
                const std::function<void(const std::string&, const json&)>& visit) {
  return build(text, origin, rules, Builder(text, origin, rules, streamed, visit));
}

std::string pointer_token(const std::string& key) {
  std::string token;
  for (const char c : key) {
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c;
  }
  return token;
}

}  // namespace ckpt
