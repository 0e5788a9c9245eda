#include "tables/paddle/line_move.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "store/paddle/text_input.hpp"
#include "tables/paddle/line_sums.hpp"
#include "tables/paddle/resumable_text.hpp"
#include "tables/paddle/shard_keys.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t least_buffer = 4ULL << 10;
constexpr std::uint64_t most_buffer = 32ULL << 10;  // a hundred of them fit into a core's cache until they are written
constexpr std::uint64_t least_piece = 64ULL << 10;
constexpr std::uint64_t most_piece = 256ULL << 10;
constexpr std::uint64_t most_between_notes = 64ULL << 20;
constexpr std::uint64_t bytes_of_key = 16;  // in a list, and in the list's copy in buckets

/// The files of a group that lines go to.
class GroupTargets {
 public:
  GroupTargets(const LineMove& move, std::uint64_t group, const LineBuffers& buffers,
               const std::vector<WrittenText>& begun)
      : shards_(move.groups.targets(group)), groups_(move.groups.groups()), counts_(shards_.size()) {
    if (move.targets.empty()) return;
    for (std::size_t i = 0; i < shards_.size(); ++i)
      files_.push_back(std::make_unique<TextOutput>(move.targets[static_cast<std::size_t>(shards_[i])],
                                                    buffers.buffer_bytes, begun.empty() ? WrittenText() : begun[i]));
  }

  void take(std::uint64_t shard, std::string_view line) {
    // A group's shards are every groups_-th, starting below groups_.
    const auto at = static_cast<std::size_t>(shard / groups_);
    if (!files_.empty()) return files_[at]->append(line);
    add_line(line, counts_[at].lines);
    counts_[at].bytes += line.size();
  }

  /// Returns the contents of the files after `sources` sources, if another run could continue from there.
  std::optional<GroupProgress> so_far(std::uint64_t sources) {
    GroupProgress progress{sources, {}};
    for (const auto& file : files_) {
      const auto written = file->so_far();
      if (!written) return std::nullopt;
      progress.written.push_back(*written);
    }
    return progress;
  }

  std::vector<WrittenText> finish(bool fsync) {
    for (std::size_t i = 0; i < files_.size(); ++i) counts_[i] = files_[i]->finish(fsync);
    return counts_;
  }

  std::vector<MovedShard> moved() const {
    std::vector<MovedShard> moved;
    for (std::size_t i = 0; i < shards_.size(); ++i) moved.push_back({shards_[i], counts_[i]});
    return moved;
  }

 private:
  std::vector<std::uint64_t> shards_;
  std::uint64_t groups_;
  std::vector<std::unique_ptr<TextOutput>> files_;
  std::vector<WrittenText> counts_;
};

PartialSum lines_of(const std::vector<WrittenText>& files) {
  PartialSum lines;
  for (const WrittenText& file : files) lines += file.lines;
  return lines;
}

std::uint64_t bytes_of(const std::vector<WrittenText>& files) {
  std::uint64_t bytes = 0;
  for (const WrittenText& file : files) bytes += file.bytes;
  return bytes;
}

/// Returns the files of a group that an earlier run has finished, but perhaps not flushed.
std::vector<MovedShard> finished_group(const LineMove& move, std::uint64_t group, const GroupProgress& begun,
                                       bool fsync) {
  std::vector<MovedShard> moved;
  for (const std::uint64_t shard : move.groups.targets(group)) {
    const WrittenText& left = begun.written[moved.size()];
    truncate_to(move.targets[static_cast<std::size_t>(shard)], left, fsync);
    moved.push_back({shard, left});
  }
  return moved;
}

/// Moves one source file's lines, adds them to `read`, and returns the file's bytes.
std::uint64_t move_file(const LineMove& move, std::uint64_t shard, const LineBuffers& buffers, GroupTargets& targets,
                        ShardKeys& keys, PartialSum& read) {
  const TextTable& source = move.source;
  const std::filesystem::path& file = source.files[static_cast<std::size_t>(shard)];
  const ShardOf shard_of{shard, source.shards()};
  ShardReader reader(source.fields, shard_of);
  const auto take_line = [&](std::string_view line, const CheckedLine& row) {
    keys.add(row.key);
    add_line(line, read, KeySets::low);
    targets.take(move.groups.target_of(row.key), line);
  };
  const PosixFile::Status found =
      read_text(file, buffers.piece_bytes, [&](std::string_view piece) { reader.feed(piece, take_line); });
  check_is_found(source, shard, found);
  with_file(file.string(), [&] { reader.finish(); });
  keys.check(file, source.fields, shard_of, buffers.piece_bytes);
  return found.bytes;
}

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
                 "at most " + std::to_string(most_open) + ", which this process may open",
                 "raise the limit (ulimit -n), or choose a shard_num with a larger common divisor"});
  if (!fits(1))
    throw Error(Kind::usage, "--memory",
                {format_bytes(memory_bytes),
                 "at least " + format_bytes(2 * least) + " for " + std::to_string(targets_of_group) +
                     " files that are written together",
                 "give more, or choose a shard_num with a larger common divisor"});
  const std::uint64_t share = memory_bytes / buffers.threads;
  const std::uint64_t fixed = TextOutput::memory_bytes(0, is_gzip);
  const std::uint64_t each = share / 2 / targets_of_group - fixed;
  buffers.buffer_bytes = static_cast<std::size_t>(std::clamp(is_gzip ? each / 2 : each, least_buffer, most_buffer));
  buffers.piece_bytes = static_cast<std::size_t>(std::clamp(share / 16, least_piece, most_piece));
  buffers.most_keys = share / 4 / bytes_of_key;
  buffers.note_bytes = std::min(share / 2, most_between_notes);
  return buffers;
}

std::vector<MovedShard> move_lines(const LineMove& move, std::uint64_t group, const LineBuffers& buffers, bool fsync,
                                   Traffic& traffic, const GroupProgress& begun,
                                   const std::function<void(const GroupProgress&)>& note) {
  const std::vector<std::uint64_t> sources = move.groups.sources(group);
  if (begun.sources == sources.size()) return finished_group(move, group, begun, fsync);
  GroupTargets targets(move, group, buffers, begun.written);
  PartialSum read = lines_of(begun.written);
  ShardKeys keys(buffers.most_keys);
  std::uint64_t bytes = 0;  // since the last report of progress
  for (std::uint64_t n = begun.sources; n < sources.size(); ++n) {
    const std::uint64_t of_file = move_file(move, sources[n], buffers, targets, keys, read);
    traffic.bytes_read += of_file;
    bytes += of_file;
    if (!note || bytes < buffers.note_bytes || n + 1 == sources.size()) continue;
    if (const auto progress = targets.so_far(n + 1)) note(*progress);
    bytes = 0;
  }
  const std::vector<WrittenText> files = targets.finish(fsync);
  const PartialSum written = lines_of(files);
  if (written.low != read.low || written.bytes != read.bytes)
    throw Error(Kind::io, "table '" + move.source.name + "'",
                {"the " + std::to_string(written.bytes) + " lines written are not the " + std::to_string(read.bytes) +
                     " that were read",
                 "equal sums on both sides",
                 "nothing is published; run it again: if it comes again the program is wrong, else the machine is"});
  if (!move.targets.empty()) traffic.bytes_written += bytes_of(files) - bytes_of(begun.written);
  if (note) note({sources.size(), files});
  return targets.moved();
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
