#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The samples' verdict on a layout of their checkpoint.
struct LayoutVerdict {
  bool is_refuted = false;
  bool is_proven = false;        ///< some card holds the same as another, as it should, and not a constant
  std::set<std::string> pieces;  ///< each card's part of the sampled data: equal for equivalent layouts
};

/// Samples of a checkpoint's files: in each file one dataset for each kind of name.
class LayoutSamples {
 public:
  /// Reads the samples. Collective; the same on every process. Throws what reading throws.
  LayoutSamples(const Checkpoint& checkpoint, SourceStore& store, Communicator& processes);

  /// Judges whether cards that hold the same by this placement of the files' arrays do, and others something else.
  LayoutVerdict judge(const Placement& placement) const;

 private:
  /// A sample of one dataset in a file.
  struct Sample {
    FileNumber file = 0;
    std::uint64_t dataset = 0;
    std::uint64_t digest = 0;
    bool is_constant = false;
  };
  struct Stored;

  static std::vector<Sample> own(const Checkpoint& checkpoint, SourceStore& store, const Communicator& processes);

  std::map<std::string, std::map<std::string, Sample>> sampled_;  // by name within its file, then by file
};

}  // namespace ckpt
