#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tables/keyed/stored_table.hpp"

namespace ckpt {

/// The place of a key of a table, and where it should be.
struct KeySearch {
  std::vector<std::uint64_t>
      trace;  ///< the value after each step of `place` that computes one; empty if a field decides
  std::optional<Position> expected;  ///< the server according to `place`; nothing if it names none, or a field decides
  std::optional<Position> server;    ///< the server that has the key; nothing: none
  std::uint64_t row = 0;
};

/// Looks on the server according to `place` first, then on all others.
KeySearch find_key(const StoredTable& table, TableReader& reader, std::uint64_t key);

}  // namespace ckpt
