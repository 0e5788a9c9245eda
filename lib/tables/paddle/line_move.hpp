#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "checkpoint/text_table.hpp"
#include "exchange/traffic.hpp"
#include "store/paddle/lines.hpp"
#include "store/paddle/regroup.hpp"
#include "tables/paddle/text_output.hpp"

namespace ckpt {

/// How much memory each group takes while it is moved.
struct LineBuffers {
  std::size_t piece_bytes = 0;   ///< of a source file, read at once
  std::size_t buffer_bytes = 0;  ///< of lines for each target file
  std::uint64_t most_keys = 0;   ///< keys of a source file that are kept (ShardKeys)
  unsigned threads = 1;          ///< number of groups at a time
  std::uint64_t note_bytes = 0;  ///< bytes to move between two reports of a group's progress
};

/// Returns the buffers for a process with this much memory and this many threads, fewer of which work if a group has
/// very many files. Throws usage if not even one group's files fit into memory, or may be open: `most_open`.
LineBuffers line_buffers(std::uint64_t memory_bytes, unsigned threads, std::uint64_t targets_of_group, bool is_gzip,
                         std::size_t most_open);

/// A table that goes to another number of shards, or to files of other names.
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

/// A group's progress: the contents of its target files, by shard, after `sources` of its sources.
struct GroupProgress {
  std::uint64_t sources = 0;
  std::vector<WrittenText> written;
};

/// Moves one group's lines unchanged: reads each source file once, in the order of the shards, checks it line by line,
/// and appends each line to the file of its target shard. So the output does not depend on processes, threads and
/// memory. Throws input, naming file and line, for lines that Paddle would load wrongly, and for keys that occur twice;
/// io if the lines written differ from those read. Continues from `begun`, and reports its progress to `note` from time
/// to time, and at the end.
std::vector<MovedShard> move_lines(const LineMove& move, std::uint64_t group, const LineBuffers& buffers, bool fsync,
                                   Traffic& traffic, const GroupProgress& begun = {},
                                   const std::function<void(const GroupProgress&)>& note = {});

/// Reads a table's file again, with the same checks, and returns the sum of its lines.
PartialSum sum_lines(const std::filesystem::path& file, const RowFields& fields, ShardOf shard,
                     std::size_t piece_bytes);

}  // namespace ckpt
