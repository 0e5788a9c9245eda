#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace ckpt {

/// Whether some of a layout's tables are Paddle's text.
bool has_paddle_text(const Layout& layout);
/// Whether it says nothing of anything else: then no card has files.
bool is_text_alone(const Layout& layout);

/// The files of a table as the layout says them: "000/part-{server:03}-{shard:05}.gz".
std::string shard_file_template(const PaddleText& text);

/// The server of each of a text table's shards.
std::vector<std::uint64_t> servers_of_shards(const KeyedTable& table, std::uint64_t servers);

/// The paths of a text table's files as they are written, by shard, in the checkpoint's directory.
std::vector<std::string> shard_paths(const KeyedTable& table, std::uint64_t servers);

/// The files of all its tables of text.
std::vector<std::string> text_file_names(const Layout& layout);

/// All files with data that a layout names: those of its cards, or of its tables' shards.
std::vector<std::string> file_names(const Layout& layout);

}  // namespace ckpt
