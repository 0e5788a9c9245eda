#pragma once

#include <cstdint>
#include <vector>

#include "keyed/stored_table.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// Which values stand more than once in a list, each once, in no order. The list is put in another order. Of mixed
/// values (mix), whose upper bits are all different, it takes time in proportion to their number; and as much memory
/// again.
std::vector<std::uint64_t> repeated(std::vector<std::uint64_t>& values);

/// Throws input, naming both rows, where a key of a table stands twice. Keys are read in subsets of their mixed bits
/// that fit into `memory_bytes`, by file where equal keys can only lie in one, else over all files. Collective.
void check_no_duplicates(const StoredTable& table, TableReader& reader, std::uint64_t memory_bytes, unsigned threads,
                         Communicator& processes);

}  // namespace ckpt
