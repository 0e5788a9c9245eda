#include "tables/paddle/shard_keys.hpp"

#include <string>

#include "base/error.hpp"
#include "store/paddle/text_input.hpp"
#include "tensor/mix.hpp"

namespace ckpt {

namespace {

void read_shard(const std::filesystem::path& file, const RowFields& fields, ShardOf shard, std::size_t piece_bytes,
                const ShardReader::Sink& sink) {
  ShardReader reader(fields, shard);
  read_text(file, piece_bytes, [&](std::string_view piece) { reader.feed(piece, sink); });
}

[[noreturn]] void refuse_repeated(std::uint64_t key, const std::filesystem::path& file, const RowFields& fields,
                                  ShardOf shard, std::size_t piece_bytes) {
  std::vector<std::string> lines;
  std::uint64_t line = 0;
  read_shard(file, fields, shard, piece_bytes, [&](std::string_view, const CheckedLine& row) {
    ++line;
    if (row.key == key) lines.push_back(std::to_string(line));
  });
  throw Error(Kind::input, file.string(),
              {"key " + std::to_string(key) + " stands in line " + lines.front() + " and in line " + lines.back(),
               "each key once", "Paddle would keep one of them: remove the other"})
      .in_file(file.string());
}

}  // namespace

bool ShardKeys::is_kept(std::uint64_t key) const noexcept {
  return bits_ == 0 || mix(key) >> (64 - bits_) == subset_;
}

void ShardKeys::add(std::uint64_t key) {
  if (!is_kept(key)) return;
  while (keys_.size() >= most_ && bits_ < 63 && subset_ == 0) {
    ++bits_;
    std::erase_if(keys_, [&](std::uint64_t kept) { return !is_kept(kept); });
    if (!is_kept(key)) return;
  }
  keys_.push_back(key);
}

void ShardKeys::check(const std::filesystem::path& file, const RowFields& fields, ShardOf shard,
                      std::size_t piece_bytes) {
  const std::uint64_t subsets = 1ULL << bits_;
  for (;;) {
    const auto twice = repeated_.find(keys_, {bits_, subset_});
    if (!twice.empty()) refuse_repeated(twice.front(), file, fields, shard, piece_bytes);
    keys_.clear();
    if (++subset_ == subsets) break;
    read_shard(file, fields, shard, piece_bytes, [&](std::string_view, const CheckedLine& row) { add(row.key); });
  }
  bits_ = 0;
  subset_ = 0;
}

}  // namespace ckpt
