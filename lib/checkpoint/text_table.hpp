#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "paddle_text/accessor.hpp"
#include "processes/communicator.hpp"
#include "store/posix_file.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A table in Paddle's text, as a checkpoint has it.
struct TextTable {
  std::string name;
  std::size_t entry = 0;  ///< of Layout::tables
  RowFields fields;
  std::vector<std::filesystem::path> files;    ///< by shard
  std::vector<FileCatalog::Version> versions;  ///< of each

  std::uint64_t shards() const noexcept { return files.size(); }
  std::uint64_t bytes() const;  ///< of all files
};

/// The tables of a layout of text (has_paddle_text) in a checkpoint's directory. Throws input, naming the file, where a
/// shard has none or several, or where another file lies among them.
std::vector<TextTable> find_text_tables(const Layout& layout, const std::filesystem::path& checkpoint);

/// The same as process 0 sees them: it looks for all. Collective.
std::vector<TextTable> find_text_tables(const Layout& layout, const std::filesystem::path& checkpoint,
                                        Communicator& processes);

/// Throws input, naming the file, where what was read of a shard is not the file that was found: it has changed
/// meanwhile, or processes see different ones.
void check_is_found(const TextTable& found, std::uint64_t shard, const PosixFile::Status& read);

/// Throws input, naming the file, where the files of a table are not the ones any more that were found.
void check_unchanged(const TextTable& found, const Layout& layout, const std::filesystem::path& checkpoint);

}  // namespace ckpt
