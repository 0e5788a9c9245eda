#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

/// What samples say of a layout of their checkpoint.
struct LayoutVerdict {
  bool is_refuted = false;
  bool is_proven = false;        ///< some card holds what another one is to hold as well, and that is no constant
  std::set<std::string> pieces;  ///< what each card holds of the sampled: equal for layouts that mean the same
};

/// Samples of what a checkpoint's files store: in each file one dataset of each kind of name.
class LayoutSamples {
 public:
  /// Reads them. Collective; the same on every process. Throws what reading throws.
  LayoutSamples(const Checkpoint& checkpoint, SourceStore& store, Communicator& processes);

  /// Whether cards that hold the same by this placement of the files' arrays hold the same, and others something else.
  LayoutVerdict judge(const Placement& placement) const;

 private:
  /// What a file stores in one dataset, as far as it was looked at.
  struct Sample {
    FileNumber file = 0;
    std::uint64_t dataset = 0;
    std::uint64_t digest = 0;
    bool is_constant = false;

    static auto fields(auto& self) { return std::tie(self.file, self.dataset, self.digest, self.is_constant); }
  };
  struct Stored;

  static std::vector<Sample> own(const Checkpoint& checkpoint, SourceStore& store, const Communicator& processes);

  std::map<std::string, std::map<std::string, Sample>> sampled_;  // by name within its file, then by file
};

}  // namespace ckpt
