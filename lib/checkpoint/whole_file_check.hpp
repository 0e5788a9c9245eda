#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "store/store.hpp"

namespace ckpt {

/// A single file without a layout is taken for a whole checkpoint. Throws input if the file itself says that it holds
/// pieces of tensors. Warns, naming the directory to give instead, if it seems to be one rank's file of several: by its
/// name (00001-of-00007), or by its name and the files beside it (rank_0 and rank_1, mp_rank_00/ and mp_rank_01/; not
/// step_1000, which may well be whole).
void check_is_whole(const std::filesystem::path& file, const Schema& schema, SourceStore& store);

/// A number in a name after a word that counts the files of one checkpoint: rank_3, mp_rank_00, shard-1.
struct NumberOfRank {
  std::size_t at = 0;
  std::size_t digits = 0;
  std::uint64_t value = 0;
};

/// The last such number of a name, if there is one.
std::optional<NumberOfRank> number_of_rank(const std::string& name);

}  // namespace ckpt
