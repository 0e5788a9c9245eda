#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace ckpt {

/// Whether a layout's tables are Paddle's text: then it says nothing else but its mesh.
bool has_paddle_text(const Layout& layout);

/// The files of a table as the layout says them: "000/part-{server:03}-{shard:05}.gz".
std::string shard_file_template(const PaddleText& text);

/// The server of each of a text table's shards.
std::vector<std::uint64_t> servers_of_shards(const KeyedTable& table, std::uint64_t servers);

/// The paths of a text table's files as they are written, by shard, in the checkpoint's directory.
std::vector<std::string> shard_paths(const KeyedTable& table, std::uint64_t servers);

/// All files with data that a layout names: those of its cards, or of its tables' shards.
std::vector<std::string> file_names(const Layout& layout);

}  // namespace ckpt
