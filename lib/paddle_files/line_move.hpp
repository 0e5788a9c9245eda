#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "checkpoint/text_table.hpp"
#include "exchange/traffic.hpp"
#include "paddle_files/text_output.hpp"
#include "paddle_text/lines.hpp"
#include "paddle_text/regroup.hpp"

namespace ckpt {

/// How much of the memory each group that is being moved takes.
struct LineBuffers {
  std::size_t piece_bytes = 0;   ///< of a source file that is read at once
  std::size_t buffer_bytes = 0;  ///< of lines for each target file
  std::uint64_t most_keys = 0;   ///< of a source file that are kept (ShardKeys)
  unsigned threads = 1;          ///< how many groups at a time
  std::uint64_t note_bytes = 0;  ///< that are moved before it is told again how far a group is
};

/// That for a process with so much memory and so many threads, fewer of which work where a group has very many files.
/// Throws usage where not even one group's files have room, or may be open: `most_open`.
LineBuffers line_buffers(std::uint64_t memory_bytes, unsigned threads, std::uint64_t targets_of_group, bool is_gzip,
                         std::size_t most_open);

/// A table on its way to another number of shards, or to files of other names.
struct LineMove {
  TextTable source;
  Regrouping groups;
  std::vector<std::filesystem::path> targets;  ///< by shard; none: lines are only counted
  std::uint64_t target_shards = 1;
};

/// A target file that has been written, or counted.
struct MovedShard {
  std::uint64_t shard = 0;
  WrittenText written;
};

/// How far a group has come: what its target files hold, by shard, after so many of its sources.
struct GroupProgress {
  std::uint64_t sources = 0;
  std::vector<WrittenText> written;
};

/// Moves one group's lines as they are: each source file is read once, in the order of the shards, and checked line by
/// line; each line is appended to the file of its target shard. So the output does not depend on processes, threads and
/// memory. Throws input, naming file and line, for what Paddle would load wrongly, and for keys that stand twice; io
/// where the lines written are not those read. Goes on from what is `begun`, and tells `note` at times, and at the end,
/// what there is.
std::vector<MovedShard> move_lines(const LineMove& move, std::uint64_t group, const LineBuffers& buffers, bool fsync,
                                   Traffic& traffic, const GroupProgress& begun = {},
                                   const std::function<void(const GroupProgress&)>& note = {});

/// Reads a table's file again, checked as above, and gives its lines.
PartialSum sum_lines(const std::filesystem::path& file, const RowFields& fields, ShardOf shard,
                     std::size_t piece_bytes);

}  // namespace ckpt
