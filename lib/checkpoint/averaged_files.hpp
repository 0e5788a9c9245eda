#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/gather.hpp"
#include "plan/planner.hpp"

namespace ckpt {

class SourceReader;

/// A checkpoint that is averaged with the first one, and where it has the first one's tensors.
struct AveragedSource {
  Checkpoint checkpoint;
  std::string name;  ///< in messages
  double weight = 0;
  Placement placement = {};
  std::vector<ParameterId> source_of = {};  ///< by the first one's parameter, if that is averaged (Planner)
  Planner::Links links = {};                ///< as `source_of`, or empty
  std::vector<std::pair<ParameterId, ParameterId>> equal = {};  ///< its own parameters that must be equal
  std::map<std::string, std::string> told = {};  ///< fingerprints by parameter, where its manifest was read
  bool is_told = false;                          ///< somewhere: what is read is summed
};

/// How checkpoints become one: the first one's tensors, each with the sum of all checkpoints' elements, weighted.
struct Averaging {
  enum class Kind { own, sum, equal };
  std::string name;                              ///< the first one's, in messages
  double weight = 0;                             ///< the first one's
  Placement placement = {};                      ///< the first one's
  std::map<std::string, std::string> told = {};  ///< as those of others
  bool is_told = false;
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

  /// Performs a transfer of what a dataset of the first checkpoint shows (as SourceReader::read), a box at a time; or
  /// returns nothing if it is shown as it is stored, or the transfer's box is one of a link.
  std::optional<GatherResult> read(FileNumber file, std::size_t dataset, const Transfer& transfer, std::byte* target,
                                   const Summing* summing) const;
  /// By the first one's parameter: the sums of what this process read of it from a source (the first one is number 0)
  /// in transfers that count (`Transfer::counts`), by its places in the first one's tensor.
  const std::vector<PartialSum>& sums(std::size_t source) const { return sums_[source]; }
  /// The bytes that all checkpoints together have for an element of the first one's parameter.
  std::uint64_t bytes_of_element(ParameterId parameter) const;

  /// Reads what must be the same in all checkpoints, in the files of `files`. Throws input if anything is not.
  void check_equal(const std::vector<FileNumber>& files, SourceStore& store) const;

 private:
  class Builder;
  class Other;
  class File;
  struct View;
  struct Array;
  /// Regions of parameters that lie in a buffer of `count` elements, of which the first is element `begin` for them.
  struct Piece {
    std::span<const std::pair<ParameterId, Region>> regions;
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
  };
  using ReadOwn = std::function<void(std::byte* out, std::span<std::byte> scratch)>;

  /// Reads a piece of every checkpoint, of the first one by `read_own`, and makes the elements that are shown.
  void make(const Array& array, const Piece& piece, const ReadOwn& read_own, bool counts, std::byte* out) const;
  void take_equal(const Array& array, const Piece& piece, std::span<const std::byte* const> sources,
                  std::byte* out) const;
  std::uint64_t piece_elements(const Array& array) const;
  void add_sums(const Piece& piece, std::size_t source, const DType& dtype, const std::byte* data) const;

  Checkpoint first_;
  Averaging how_;
  std::vector<FileCatalog> catalogs_;
  std::vector<std::shared_ptr<const View>> views_;  // by file
  std::vector<std::unique_ptr<Other>> others_;
  std::unique_ptr<SourceReader> own_reader_;
  mutable std::mutex mutex_;  // guards sums_
  mutable std::vector<std::vector<PartialSum>> sums_;
};

}  // namespace ckpt
