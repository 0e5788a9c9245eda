#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/paddle/lines.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The Schema::format of a shard's file. It is no complete format: the layout's accessor says what a line means.
inline constexpr std::string_view paddle_text_format = "paddle-text";

/// The contents of a shard's file, counted.
struct ShardCount {
  std::uint64_t lines = 0;
  std::map<std::uint64_t, std::uint64_t> tails;  ///< number of lines with a tail, by the tail's dimensions
  FileCatalog::Version version;
};

/// Reads a shard's file and checks every line. Throws input, naming file and line.
ShardCount count_lines(const std::filesystem::path& file, const RowFields& fields, ShardOf shard);

/// Returns the name of a tail's table. "embedding" holds the fields that all rows have; their tails are in
/// "embedding.x", or with RowFields::rows_have_dims in one "embedding.x8" for each dimension that occurs.
std::string tail_table(const std::string& table, const RowFields& fields, std::uint64_t embedx_dim);

/// Presents a shard's file as one with datasets: keys u64 [lines] and value f32 [lines, fields] of the table, and the
/// same for the table of each tail in `dims`.
FileCatalog shard_catalog(const std::string& table, const RowFields& fields, const ShardCount& count,
                          const std::vector<std::uint64_t>& dims);

/// Paused reads of compressed files, in the middle of their tables. Files that share an object keep a limited number
/// of them together.
class PausedReads;
std::shared_ptr<PausedReads> resting_readings();

/// Opens a shard's file with such a catalog. Sequential reads of rows need no search; a random read of a compressed
/// file inflates everything before its rows again.
std::unique_ptr<SourceFile> open_shard(const std::filesystem::path& file, const FileCatalog& catalog,
                                       std::shared_ptr<PausedReads> rests);

}  // namespace ckpt
