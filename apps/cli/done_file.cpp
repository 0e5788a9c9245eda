#include "cli/done_file.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace ckpt::cli {

namespace {

using Json = nlohmann::json;

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_pass(std::string_view text) {
  return is_number(text) || text == "base" || (text.starts_with("delta-") && is_number(text.substr(6)));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (std::size_t end = 0; end != std::string_view::npos; text.remove_prefix(std::min(end + 1, text.size()))) {
    end = text.find(separator);
    pieces.push_back(text.substr(0, end));
  }
  return pieces;
}

/// The day and the pass at the end of a path; in a table's path, before the table's own components.
std::optional<DoneLine> of_path(std::string_view path) {
  std::vector<std::string_view> components = split(path, '/');
  std::erase_if(components, [](std::string_view each) { return each.empty(); });
  const auto is_table = [](std::string_view each) { return each.size() == 3 && is_number(each); };
  for (const bool without_table : {false, true}) {
    if (without_table && (components.size() < 3 || !is_table(components.back()))) break;
    const std::size_t end = components.size() - (without_table ? 1 : 0);
    if (end < 2) continue;
    const std::string_view day = components[end - 2];
    // "20190720/6/000" ends with numbers, too; a day has eight digits.
    if (day.size() == 8 && is_number(day) && is_pass(components[end - 1]))
      return DoneLine{std::string(day), std::string(components[end - 1]), ""};
  }
  return std::nullopt;
}

std::string text_of(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.is_number_integer() ? json.dump() : "";
}

std::optional<DoneLine> of_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("key") || !json.contains("input") || !json["input"].is_string())
    return std::nullopt;
  auto line = of_path(json["input"].get<std::string>());
  if (line) line->key = text_of(json["key"]);
  return line;
}

std::optional<DoneLine> of_tabs(std::string_view text) {
  const auto columns = split(text, '\t');
  if (columns.size() < 4 || !is_number(columns[0])) return std::nullopt;
  auto line = of_path(columns[2]);
  if (!line || line->day != columns[0]) return std::nullopt;
  line->key = std::string(columns[1]);
  return line;
}

}  // namespace

bool DoneLine::is_before(const DoneLine& other) const {
  const auto number = [](const DoneLine& line) {
    const std::string digits = line.is_base() ? "0" : line.is_delta() ? line.pass.substr(6) : line.pass;
    return std::string(std::max<std::size_t>(digits.size(), 20) - digits.size(), '0') + digits;
  };
  return std::pair(day, number(*this)) < std::pair(other.day, number(other));
}

std::optional<DoneLine> parse_day_and_pass(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view day = text.substr(0, slash);
  const std::string_view pass = text.substr(slash + 1);
  if (day.size() != 8 || !is_number(day) || !is_pass(pass)) return std::nullopt;
  return DoneLine{std::string(day), std::string(pass), ""};
}

std::vector<DoneLine> parse_done_lines(std::string_view text, const std::string& file) {
  std::vector<DoneLine> lines;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const auto found = line.front() == '{' ? of_json(line) : of_tabs(line);
    if (!found)
      throw Error(Kind::input, file + ": line " + std::to_string(number),
                  {"'" + std::string(line.substr(0, 100)) + (line.size() > 100 ? "…" : "") + "'",
                   "day, key, path/DAY/PASS and pass between tabs, or JSON with \"key\" and \"input\"",
                   "is it being written? run it again when the line is whole"});
    lines.push_back(*found);
  }
  return lines;
}

std::string done_line(const DoneLine& line, const std::string& path) {
  if (!line.is_base() && !line.is_delta())
    return line.day + "\t" + line.key + "\t" + path + "/\t" + (line.pass == "0" ? "-1" : line.pass) + "\t0";
  return nlohmann::ordered_json{
      {"id", line.is_delta() ? line.id : line.key}, {"key", line.key}, {"input", path + "/000"}, {"monitor_data", ""}}
      .dump();
}

}  // namespace ckpt::cli
