#include "checkpoint/text_table.hpp"

#include <algorithm>
#include <numeric>
#include <system_error>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "checkpoint/file_views.hpp"
#include "checkpoint/files_on_hosts.hpp"
#include "io/posix_file.hpp"
#include "layout/tables/paddle_tables.hpp"
#include "layout/tables/shard_files.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// How many files are opened at a time: network storage answers them together.
constexpr unsigned shards_at_once = 16;

std::vector<std::string> shard_names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator(directory, error); !error && at != std::filesystem::end(at);
       at.increment(error))
    if (!at->is_directory(error)) names.push_back(at->path().filename().string());
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory)
    throw Error(Kind::input, "",
                {"no such directory", "the files of a table's shards in it",
                 "give the directory that \"files\" of the layout begins in"});
  if (error) throw system_error(directory.string(), "list", error.value());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<FileCatalog::Version> versions_of(const std::vector<std::filesystem::path>& files) {
  std::vector<FileCatalog::Version> versions(files.size());
  for_each_in_parallel(shards_at_once, files.size(), [&](std::uint64_t file) {
    const PosixFile::Status status = PosixFile::open_for_reading(files[file]).status();
    versions[file] = {status.bytes, status.modified_ns};
  });
  return versions;
}

std::filesystem::path directory_of(const Layout& layout, std::size_t entry, const std::filesystem::path& checkpoint) {
  return checkpoint / layout.tables[entry].text->directory;
}

/// The table without its files.
TextTable text_table(const Layout& layout, std::size_t entry) {
  const KeyedTable& said = layout.tables[entry];
  return {said.name.text(), entry, RowFields(said.text->accessor), {}, {}};
}

TextTable find_text_table(const Layout& layout, std::size_t entry, const std::filesystem::path& checkpoint) {
  TextTable table = text_table(layout, entry);
  const std::filesystem::path directory = directory_of(layout, entry, checkpoint);
  with_context(directory.string(), [&] {
    for (const std::string& name : shard_files(shard_names_in(directory), layout.tables[entry].text->shards))
      table.files.push_back(directory / name);
    table.versions = versions_of(table.files);
  });
  return table;
}

void sort_by_name(std::vector<TextTable>& tables) {
  std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

}  // namespace

std::uint64_t TextTable::bytes() const {
  return std::accumulate(versions.begin(), versions.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const FileCatalog::Version& file) { return sum + file.bytes; });
}

std::vector<TextTable> find_text_tables(const Layout& layout, const std::filesystem::path& checkpoint) {
  std::vector<TextTable> tables;
  for (std::size_t entry = 0; entry < layout.tables.size(); ++entry)
    if (layout.tables[entry].text) tables.push_back(find_text_table(layout, entry, checkpoint));
  sort_by_name(tables);
  return tables;
}

namespace {

/// What process 0 reports about a table's files.
struct FoundFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
};

std::vector<FoundFile> files_of(const TextTable& table) {
  std::vector<FoundFile> files;
  for (std::uint64_t shard = 0; shard < table.shards(); ++shard)
    files.push_back(
        {table.files[shard].filename().string(), table.versions[shard].bytes, table.versions[shard].modified_ns});
  return files;
}

/// Throws input if a host does not see a file as process 0 does. Collective.
void check_same_on_hosts(const std::vector<TextTable>& tables, Communicator& processes) {
  if (processes.host_of(0).empty()) return;
  const bool looks = processes.local_rank() == 0 && processes.rank() != 0;  // once on each host
  std::vector<std::filesystem::path> files;
  std::vector<SeenFile> seen;
  agree(processes, [&] {
    for (const TextTable& table : tables) {
      std::vector<FileCatalog::Version> versions = table.versions;
      if (looks) versions = versions_of(table.files);
      files.insert(files.end(), table.files.begin(), table.files.end());
      for (const auto& [bytes, modified_ns] : versions) seen.push_back({bytes, modified_ns});
    }
  });
  const NamedFiles names{[&](FileNumber file) { return files[file].string(); }, {}};
  const MergedView together = merge_views(seen, names, processes);
  agree(processes, [&] {
    if (together.differing.empty()) return;
    const auto& [file, sights] = *together.differing.begin();
    throw differing_versions(files[file].string(), sights);
  });
}

}  // namespace

std::vector<TextTable> find_text_tables(const Layout& layout, const std::filesystem::path& checkpoint,
                                        Communicator& processes) {
  std::vector<TextTable> tables;
  std::vector<std::vector<FoundFile>> found;
  const auto find = [&] {
    if (processes.rank() != 0) return;
    tables = find_text_tables(layout, checkpoint);
    for (const TextTable& table : tables) found.push_back(files_of(table));
  };
  const auto take = [&] {
    for (std::size_t entry = 0; entry < layout.tables.size(); ++entry)
      if (layout.tables[entry].text) tables.push_back(text_table(layout, entry));
    sort_by_name(tables);
    for (std::size_t t = 0; t < tables.size(); ++t)
      for (const FoundFile& file : found.at(t)) {
        tables[t].files.push_back(directory_of(layout, tables[t].entry, checkpoint) / file.name);
        tables[t].versions.push_back({file.bytes, file.modified_ns});
      }
  };
  with_hosts_of_files(checkpoint, NeededOn::all_hosts, processes, [&] {
    agree(processes, find);
    found = value_of(0, found, processes);
    if (processes.rank() != 0) take();
    check_same_on_hosts(tables, processes);
  });
  return tables;
}

void check_is_found(const TextTable& found, std::uint64_t shard, const PosixFile::Status& read) {
  const FileCatalog::Version& was = found.versions[shard];
  if (read.bytes == was.bytes && read.modified_ns == was.modified_ns) return;
  const std::string name = found.files[shard].string();
  throw Error(Kind::input, name,
              {"it is not the file that was found there: its size or its time is another",
               "one that nobody writes, the same on all nodes",
               "",
               {Advice::What::wait_for_writer, ""}})
      .in_file(name);
}

void check_unchanged(const TextTable& found, const Layout& layout, const std::filesystem::path& checkpoint) {
  const TextTable now = find_text_table(layout, found.entry, checkpoint);
  for (std::uint64_t shard = 0; shard < found.shards(); ++shard) {
    const FileCatalog::Version& was = found.versions[shard];
    const FileCatalog::Version& is = now.versions[shard];
    if (now.files[shard] == found.files[shard] && is.bytes == was.bytes && is.modified_ns == was.modified_ns) continue;
    const std::string name = found.files[shard].string();
    throw Error(Kind::input, name, {"it was changed while it was read", "", "", {Advice::What::wait_for_writer, ""}})
        .in_file(name);
  }
}

}  // namespace ckpt
