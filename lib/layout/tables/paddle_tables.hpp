#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/language/layout.hpp"
#include "layout/tables/accessor.hpp"

namespace ckpt {

/// A table in Paddle's text format (layout-spec: `format`): one file for each shard, on the shard's server.
struct PaddleText {
  std::string directory;  ///< directory of its files within the checkpoint: "000"
  bool is_gzip = false;   ///< whether to compress on writing; on reading, the files' names decide
  Accessor accessor;
  std::uint64_t shards = 1;  ///< Paddle's shard_num

  friend bool operator==(const PaddleText&, const PaddleText&) = default;
};

/// Returns whether any of a layout's tables is in Paddle's text format.
bool has_paddle_text(const Layout& layout);
/// Returns whether it has only such tables: then no card has files.
bool is_text_alone(const Layout& layout);

/// Returns the files of a table as the layout describes them: "000/part-{server:03}-{shard:05}.gz".
std::string shard_file_template(const PaddleText& text);

/// Returns the server of each of a text table's shards.
std::vector<std::uint64_t> servers_of_shards(const KeyedTable& table, std::uint64_t servers);

/// Returns the paths of a text table's files when they are written, by shard, within the checkpoint's directory.
std::vector<std::string> shard_paths(const KeyedTable& table, std::uint64_t servers);

/// Returns the files of all its text tables.
std::vector<std::string> text_file_names(const Layout& layout);

/// Returns all files with data that a layout names: those of its cards, or of its tables' shards.
std::vector<std::string> file_names(const Layout& layout);

}  // namespace ckpt
