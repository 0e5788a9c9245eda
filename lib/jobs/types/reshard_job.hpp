#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/manifest.hpp"
#include "compare/replicas.hpp"
#include "jobs/types/casts.hpp"
#include "jobs/types/expectation.hpp"
#include "jobs/types/name_mapping.hpp"
#include "jobs/types/progress.hpp"
#include "jobs/types/resources.hpp"
#include "jobs/types/selection.hpp"
#include "jobs/types/weighted_place.hpp"
#include "output/output.hpp"
#include "store/stores.hpp"

namespace ckpt {

enum class Verify { none, written, reread };

/// One checkpoint to be written in another layout.
struct ReshardJob {
  CheckpointPlace source;
  std::vector<CheckpointPlace> deltas;      ///< applied to the source's tables, oldest first
  std::vector<WeightedPlace> average = {};  ///< the source is their average; the first of them lies at `source`
  TargetChoice target;
  OutputPlace output;              ///< a dry run may have an empty path: then nothing about the place is checked
  std::string format;              ///< of the output's files; empty: by the ending of their names
  bool keeps_trees = false;        ///< other values than tensors and attributes, also in files that can only keep them
  bool has_checksums = false;      ///< each output file has a CRC, in formats that support one
  std::optional<int> text_digits;  ///< of a number in Paddle's text: paddle_digits or exact_digits; absent: the first
  std::vector<std::filesystem::path> spared_files;  ///< must not be overwritten: the layouts' files
  NameChoice names;
  MapChoice map = {};                 ///< of names, between source and output
  std::vector<Pattern> first_copies;  ///< for which the lowest card's copy counts (Checkpoint::take_first_copies)
  std::vector<CastRule> casts;
  std::optional<DType> dequantised;        ///< quantised weights are written as numbers of this type
  std::vector<KeepRule> keeps;             ///< which rows of tables are taken; empty: all
  std::optional<Expectation> expectation;  ///< about what would be written
  std::vector<Pattern> unlike = {};        ///< with target.is_like_expected: parameters that check_likeness excuses
  ReplicaCheck replicas = ReplicaCheck::sample;
  bool mixes_steps = false;  ///< the source's files may be from several steps (check_same_step)
  Verify verify = Verify::written;
  bool is_view = false;  ///< the output only shows the source's data: nothing is written or verified
  bool dry_run = false;
  bool is_strict = false;  ///< a warning before the output is published ends the job
  Resources resources;

  /// Whether the written data is compared with the data read.
  bool is_verified() const noexcept { return verify != Verify::none && !is_view; }
};

/// The facts of a run, the same on every process (sums and maxima over all).
struct Report {
  std::string format;    ///< of the target's files; empty if all of them are text
  std::string exchange;  ///< "direct", "mpi" or "nccl"
  std::uint64_t processes = 1;
  std::uint64_t threads = 1;  ///< of each process
  std::uint64_t source_cards = 0;
  std::uint64_t target_cards = 0;
  std::uint64_t source_files = 0;
  std::uint64_t target_files = 0;
  std::uint64_t parameters = 0;
  std::uint64_t cast_parameters = 0;      ///< parameters that get another dtype
  std::uint64_t tensor_bytes = 0;         ///< of the logical tensors as they are written, replicas counted once
  std::uint64_t bytes_to_read = 0;        ///< planned, all processes
  std::uint64_t bytes_to_write = 0;       ///< data of all target files
  std::uint64_t bytes_changing_card = 0;  ///< written to another card id than the one they are read from
  std::uint64_t busiest_process = 0;
  std::uint64_t busiest_process_bytes = 0;  ///< the most that one process reads and writes together
  std::uint64_t staging_bytes = 0;          ///< the largest staging memory of a process
  /// From a dry run: the most memory that a process of the job holds, staging included.
  std::uint64_t peak_bytes = 0;
  std::optional<std::uint64_t> free_bytes = {};  ///< from a dry run: where the output goes
  std::string refused_room;                      ///< from a dry run: why the output has no room there in spite of that
  std::uint64_t open_files = 0;                  ///< from a dry run: how many each cache of files may hold open
  std::string stripes;                           ///< from a dry run: how a parallel file system spreads new files
  std::uint64_t bytes_read = 0;                  ///< done
  std::uint64_t bytes_exchanged = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_cloned = 0;            ///< of those written: blocks that the output shares with its source
  std::vector<Communicator::Sent> messages;  ///< by process, where there are several
  std::vector<std::string> hosts;            ///< by process; empty texts: all are on one
  std::uint64_t bytes_resumed = 0;           ///< written by an earlier run, and found good
  std::map<std::string, double> seconds;  ///< by phase: catalog, plan, metadata, move (read, check, write, exchange),
                                          ///< publish, total; largest over processes
  struct RuleUse {
    std::string rule;                      ///< its first patterns as written: "*.qkv.weight", or "(default)"
    std::vector<InternedText> parameters;  ///< the parameters that it decided
    std::string place = {};                ///< in the layout: "/parameters/3"; empty for buckets and defaults
  };
  struct TableUse {
    std::string name;
    std::uint64_t row_bytes = 0;          ///< of all datasets, including the key's
    std::vector<std::uint64_t> rows;      ///< for each of the target's servers
    bool has_unread_keys = false;         ///< whole shards move, and no key was read
    bool is_text = false;                 ///< rows are lines of any length; each was read
    std::optional<KeptRows> kept;         ///< absent: all
    std::vector<TableLayerFacts> layers;  ///< oldest first; empty: it comes from one checkpoint
  };
  std::vector<TableUse> tables;
  bool existed_complete = false;  ///< the output was there already, as the job would have written it
  std::string manifest;           ///< of an output that went to a pipe, with all fingerprints; on process 0
  std::vector<Overflow> overflows;
  std::vector<RuleUse> source_rules;  ///< from a dry run
  std::vector<RuleUse> target_rules;
  std::string source_layout;  ///< its name in messages
  std::string target_layout;
};

}  // namespace ckpt
