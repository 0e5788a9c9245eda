#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/posix_file.hpp"
#include "layout/language/layout.hpp"
#include "layout/tables/accessor.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A table in Paddle's text, as a checkpoint has it.
struct TextTable {
  std::string name;
  std::size_t entry = 0;  ///< of Layout::tables
  RowFields fields;
  std::vector<std::filesystem::path> files;    ///< by shard
  std::vector<FileCatalog::Version> versions;  ///< of each file

  std::uint64_t shards() const noexcept { return files.size(); }
  std::uint64_t bytes() const;  ///< of all files
};

/// Finds a layout's tables of text (has_paddle_text) in a checkpoint's directory. Throws input, naming the file, if a
/// shard has no file or several, or if another file lies among them.
std::vector<TextTable> find_text_tables(const Layout& layout, const std::filesystem::path& checkpoint);

/// As above, with what process 0 finds for all. Collective.
std::vector<TextTable> find_text_tables(const Layout& layout, const std::filesystem::path& checkpoint,
                                        Communicator& processes);

/// Throws input, naming the file, unless the shard's file that was read is the one that was found: it may have changed
/// meanwhile, or processes see different ones.
void check_is_found(const TextTable& found, std::uint64_t shard, const PosixFile::Status& read);

/// Throws input, naming the file, if a table's files have changed since they were found.
void check_unchanged(const TextTable& found, const Layout& layout, const std::filesystem::path& checkpoint);

}  // namespace ckpt
