#pragma once

#include <cstdint>

#include "processes/communicator.hpp"
#include "tables/keyed/stored_table.hpp"

namespace ckpt {

/// Throws input, naming both rows, if a key of a table occurs twice. Reads keys in subsets of their mixed bits that fit
/// into `memory_bytes`: by file if equal keys can only lie in one, else over all files. Collective.
void check_no_duplicates(const StoredTable& table, TableReader& reader, std::uint64_t memory_bytes, unsigned threads,
                         Communicator& processes);

}  // namespace ckpt
