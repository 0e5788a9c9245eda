#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace ckpt {

class Communicator;

enum class ExchangeKind { automatic, direct, mpi, nccl };
enum class ReplicaCheck { trust, sample, full };
enum class Verify { none, written, reread };

/// Which layout the output is to have: exactly one of these.
struct TargetChoice {
  std::optional<Layout> layout;               ///< --to, or ckpt-split's --layout
  std::map<std::string, std::uint64_t> mesh;  ///< --to-mesh: the source's rules on another mesh
  std::optional<std::uint64_t> cards;         ///< --cards: the same for a mesh of one axis
  bool single_file = false;                   ///< ckpt-merge: everything whole in the one file that `output` names
};

/// A run, with everything resolved that the command line says.
struct Job {
  std::filesystem::path source;                     ///< a directory, or the single file of a merged checkpoint
  std::filesystem::path output;                     ///< a directory, or with target.single_file a file
  std::vector<std::filesystem::path> layout_files;  ///< that the layouts were read from, which nothing may overwrite
  std::optional<Layout> source_layout;              ///< absent: the one that the checkpoint carries
  TargetChoice target;
  std::string format;         ///< of the output's files; empty: as the ending of their names tells
  std::vector<Pattern> only;  ///< keep parameters that match one of these; empty: all
  std::vector<Pattern> drop;
  std::vector<Rename> rename;  ///< `stored` is the logical name as read, `name` the new one
  ExchangeKind exchange = ExchangeKind::automatic;
  std::uint64_t memory_bytes = 512ULL << 20;
  std::uint64_t device_memory_bytes = 2ULL << 30;  ///< staging of each process on its GPU
  std::chrono::seconds stall_limit{120};           ///< how long GPUs may make no progress
  unsigned threads = 0;                            ///< 0: as many as there are cores for this process
  ReplicaCheck replicas = ReplicaCheck::sample;
  Verify verify = Verify::written;
  bool dry_run = false;
  bool force = false;
  bool resume = false;
  bool fsync = true;
};

enum class Phase : int { catalog, plan, replicas, metadata, resume, move, reread, compare, publish, done };

/// What a running job has done so far; written by the engine's threads, read by whoever shows progress.
struct Counters {
  std::atomic<Phase> phase{Phase::catalog};
  std::atomic<std::uint64_t> bytes_total{0};  ///< to be written by this process
  std::atomic<std::uint64_t> bytes_read{0};
  std::atomic<std::uint64_t> bytes_exchanged{0};  ///< sent to other processes
  std::atomic<std::uint64_t> bytes_written{0};
};

/// The facts of a run, the same on every process (sums and maxima over all).
struct Report {
  std::string exchange;  ///< "direct", "mpi" or "nccl"
  std::uint64_t processes = 1;
  std::uint64_t threads = 1;  ///< of each process
  std::uint64_t source_cards = 0;
  std::uint64_t target_cards = 0;
  std::uint64_t source_files = 0;
  std::uint64_t target_files = 0;
  std::uint64_t parameters = 0;
  std::uint64_t tensor_bytes = 0;         ///< of the logical tensors, replicas counted once
  std::uint64_t bytes_to_read = 0;        ///< planned, all processes
  std::uint64_t bytes_to_write = 0;       ///< data of all target files
  std::uint64_t bytes_changing_card = 0;  ///< written to another card id than the one they are read from
  std::uint64_t busiest_process = 0;
  std::uint64_t busiest_process_bytes = 0;  ///< it reads and writes together
  std::uint64_t staging_bytes = 0;          ///< largest staging memory of a process
  std::uint64_t bytes_read = 0;             ///< done
  std::uint64_t bytes_exchanged = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_resumed = 0;  ///< that an earlier run had written, and that were found good
  std::map<std::string, double>
      seconds;  ///< by phase: catalog, plan, read, exchange, write, metadata, publish, total; largest over processes
  struct RuleUse {
    std::string rule;                     ///< as written: "*.qkv.weight", or "(default)"
    std::vector<std::string> parameters;  ///< that it decided
  };
  std::vector<RuleUse> source_rules;  ///< for --dry-run -v
  std::vector<RuleUse> target_rules;
};

/// Runs the job. Collective: every process calls it with the same job (but its own `source` path). Throws ckpt::Error,
/// the same on every process; then nothing has been published.
Report run(const Job& job, Communicator& processes, Counters& counters);

}  // namespace ckpt
