#include "paddle_files/line_move.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "paddle_files/line_sums.hpp"
#include "paddle_files/shard_keys.hpp"
#include "store/paddle/text_input.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t least_buffer = 4ULL << 10;
constexpr std::uint64_t most_buffer = 1ULL << 20;
constexpr std::uint64_t least_piece = 64ULL << 10;
constexpr std::uint64_t most_piece = 4ULL << 20;
constexpr std::uint64_t bytes_of_key = 16;  // in a list, and in the list's copy in buckets

/// The files of a group that lines go to.
class GroupTargets {
 public:
  GroupTargets(const LineMove& move, std::uint64_t group, const LineBuffers& buffers)
      : shards_(move.groups.targets(group)), groups_(move.groups.groups()), counts_(shards_.size()) {
    if (move.targets.empty()) return;
    for (const std::uint64_t shard : shards_)
      files_.push_back(
          std::make_unique<TextOutput>(move.targets[static_cast<std::size_t>(shard)], buffers.buffer_bytes));
  }

  void take(std::uint64_t shard, std::string_view line) {
    // They are every groups_-th shard from one below groups_ on.
    const auto at = static_cast<std::size_t>(shard / groups_);
    if (!files_.empty()) return files_[at]->append(line);
    add_line(line, counts_[at].lines);
    counts_[at].bytes += line.size();
  }

  std::vector<MovedShard> finish(bool fsync) {
    std::vector<MovedShard> moved;
    for (std::size_t i = 0; i < shards_.size(); ++i)
      moved.push_back({shards_[i], files_.empty() ? counts_[i] : files_[i]->finish(fsync)});
    return moved;
  }

 private:
  std::vector<std::uint64_t> shards_;
  std::uint64_t groups_;
  std::vector<std::unique_ptr<TextOutput>> files_;
  std::vector<WrittenText> counts_;
};

}  // namespace

LineBuffers line_buffers(std::uint64_t memory_bytes, unsigned threads, std::uint64_t targets_of_group, bool is_gzip,
                         std::size_t most_open) {
  const std::uint64_t least = targets_of_group * TextOutput::memory_bytes(least_buffer, is_gzip);
  const auto fits = [&](unsigned count) {
    return least * count <= memory_bytes / 2 && targets_of_group * count <= most_open;
  };
  LineBuffers buffers;
  for (buffers.threads = threads; buffers.threads > 1 && !fits(buffers.threads);) --buffers.threads;
  if (targets_of_group > most_open)
    throw Error(Kind::usage, "shard_num of both layouts",
                {std::to_string(targets_of_group) + " files have to be written together",
                 "this process may open " + std::to_string(most_open),
                 "raise the limit (ulimit -n), or choose a shard_num with a larger common divisor"});
  if (!fits(1))
    throw Error(Kind::usage, "--memory",
                {format_bytes(memory_bytes),
                 std::to_string(targets_of_group) + " files that are written together take " + format_bytes(2 * least) +
                     " at least",
                 "give more, or choose a shard_num with a larger common divisor"});
  const std::uint64_t share = memory_bytes / buffers.threads;
  const std::uint64_t fixed = TextOutput::memory_bytes(0, is_gzip);
  const std::uint64_t each = share / 2 / targets_of_group - fixed;
  buffers.buffer_bytes = static_cast<std::size_t>(std::clamp(is_gzip ? each / 2 : each, least_buffer, most_buffer));
  buffers.piece_bytes = static_cast<std::size_t>(std::clamp(share / 16, least_piece, most_piece));
  buffers.most_keys = share / 4 / bytes_of_key;
  return buffers;
}

std::vector<MovedShard> move_lines(const LineMove& move, std::uint64_t group, const LineBuffers& buffers, bool fsync,
                                   Traffic& traffic) {
  const TextTable& source = move.source;
  GroupTargets targets(move, group, buffers);
  PartialSum read;
  for (const std::uint64_t shard : move.groups.sources(group)) {
    const std::filesystem::path& file = source.files[static_cast<std::size_t>(shard)];
    const ShardOf shard_of{shard, source.shards()};
    ShardReader reader(source.fields, shard_of);
    ShardKeys keys(buffers.most_keys);
    const auto take_line = [&](std::string_view line, const CheckedLine& row) {
      keys.add(row.key);
      add_line(line, read);
      targets.take(move.groups.target_of(row.key), line);
    };
    traffic.bytes_read +=
        read_text(file, buffers.piece_bytes, [&](std::string_view piece) { reader.feed(piece, take_line); }).bytes;
    with_file(file.string(), [&] { reader.finish(); });
    keys.check(file, source.fields, shard_of, buffers.piece_bytes);
  }
  std::vector<MovedShard> moved = targets.finish(fsync);
  PartialSum written;
  for (const MovedShard& shard : moved) {
    written += shard.written.lines;
    if (!move.targets.empty()) traffic.bytes_written += shard.written.bytes;
  }
  if (!(written == read))
    throw Error(Kind::io, "table '" + source.name + "'",
                {"the " + std::to_string(written.bytes) + " lines written are not the " + std::to_string(read.bytes) +
                     " that were read",
                 "expected equal sums on both sides",
                 "nothing is published; run it again: if it comes again the program is wrong, else the machine is"});
  return moved;
}

PartialSum sum_lines(const std::filesystem::path& file, const RowFields& fields, ShardOf shard,
                     std::size_t piece_bytes) {
  PartialSum lines;
  ShardReader reader(fields, shard);
  read_text(file, piece_bytes, [&](std::string_view piece) {
    reader.feed(piece, [&](std::string_view line, const CheckedLine&) { add_line(line, lines); });
  });
  with_file(file.string(), [&] { reader.finish(); });
  return lines;
}

}  // namespace ckpt
