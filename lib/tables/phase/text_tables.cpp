#include "tables/phase/text_tables.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "layout/names/literal.hpp"
#include "layout/tables/paddle_tables.hpp"

namespace ckpt {

namespace {

const KeyedTable* text_table(const Layout& layout, const std::string& name) {
  const auto found = std::find_if(layout.tables.begin(), layout.tables.end(),
                                  [&](const KeyedTable& table) { return table.text && table.name.text() == name; });
  return found == layout.tables.end() ? nullptr : &*found;
}

/// For a target of text alone: each of the source's tables of text must be among its tables. With `is_all_lines`, also
/// refuses everything else in the source, which nobody would read.
void check_all_moved(const Layout& source, const Layout& target, bool is_all_lines) {
  for (const KeyedTable& table : source.tables)
    if (table.text && text_table(target, table.name.text()) == nullptr)
      throw Error(Kind::layout, "table '" + table.name.text() + "'",
                  {target.origin + " has " + std::to_string(target.tables.size()) +
                       (target.tables.size() == 1 ? " table" : " tables") + ", and none of this name",
                   "those of " + source.origin, "give both layouts the same tables"});
  if (is_all_lines && !is_text_alone(source))
    throw Error(Kind::layout, target.origin,
                {"tables of Paddle's text alone", "\"files\" for all else that " + source.origin + " has",
                 "leave out of the source's layout what you do not want"});
}

/// Reads the source's manifest if it says how it is cut, or if text is written. Throws usage for --digits if the output
/// has no text. Collective.
TextLayouts text_layouts(const ReshardJob& job, Communicator& processes) {
  std::optional<Layout> source = job.source.layout;
  SharedManifest manifest = job.source.manifest;
  if (!source) {
    if (!manifest) manifest = read_carried(job.source.path, processes);
    source = carried_layout(manifest, processes);
  }
  std::optional<Layout> target = job.target.layout;
  agree(processes, [&] {
    if (!target && !job.target.file_bytes && source && has_paddle_text(*source))
      target = target_layout(job.target, *source);
    if (target && has_paddle_text(*target)) return;
    target.reset();
    if (job.text_digits)
      throw Error(Kind::usage, "--digits",
                  {"the output is not Paddle's text", "tables of \"format\": \"paddle-text\"", "leave it out"});
  });
  if (!target) return {{}, {}, std::move(manifest)};
  if (!manifest) manifest = read_carried(job.source.path, processes);
  return {std::move(source), std::move(*target), std::move(manifest)};
}

}  // namespace

TextTables::TextTables(const ReshardJob& job, Communicator& processes, Counters& counters)
    : job_(job),
      processes_(processes),
      layouts_(text_layouts(job, processes)),
      target_(job, layouts_.target, processes),
      context_{job, target_, processes, counters, thread_count(job.resources, processes)},
      rest_(job.source),
      is_all_(is_text_alone(layouts_.target)) {
  rest_.manifest = layouts_.manifest;
  if (!has_paddle_text(layouts_.target)) return;
  agree(processes, [&] {
    check_possible();
    add_parts();
  });
}

void TextTables::add_parts() {
  const auto& source = layouts_.source;
  const Layout& target = layouts_.target;
  std::vector<const KeyedTable*> lines;
  std::vector<const KeyedTable*> rows;
  for (const KeyedTable& table : target.tables)
    if (table.text) (source && text_table(*source, table.name.text()) != nullptr ? lines : rows).push_back(&table);
  if (!lines.empty()) {
    parts_.push_back(moved_lines(context_, lines, *source, layouts_.manifest));
    rest_.layout = *source;
    std::erase_if(rest_.layout->tables, [&](const KeyedTable& table) {
      return table.text && text_table(target, table.name.text()) != nullptr;
    });
  }
  if (!rows.empty()) parts_.push_back(printed_rows(context_, rows, rest_, is_all_));
  if (is_all_ && source) check_all_moved(*source, target, rows.empty());
}

void TextTables::check_possible() const {
  const auto refuse = [](const char* object, const char* remedy) {
    throw Error(Kind::usage, object,
                {"tables of the output are Paddle's text", "a directory, and whole rows as they are", remedy});
  };
  if (job_.output.is_single_file || job_.output.is_pipe) refuse("the output", "write to a directory");
  if (job_.is_view) refuse("--virtual", "leave it out");
  if (!job_.deltas.empty()) refuse("--delta", "put deltas on where the tables become datasets");
  for (const KeepRule& rule : job_.keeps)
    for (const KeyedTable& table : target_.layout().tables)
      if (table.text && rule.tables.matches(table.name.text()))
        refuse("--keep", "choose rows where the table becomes datasets");
  if (!is_all_) return;
  if (!job_.format.empty()) refuse("--format", "leave it out");
  if (job_.has_checksums) refuse("--crc", "leave it out");
  if (job_.keeps_trees) refuse("--leaves", "leave it out");
  if (!job_.casts.empty()) refuse("--cast", "leave it out");
  if (!job_.names.rename.empty()) refuse("--rename", "give the table its name in the layout");
  if (!job_.keeps.empty()) refuse("--keep", "choose rows where the table becomes datasets");
  if (job_.expectation) refuse("what the output is expected to be", "leave it out");
  if (job_.resources.exchange != ExchangeKind::automatic && job_.resources.exchange != ExchangeKind::direct)
    refuse("--exchange", "every process reads what it writes: leave it out");
}

void TextTables::look(Stores& stores) {
  for (const auto& part : parts_) part->look(stores);
}

std::vector<std::filesystem::path> TextTables::paths_read() const {
  std::vector<std::filesystem::path> paths;
  for (const auto& part : parts_)
    for (std::filesystem::path& path : part->paths_read()) paths.push_back(std::move(path));
  return paths;
}

ReshardJob TextTables::rest_of_job() const {
  ReshardJob rest = job_;
  rest.source = rest_;
  if (parts_.empty()) return rest;
  rest.target = {};
  rest.target.layout = layouts_.target;
  rest.target.names_files = job_.target.names_files;
  for (const auto& part : parts_)
    for (const std::string& name : part->datasets()) rest.names.drop.emplace_back(literal(name));
  return rest;
}

const Checkpoint* TextTables::opened_source() const {
  for (const auto& part : parts_)
    if (const Checkpoint* opened = part->opened_source()) return opened;
  return nullptr;
}

std::string TextTables::describe(const std::string& job) const {
  if (parts_.empty()) return job;
  nlohmann::json description = nlohmann::json::parse(job);
  description["text"] = nlohmann::json::array();
  for (const auto& part : parts_) part->describe(description);
  return description.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void TextTables::report_to(Report& report) const {
  for (const auto& part : parts_) part->report_to(report);
}

void TextTables::write(Report& report) {
  for (const auto& part : parts_)
    for (const KeyedTable* table : part->tables()) {
      const std::vector<MovedShard> mine = part->write(*table, report);
      target_.add(*table, mine, part->kept_before(table->name.text()), report);
    }
  report.bytes_resumed += processes_.sum(target_.bytes_left());
  std::sort(report.tables.begin(), report.tables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

void TextTables::reread() {
  constexpr std::size_t at_once = 1ULL << 20;
  target_.reread(context_.threads, at_once);
}

void TextTables::check_sources(Stores& stores) const {
  for (const auto& part : parts_) part->check_sources(stores);
}

}  // namespace ckpt
