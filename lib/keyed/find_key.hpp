#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "keyed/stored_table.hpp"

namespace ckpt {

/// Where a key of a table is, and where it is to be.
struct KeySearch {
  std::vector<std::uint64_t>
      trace;  ///< the value after each step of `place` that gives one; empty where a field decides
  std::optional<Position> expected;  ///< the server that `place` says; nothing where it says none, or a field decides
  std::optional<Position> server;    ///< that has it; nothing: none
  std::uint64_t row = 0;
};

/// Looks on the server that `place` says, then on all others.
KeySearch find_key(const StoredTable& table, TableReader& reader, std::uint64_t key);

}  // namespace ckpt
