#include "paddle_files/shard_keys.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "base/error.hpp"
#include "keyed/duplicates.hpp"
#include "store/paddle/text_input.hpp"
#include "tensor/mix.hpp"

namespace ckpt {

namespace {

void read_shard(const std::filesystem::path& file, const RowFields& fields, ShardOf shard, std::size_t piece_bytes,
                const ShardReader::Sink& sink) {
  ShardReader reader(fields, shard);
  read_text(file, piece_bytes, [&](std::string_view piece) { reader.feed(piece, sink); });
}

[[noreturn]] void refuse_repeated(std::uint64_t mixed, const std::filesystem::path& file, const RowFields& fields,
                                  ShardOf shard, std::size_t piece_bytes) {
  std::vector<std::string> lines;
  std::uint64_t line = 0;
  std::uint64_t key = 0;
  read_shard(file, fields, shard, piece_bytes, [&](std::string_view, const CheckedLine& row) {
    ++line;
    if (mix(row.key) != mixed) return;
    key = row.key;
    lines.push_back(std::to_string(line));
  });
  throw Error(Kind::input, file.string(),
              {"key " + std::to_string(key) + " stands in line " + lines.front() + " and in line " + lines.back(),
               "expected each key once", "Paddle would keep one of them: remove the other"})
      .in_file(file.string());
}

}  // namespace

bool ShardKeys::is_kept(std::uint64_t mixed) const noexcept {
  return bits_ == 0 || mixed >> (64 - bits_) == subset_;
}

void ShardKeys::add(std::uint64_t key) {
  const std::uint64_t mixed = mix(key);
  if (!is_kept(mixed)) return;
  while (mixed_.size() >= most_ && bits_ < 63 && subset_ == 0) {
    ++bits_;
    std::erase_if(mixed_, [&](std::uint64_t kept) { return !is_kept(kept); });
    if (!is_kept(mixed)) return;
  }
  mixed_.push_back(mixed);
}

void ShardKeys::check(const std::filesystem::path& file, const RowFields& fields, ShardOf shard,
                      std::size_t piece_bytes) {
  const std::uint64_t subsets = 1ULL << bits_;
  for (;;) {
    // The bits that all of a subset have in common say nothing: others come first.
    for (std::uint64_t& value : mixed_) value = std::rotl(value, static_cast<int>(bits_));
    const std::vector<std::uint64_t> twice = repeated(mixed_);
    if (!twice.empty())
      refuse_repeated(std::rotr(*std::min_element(twice.begin(), twice.end()), static_cast<int>(bits_)), file, fields,
                      shard, piece_bytes);
    if (++subset_ == subsets) return;
    mixed_.clear();
    read_shard(file, fields, shard, piece_bytes, [&](std::string_view, const CheckedLine& row) { add(row.key); });
  }
}

}  // namespace ckpt
