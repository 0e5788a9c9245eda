#include "report/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "report/state_names.hpp"

namespace ckpt::cli {

namespace {

constexpr int label_width = 24;

std::string line(const std::string& label, const std::string& value) {
  return fmt::format("{:<{}}{}", label, label_width, value);
}

std::string exact_bytes(std::uint64_t bytes) {
  const std::string exact = with_commas(bytes);
  return bytes < 1024 ? exact : fmt::format("{} ({})", exact, format_bytes(bytes));
}

double total_seconds(const Report& report) {
  const auto total = report.seconds.find("total");
  return total == report.seconds.end() ? 0 : total->second;
}

/// Which rows stay, if not all do.
std::string kept_text(const KeptRows& kept) {
  std::string text = kept.where;
  if (!kept.as.empty()) text += (text.empty() ? "" : ", and ") + std::string("whose rows of ") + kept.as + " do";
  if (kept.dropped_with_nan != 0) text += "; " + counted(kept.dropped_with_nan, "row") + " with NaN dropped";
  return text;
}

/// The largest server, not the mean, determines the time.
std::string rows_text(const Report::TableUse& table) {
  std::uint64_t total = 0;
  for (const std::uint64_t rows : table.rows) total += rows;
  const auto [least, most] = std::minmax_element(table.rows.begin(), table.rows.end());
  const double mean = double(total) / double(table.rows.size());
  const std::string of = table.kept ? " (of " + with_commas(table.kept->of) + ")" : "";
  return fmt::format(
      "{}, {} to {} on each of {}{}",
      table.is_text ? counted(total, "line")
                    : counted(total, "row") + of + " of " + with_commas(table.row_bytes) + " bytes",
      with_commas(*least), with_commas(*most), counted(table.rows.size(), "server"),
      *most == *least ? "" : fmt::format(", the fullest has {:.2f} times the mean", double(*most) / mean));
}

}  // namespace

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string counted(std::uint64_t count, const std::string& noun) {
  return with_commas(count) + " " + noun + (count == 1 ? "" : noun.ends_with("s") ? "es" : "s");
}

Lines dry_run_table(const Report& report) {
  const std::string cast =
      report.cast_parameters == 0 ? "" : ", " + with_commas(report.cast_parameters) + " of them cast";
  std::vector<std::pair<std::string, std::string>> rows{
      {"source cards", with_commas(report.source_cards)},
      {"source files", with_commas(report.source_files)},
      {"target cards", with_commas(report.target_cards)},
      {"target files", with_commas(report.target_files)},
      {"parameters", with_commas(report.parameters) + cast},
      {"tensor bytes", exact_bytes(report.tensor_bytes)},
      {"bytes to read", exact_bytes(report.bytes_to_read)},
      {"bytes to write", exact_bytes(report.bytes_to_write)},
      {"bytes that change card", exact_bytes(report.bytes_changing_card)},
      {"exchange", report.exchange},
      {"processes", with_commas(report.processes)},
      {"threads", with_commas(report.threads) + " in each process"},
      {"busiest process", fmt::format("{}: {}", report.busiest_process, exact_bytes(report.busiest_process_bytes))},
      {"staging memory", exact_bytes(report.staging_bytes) + " in each process"},
      {"peak memory", exact_bytes(report.peak_bytes) + " in each process, about"}};
  if (report.free_bytes)
    rows.emplace_back("free space", exact_bytes(*report.free_bytes) +
                                        (*report.free_bytes < report.bytes_to_write ? ", which is too little" : ""));
  if (!report.refused_room.empty()) rows.emplace_back("", "but the output gets no room: " + report.refused_room);
  if (!report.stripes.empty()) rows.emplace_back("stripes", report.stripes);
  if (report.open_files != 0 && std::max(report.source_files, report.target_files) > report.open_files)
    rows.emplace_back("open files", "at most " + counted(report.open_files, "file") +
                                        " of either side at a time, then others are closed (ulimit -n)");
  const auto count = [&](bool unread) {
    return std::count_if(report.tables.begin(), report.tables.end(),
                         [&](const auto& table) { return table.has_unread_keys == unread && !table.is_text; });
  };
  const bool is_filtered = std::any_of(report.tables.begin(), report.tables.end(),
                                       [](const auto& table) { return table.kept && !table.kept->where.empty(); });
  if (count(false) != 0)
    rows.emplace_back("only keys were read", std::string("of tables") +
                                                 (is_filtered ? ", and what --keep compares" : "") +
                                                 "; they lie where the layout says, each once");
  if (count(true) != 0)
    rows.emplace_back("no key was read", "of tables whose shards move whole, only where they begin");
  if (std::any_of(report.tables.begin(), report.tables.end(), [](const auto& table) { return table.is_text; }))
    rows.emplace_back("all rows were read", "of tables that become text; each key is in its shard, once");
  for (const Report::TableUse& table : report.tables) {
    rows.emplace_back("table " + table.name, rows_text(table));
    if (table.kept) rows.emplace_back("  rows that stay", kept_text(*table.kept));
    for (const TableLayerFacts& layer : table.layers)
      rows.emplace_back("  taken",
                        with_commas(layer.taken) + " of " + counted(layer.rows, "row") + " of " + layer.path);
  }
  if (report.tables.empty())
    rows.emplace_back("no data was read", "what bytes can show of a wrong layout, the job itself checks");
  Lines lines;
  for (const auto& [label, value] : rows) lines.add(line(label, value));
  return lines;
}

Lines rule_table(const std::string& title, const std::string& layout, const std::vector<Report::RuleUse>& rules) {
  Lines lines;
  lines.add("").add(title + ", " + layout);
  for (const auto& use : rules) {
    lines.add("  " + (use.place.empty() ? "" : use.place + " ") + use.rule + ": " +
              counted(use.parameters.size(), "parameter"));
    auto names = use.parameters;
    std::sort(names.begin(), names.end(), natural_less);
    for (const InternedText& name : names) lines.add("    " + name.str());
  }
  return lines;
}

std::string summary(const std::string& output, const Report& report) {
  const double seconds = total_seconds(report);
  std::string text = fmt::format("wrote {}: {}, {} in {:.1f} s", output, counted(report.target_files, "file"),
                                 format_bytes(report.bytes_written), seconds);
  if (report.bytes_resumed > 0) text += ", beside " + format_bytes(report.bytes_resumed) + " of an earlier run";
  constexpr double telling_seconds = 1;  // a shorter time, or one for fewer bytes, is mostly start and end
  constexpr std::uint64_t telling_bytes = 64 << 20;
  if (seconds >= telling_seconds && report.bytes_written >= telling_bytes)
    text += fmt::format(" ({:.2f} GB/s)", double(report.bytes_written) / seconds / 1e9);
  if (!report.format.empty()) text += ", in the format " + report.format;
  return text;
}

std::string view_summary(const std::string& output, const Report& report) {
  return fmt::format("wrote {}: {} showing {} of the source, which must stay as and where it is, in {:.1f} s", output,
                     counted(report.target_files, "file"), format_bytes(report.tensor_bytes), total_seconds(report));
}

std::string optimizer_note(const Report& report) {
  constexpr std::size_t most_patterns = 4;
  const auto names_of = [](const std::vector<Report::RuleUse>& rules) {
    std::vector<std::string> names;
    for (const Report::RuleUse& rule : rules)
      for (const InternedText& name : rule.parameters) names.push_back(name.str());
    return names;
  };
  const std::vector<std::string> names = names_of(report.target_rules);
  const std::size_t states = sure_states(names).size();
  if (states == 0 || states == names.size()) return "";
  const std::string note =
      fmt::format("the output has optimizer state, {} of {}", with_commas(states), counted(names.size(), "parameter"));
  const std::vector<std::string> sources = names_of(report.source_rules);  // options match the source's names
  std::string drops;
  for (const std::string& pattern : state_patterns(sources, sure_states(sources), most_patterns))
    drops += "--drop " + shell_word(pattern) + " ";
  return drops.empty() ? note : note + "; " + drops + "leaves it out";
}

}  // namespace ckpt::cli
