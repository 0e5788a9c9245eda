#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ckpt {

/// "part-003-00789", with ".gz" where it is compressed: the file that server 3 wrote for shard 789.
std::string shard_file_name(std::uint64_t server, std::uint64_t shard, bool is_gzip);

/// The files of a table's directory by shard, from all names in it. Throws input where a shard has no file or several
/// (a server deletes only its own older files), or where another file lies among them: Paddle takes the files in the
/// order of their names, and checks no more than how many they are.
std::vector<std::string> shard_files(const std::vector<std::string>& names, std::uint64_t shards);

}  // namespace ckpt
