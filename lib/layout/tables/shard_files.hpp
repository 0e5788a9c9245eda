#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ckpt {

/// Returns "part-003-00789", with ".gz" if it is compressed: the file that server 3 wrote for shard 789.
std::string shard_file_name(std::uint64_t server, std::uint64_t shard, bool is_gzip);

/// Returns the files of a table's directory by shard, given all names in it. Throws input if a shard has no file or
/// several (a server deletes only its own older files), or if there are other files among them: Paddle takes the files
/// in the order of their names, and checks only their number.
std::vector<std::string> shard_files(const std::vector<std::string>& names, std::uint64_t shards);

}  // namespace ckpt
