#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "paddle_text/lines.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Schema::format of a shard's file. It is no format by itself: what a line means, the layout's accessor says.
inline constexpr std::string_view paddle_text_format = "paddle-text";

/// What a shard's file has.
struct ShardCount {
  std::uint64_t lines = 0;
  std::map<std::uint64_t, std::uint64_t> tails;  ///< how many lines have one, by its dimensions
  FileCatalog::Version version;

  static auto fields(auto& self) {
    return std::tie(self.lines, self.tails, self.version.bytes, self.version.modified_ns);
  }
};

/// Reads a shard's file and checks every line. Throws input, naming file and line.
ShardCount count_lines(const std::filesystem::path& file, const RowFields& fields, ShardOf shard);

/// "embedding", whose rows have the fields that all have, and the tables of its tails: "embedding.x", or with
/// RowFields::rows_have_dims "embedding.x8" for each dimension that occurs.
std::string tail_table(const std::string& table, const RowFields& fields, std::uint64_t embedx_dim);

/// A shard's file as one with datasets: keys u64 [lines] and value f32 [lines, fields] of the table, and the same of
/// the tables of its tails, for each of `dims` one.
FileCatalog shard_catalog(const std::string& table, const RowFields& fields, const ShardCount& count,
                          const std::vector<std::uint64_t>& dims);

/// Reads what such a catalog says. Rows that are read one after the other are found at once; of a compressed file all
/// before them is inflated again for each read.
std::unique_ptr<SourceFile> open_shard(const std::filesystem::path& file, const FileCatalog& catalog);

}  // namespace ckpt
