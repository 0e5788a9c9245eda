#include "checkpoint/text_table.hpp"

#include <algorithm>
#include <numeric>
#include <system_error>

#include "base/error.hpp"
#include "paddle_text/shard_files.hpp"
#include "store/posix_file.hpp"

namespace ckpt {

namespace {

std::vector<std::string> shard_names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator(directory, error); !error && at != std::filesystem::end(at);
       at.increment(error))
    if (!at->is_directory(error)) names.push_back(at->path().filename().string());
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory)
    throw Error(Kind::input, "",
                {"no such directory", "expected the files of a table's shards in it",
                 "give the directory that \"files\" of the layout begins in"});
  if (error) throw system_error(directory.string(), "list", error.value());
  std::sort(names.begin(), names.end());
  return names;
}

FileCatalog::Version version_of(const std::filesystem::path& file) {
  const PosixFile::Status status = PosixFile::open_for_reading(file).status();
  return {status.bytes, status.modified_ns};
}

TextTable find_text_table(const Layout& layout, std::size_t entry, const std::filesystem::path& checkpoint) {
  const KeyedTable& said = layout.tables[entry];
  const std::filesystem::path directory = checkpoint / said.text.value().directory;
  TextTable table{said.name.text(), entry, RowFields(said.text->accessor), {}, {}};
  with_context(directory.string(), [&] {
    for (const std::string& name : shard_files(shard_names_in(directory), said.text->shards)) {
      table.files.push_back(directory / name);
      table.versions.push_back(version_of(table.files.back()));
    }
  });
  return table;
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
  std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return tables;
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
