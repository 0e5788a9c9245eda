#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/dequantised_file.hpp"
#include "layout/placement/quantised_weights.hpp"

namespace ckpt {

/// How quantised weights become numbers.
struct Dequantisation {
  DType dtype;  ///< f32, f16 or bf16
  QuantisationConfig config;
  std::map<std::string, std::string> texts;  ///< by name: tensors that describe a weight (bitsandbytes' `quant_state`)
  Keep keep;  ///< what looks quantised and is not known counts only if this holds for its logical name

  /// Reads what config.json beside a checkpoint says, and the texts in it. Process 0 reads them; collective.
  static Dequantisation of(const DType& dtype, const Checkpoint& checkpoint, SourceStore& store,
                           Communicator& processes);

  QuantisedWeights weights(const std::vector<Tensor>& tensors) const;
};

/// The files of a checkpoint, in which each quantised weight is one array of numbers: its codes, scales and whatever
/// else belongs to it are not shown. A family's tensors lie in one card's files, or where no name occurs twice in any.
class DequantisedFiles {
 public:
  /// Throws input for families that are not known, whose tensors contradict each other, or whose packed codes are cut
  /// in a way that has no like of the weight.
  DequantisedFiles(Checkpoint stored, const Dequantisation& how);

  /// The catalogs of the files as they are shown, by file number.
  const std::vector<FileCatalog>& catalogs() const noexcept { return catalogs_; }
  /// The stored checkpoint's layout, with rules for weights that have other names than their codes.
  const Layout& layout() const noexcept { return layout_; }
  std::unique_ptr<SourceFile> open(FileNumber file, SourceStore& store) const;

  /// For each weight, by its logical name: a cut must be at multiples of these, or at the end.
  const std::map<std::string, Shape>& units() const noexcept { return units_; }
  /// QuantisedWeights::summary of all weights.
  const std::string& summary() const noexcept { return summary_; }
  /// Tensors that are not shown although they belong to no weight's numbers: scales of activations.
  const std::vector<std::string>& left_out() const noexcept { return left_out_; }
  /// Limits the memory for rows that are decoded together.
  void set_memory(std::uint64_t bytes) const { chunks_->set_budget(bytes); }

 private:
  struct File {
    std::shared_ptr<const std::vector<FileNumber>> among;  ///< the files that hold its families
    std::size_t own = 0;                                   ///< its place in `among`
    std::shared_ptr<const DequantisedFile::View> view;
  };
  class Builder;

  Checkpoint stored_;
  Layout layout_;
  std::vector<FileCatalog> catalogs_;
  std::vector<File> files_;  // parallel
  std::map<std::string, Shape> units_;
  std::string summary_;
  std::vector<std::string> left_out_;
  std::shared_ptr<DecodedChunks> chunks_ = std::make_shared<DecodedChunks>();
};

}  // namespace ckpt
