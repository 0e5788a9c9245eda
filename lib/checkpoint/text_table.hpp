#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "paddle_text/accessor.hpp"

namespace ckpt {

/// A table in Paddle's text, as a checkpoint has it.
struct TextTable {
  std::string name;
  std::size_t entry = 0;  ///< of Layout::tables
  RowFields fields;
  std::vector<std::filesystem::path> files;  ///< by shard
  std::vector<std::uint64_t> bytes;          ///< of each

  std::uint64_t shards() const noexcept { return files.size(); }
};

/// The tables of a layout of text (has_paddle_text) in a checkpoint's directory. Throws input, naming the file, where a
/// shard has none or several, or where another file lies among them.
std::vector<TextTable> find_text_tables(const Layout& layout, const std::filesystem::path& checkpoint);

}  // namespace ckpt
