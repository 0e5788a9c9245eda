#include "checkpoint/text_table.hpp"

#include <algorithm>
#include <system_error>

#include "base/error.hpp"
#include "paddle_text/shard_files.hpp"

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

}  // namespace

std::vector<TextTable> find_text_tables(const Layout& layout, const std::filesystem::path& checkpoint) {
  std::vector<TextTable> tables;
  for (std::size_t entry = 0; entry < layout.tables.size(); ++entry) {
    const KeyedTable& said = layout.tables[entry];
    const std::filesystem::path directory = checkpoint / said.text.value().directory;
    TextTable& table = tables.emplace_back(TextTable{said.name.text(), entry, RowFields(said.text->accessor), {}, {}});
    with_context(directory.string(), [&] {
      for (const std::string& name : shard_files(shard_names_in(directory), said.text->shards)) {
        table.files.push_back(directory / name);
        table.bytes.push_back(std::filesystem::file_size(table.files.back()));
      }
    });
  }
  std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return tables;
}

}  // namespace ckpt
