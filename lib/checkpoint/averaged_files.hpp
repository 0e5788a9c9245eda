#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "plan/planner.hpp"

namespace ckpt {

/// A checkpoint that is averaged with the first one, and where it has the first one's tensors.
struct AveragedSource {
  Checkpoint checkpoint;
  std::string name;  ///< in messages
  double weight = 0;
  Placement placement = {};
  std::vector<ParameterId> source_of = {};  ///< by the first one's parameter, if that is averaged (Planner)
  Planner::Links links = {};                ///< as `source_of`, or empty
  std::vector<std::pair<ParameterId, ParameterId>> equal = {};  ///< its own parameters that must be equal
};

/// How checkpoints become one: the first one's tensors, each with the sum of all checkpoints' elements, weighted.
struct Averaging {
  enum class Kind { own, sum, equal };
  std::string name;          ///< the first one's, in messages
  double weight = 0;         ///< the first one's
  Placement placement = {};  ///< the first one's
  /// By the first one's parameter: as it is there; a sum, of floating-point numbers; or the same in all checkpoints.
  std::vector<Kind> kinds = {};
  std::vector<DType> dtypes = {};  ///< by the first one's parameter: in which it is shown
  std::vector<AveragedSource> others = {};
  std::uint64_t memory_bytes = 0;  ///< for reading the others
  unsigned threads = 1;            ///< that read at a time
  std::size_t most_open = 1;       ///< files that are open at a time, of each
};

/// The files of the first of several checkpoints, in which each tensor is a weighted sum over all of them
/// (`WeightedSum`), reckoned while it is read: a part of an array is read from every checkpoint as if that were to be
/// resharded into this array. So whoever reads them sees one checkpoint, cut as the first is.
class AveragedFiles {
 public:
  /// Throws input if tensors that lie in one array have several dtypes.
  AveragedFiles(Checkpoint first, Averaging how, SourceStore& store);
  AveragedFiles(const AveragedFiles&) = delete;
  AveragedFiles& operator=(const AveragedFiles&) = delete;
  ~AveragedFiles();

  /// The catalogs of the files as they are shown, by file number.
  const std::vector<FileCatalog>& catalogs() const noexcept { return catalogs_; }
  std::unique_ptr<SourceFile> open(FileNumber file, SourceStore& store) const;
  /// All checkpoints, as they are stored.
  std::vector<const Checkpoint*> sources() const;
  const Averaging& how() const noexcept { return how_; }
  /// Tensors of which sums of finite numbers became infinite, as far as this process made them.
  std::vector<std::string> overflowed() const;

  /// Reads what must be the same in all checkpoints, in the files of `files`. Throws input if anything is not.
  void check_equal(const std::vector<FileNumber>& files, SourceStore& store) const;

 private:
  class Builder;
  class Other;
  class File;
  struct View;

  Checkpoint first_;
  Averaging how_;
  std::vector<FileCatalog> catalogs_;
  std::vector<std::shared_ptr<const View>> views_;  // by file
  std::vector<std::unique_ptr<Other>> others_;
};

}  // namespace ckpt
