#include "report/json_text.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/printable.hpp"
#include "base/utf8.hpp"

namespace ckpt::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string hexadecimal(const std::string& bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {digits[byte >> 4U], digits[byte & 0xfU]};
  }
  return text;
}

bool is_sound(const Json& json) {
  return !json.is_string() || is_utf8(json.get_ref<const std::string&>());
}

void make_sound(Json& json) {
  if (!is_sound(json)) json = printable(json.get_ref<const std::string&>());
  if (json.is_array())
    for (Json& item : json) make_sound(item);
  if (!json.is_object()) return;
  std::vector<std::pair<std::string, std::string>> beside;
  for (auto& [key, value] : json.get_ref<Json::object_t&>()) {
    if (!is_sound(value)) beside.emplace_back(key + "_hex", hexadecimal(value.get_ref<const std::string&>()));
    make_sound(value);
  }
  for (auto& [key, text] : beside) json[key] = std::move(text);
}

}  // namespace

std::string json_text(Json json, int indent) {
  make_sound(json);
  return printable_json(json.dump(indent));
}

}  // namespace ckpt::cli
