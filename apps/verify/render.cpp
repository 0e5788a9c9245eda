#include "verify/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/advice.hpp"
#include "report/card_ids.hpp"
#include "report/json_text.hpp"
#include "report/render.hpp"
#include "report/table.hpp"

namespace ckpt::cli {

namespace {

using Json = nlohmann::ordered_json;
using What = Difference::What;

const char* word(What what) {
  switch (what) {
    case What::only_in_a:
      return "only in A";
    case What::only_in_b:
      return "only in B";
    case What::dtype:
      return "dtype";
    case What::shape:
      return "shape";
    case What::elements:
      return "elements";
    case What::value:
      return "value";
    case What::keys_of_a:
      return "keys only in A";
    case What::keys_of_b:
      return "keys only in B";
    case What::rows:
      return "rows";
  }
  return "";
}

bool is_of_table(const Difference& difference) {
  return difference.what == What::keys_of_a || difference.what == What::keys_of_b || difference.what == What::rows;
}

std::vector<std::string> row(const Difference& difference) {
  std::vector<std::string> cells{difference.parameter,
                                 word(difference.what),
                                 difference.a,
                                 difference.b,
                                 "",
                                 "",
                                 "",
                                 CardIds(difference.cards).text()};
  if (is_of_table(difference)) cells[4] = with_commas(difference.count) + " of " + with_commas(difference.compared);
  if (difference.what != What::elements) return cells;
  cells[1] += " from " + to_string(difference.first);
  if (!difference.first_in_a.empty()) cells[1] += " = " + difference.first_in_a;
  cells[4] = with_commas(difference.count) + " of " + with_commas(difference.compared);
  if (!difference.largest) return cells;
  cells[5] = fmt::format("{:.3g}", difference.largest->absolute);
  cells[6] = fmt::format("{:.3g}", difference.largest->relative);
  return cells;
}

bool is_lone(const Difference& difference) {
  return difference.what == What::only_in_a || difference.what == What::only_in_b;
}

/// The names that differ only by a prefix, which one line reports together.
std::set<std::string> differently_named(const CompareReport& comparison) {
  std::set<std::string> names;
  if (comparison.prefix)
    for (const auto& [in_a, in_b] : comparison.prefix->renamed) names.insert({in_a, in_b});
  return names;
}

std::string prefix_text(const PrefixChange& change) {
  const std::string advice = change.renames.empty() ? "" : "; " + words({Advice::What::rename_all, change.renames});
  return (change.is_removed ? "A has " : "B has ") + change.text() + advice;
}

/// A table of the differences, and a line about a common prefix.
Lines table_of(const CompareReport& comparison, std::optional<std::size_t> width) {
  using Column = Table::Column;
  Table table({{"parameter", Column::Kind::flexible},
               {"differs"},
               {"in A", Column::Kind::flexible},
               {"in B", Column::Kind::flexible},
               {"differing", Column::Kind::number},
               {"largest abs", Column::Kind::number},
               {"largest rel", Column::Kind::number},
               {"cards of B", Column::Kind::flexible}});
  const std::set<std::string> renamed = differently_named(comparison);
  bool has_rows = false;
  for (const Difference& difference : comparison.differences) {
    if (is_lone(difference) && renamed.contains(difference.parameter)) continue;
    table.add(row(difference));
    has_rows = true;
  }
  Lines lines = has_rows ? table.lines(width).add("") : Lines();
  if (comparison.prefix) lines.add(prefix_text(*comparison.prefix)).add("");
  if (!comparison.likeness.empty()) lines.add(comparison.likeness).add("");
  return lines;
}

Json difference_json(const Difference& difference) {
  Json json{{"parameter", difference.parameter}, {"differs", word(difference.what)}};
  const auto add = [&](const char* key, const std::string& text) { json[key] = text.empty() ? Json() : Json(text); };
  add("a", difference.a);
  add("b", difference.b);
  json["cards"] = difference.cards;
  if (is_of_table(difference)) {
    json["differing"] = difference.count;
    json["compared"] = difference.compared;
  }
  if (difference.what != What::elements) return json;
  json["first"] = std::vector<std::uint64_t>(difference.first.begin(), difference.first.end());
  if (!difference.first_in_a.empty()) json["first_in_a"] = difference.first_in_a;
  json["differing"] = difference.count;
  json["compared"] = difference.compared;
  json["copies"] = difference.copies;
  const auto& largest = difference.largest;
  json["largest_absolute"] = largest ? Json(largest->absolute) : Json();  // JSON has no infinity: null, too
  json["largest_relative"] = largest ? Json(largest->relative) : Json();
  return json;
}

/// Adds a checkpoint's deviations from the reference, each line prefixed with `checkpoint`.
void add_deviations(const std::string& checkpoint, const Deviations& deviations, Lines& lines) {
  for (const std::string& line : deviations.lines) lines.add(checkpoint + ": " + line);
}

/// Whether both have the same deviations; the first one's lines may end with hints.
bool deviate_alike(const Deviations& a, const Deviations& b) {
  return !a.lines.empty() &&
         std::equal(a.lines.begin(), a.lines.end(), b.lines.begin(), b.lines.end(),
                    [](const auto& first, const auto& second) { return first.starts_with(second); });
}

const char* word(Damage::What what) {
  switch (what) {
    case Damage::What::missing:
      return "missing";
    case Damage::What::surplus:
      return "surplus";
    case Damage::What::size:
      return "wrong size";
    case Damage::What::unreadable:
      return "unreadable";
    case Damage::What::keys:
      return "wrong keys";
    case Damage::What::layout:
      return "of another run";
    case Damage::What::swapped:
      return "swapped";
    case Damage::What::manifest:
    case Damage::What::content:
    case Damage::What::parameter:
      return "changed";
  }
  return "";
}

std::string detail(const Damage& damage) {
  switch (damage.what) {
    case Damage::What::manifest:
      return "the manifest is not as it was written: nothing else could be held against it";
    case Damage::What::layout:
      return "it carries another layout";
    case Damage::What::swapped:
      return "it holds what " + damage.detail + " should";
    case Damage::What::content:
      if (!damage.detail.empty()) return damage.detail;
      return damage.parameters.empty() ? "in metadata or padding" : "";
    case Damage::What::unreadable:
    case Damage::What::keys:
      return message(*damage.cause);
    default:
      return damage.detail;
  }
}

}  // namespace

Lines comparison_text(const ComparedPaths& paths, const CompareReport& comparison, std::optional<std::size_t> width) {
  const std::string pair = paths.a + " (A) and " + paths.b + " (B)";
  const std::string compared =
      counted(comparison.parameters, "parameter") + " of " + format_bytes(comparison.bytes) + " compared";
  Lines lines;
  if (!comparison.differences.empty()) lines = table_of(comparison, width);
  if (comparison.differences.empty() && deviate_alike(comparison.a_deviations, comparison.b_deviations)) {
    add_deviations("A and B", comparison.a_deviations, lines);
    return lines.add(pair + " hold the same tensors, but " + comparison.a_deviations.outcome() + ": " + compared);
  }
  add_deviations("A", comparison.a_deviations, lines);
  add_deviations("B", comparison.b_deviations, lines);
  if (!comparison.a_deviations.lines.empty()) lines.add("of " + paths.a + " (A) " + comparison.a_deviations.outcome());
  if (!comparison.b_deviations.lines.empty()) lines.add("of " + paths.b + " (B) " + comparison.b_deviations.outcome());
  if (comparison.differences.empty())
    return lines.add(pair + " hold the same tensors" + (comparison.is_same() ? "" : ", but not as expected") + ": " +
                     compared);
  return lines.add(pair + " differ in " + counted(comparison.differences.size(), "parameter") + "; " + compared);
}

std::string comparison_json(const ComparedPaths& paths, const CompareReport& comparison,
                            const std::optional<Tolerance>& tolerance) {
  Json json{{"a", paths.a}, {"b", paths.b}, {"same", comparison.is_same()}};
  json["tolerance"] =
      tolerance ? Json{{"relative", tolerance->relative}, {"absolute", tolerance->absolute}} : Json(nullptr);
  json["parameters"] = comparison.parameters;
  json["bytes"] = comparison.bytes;
  json["differences"] = Json::array();
  for (const Difference& difference : comparison.differences)
    json["differences"].push_back(difference_json(difference));
  if (!comparison.likeness.empty()) json["likeness"] = comparison.likeness;
  if (!comparison.a_deviations.lines.empty()) json["a_deviations"] = comparison.a_deviations.lines;
  if (!comparison.b_deviations.lines.empty()) json["b_deviations"] = comparison.b_deviations.lines;
  return json_text(std::move(json)) + "\n";
}

Lines integrity_text(const std::string& path, const Integrity& integrity, std::optional<std::size_t> width) {
  const std::string held = counted(integrity.files, "file") + ", " + counted(integrity.parameters, "parameter");
  Lines deviating;
  add_deviations(path, integrity.deviations, deviating);
  const std::string but = integrity.deviations.lines.empty() ? "" : ", but " + integrity.deviations.outcome();
  if (integrity.damages.empty())
    return deviating.add(path + " is as it was written" + but + ": " + held + ", " + format_bytes(integrity.bytes) +
                         " read");
  using Column = Table::Column;
  Table table(
      {{"file", Column::Kind::flexible}, {"is"}, {"parameters", Column::Kind::flexible}, {"", Column::Kind::flexible}});
  for (const Damage& damage : integrity.damages)
    table.add({damage.file.empty() ? "-" : damage.file, word(damage.what), join(damage.parameters), detail(damage)});
  const bool has_wrong_keys_alone = std::all_of(integrity.damages.begin(), integrity.damages.end(),
                                                [](const Damage& damage) { return damage.what == Damage::What::keys; });
  const std::string is =
      has_wrong_keys_alone ? " is as it was written, but has wrong keys" : " is not as it was written";
  return table.lines(width).add("").add(deviating).add(path + is + but + (integrity.files > 0 ? ": " + held : ""));
}

std::string integrity_json(const std::string& path, const Integrity& integrity) {
  Json json{{"path", path}, {"intact", integrity.damages.empty()}};
  json["files"] = integrity.files;
  json["parameters"] = integrity.parameters;
  json["bytes"] = integrity.bytes;
  json["damages"] = Json::array();
  for (const Damage& damage : integrity.damages)
    json["damages"].push_back({{"file", damage.file.empty() ? Json() : Json(damage.file)},
                               {"is", word(damage.what)},
                               {"parameters", damage.parameters},
                               {"detail", detail(damage)}});
  if (!integrity.deviations.lines.empty()) json["deviations"] = integrity.deviations.lines;
  return json_text(std::move(json)) + "\n";
}

}  // namespace ckpt::cli
