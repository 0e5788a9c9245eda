#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/dequantised_file.hpp"
#include "layout/placement/quantised_weights.hpp"

namespace ckpt {

/// How quantised weights become numbers.
struct Dequantisation {
  DType dtype;  ///< f32, f16 or bf16
  QuantisationConfig config;
  /// By file and dataset: tensors that describe a weight (bitsandbytes' `quant_state`).
  std::map<std::pair<FileNumber, std::uint64_t>, std::string> texts;
  Keep keep;  ///< what looks quantised and is not known counts only if this holds for its logical name

  /// Reads the config.json beside a checkpoint, and the texts in its files. Collective; throws input.
  static Dequantisation of(const DType& dtype, const Checkpoint& checkpoint, SourceStore& store,
                           Communicator& processes);
};

/// Reads the config.json beside a checkpoint, if there is one. Process 0 reads; collective; throws input.
QuantisationConfig quantisation_config(const Checkpoint& checkpoint, Communicator& processes);

/// The files of a checkpoint, in which each quantised weight is one array of numbers: its codes, scales and whatever
/// else belongs to it are not shown. A family's tensors lie in one card's files, or where no name occurs twice in any.
class DequantisedFiles {
 public:
  /// Throws input for families that are not known, whose tensors contradict each other, or whose packed codes are cut
  /// in a way that has no like of the weight.
  DequantisedFiles(Checkpoint stored, const Dequantisation& how);

  /// How the weights become numbers; its `keep` is empty.
  const Dequantisation& how() const noexcept { return how_; }
  /// The catalogs of the files as they are shown, by file number.
  const std::vector<FileCatalog>& catalogs() const noexcept { return catalogs_; }
  /// The stored checkpoint's layout, with rules for weights that have other names than their codes.
  const Layout& layout() const noexcept { return layout_; }
  /// Those rules.
  const std::vector<Rule>& rules() const noexcept { return rules_; }
  std::unique_ptr<SourceFile> open(FileNumber file, SourceStore& store) const;

  /// The logical names of the tensors that are not shown, or shown as weights.
  const std::set<std::string>& hidden() const noexcept { return hidden_; }
  /// For each weight, by its logical name: a cut must be at multiples of these, or at the end.
  const std::map<std::string, Shape>& units() const noexcept { return units_; }
  /// By the logical name of its codes: the name of each weight.
  const std::map<std::string, std::string>& weights_of_codes() const noexcept { return weights_of_codes_; }
  /// QuantisedWeights::summary of all weights.
  const std::string& summary() const noexcept { return summary_; }
  /// Tensors that are not shown although they belong to no weight's numbers: scales of activations.
  const std::vector<std::string>& left_out() const noexcept { return left_out_; }
  /// Weights with numbers that were too large for their type and became infinite, as far as this process read them.
  std::vector<std::string> overflowed() const;
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
  Dequantisation how_;
  Layout layout_;
  std::vector<Rule> rules_;
  std::vector<FileCatalog> catalogs_;
  std::vector<File> files_;  // parallel
  std::set<std::string> hidden_;
  std::map<std::string, Shape> units_;
  std::map<std::string, std::string> weights_of_codes_;
  std::string summary_;
  std::vector<std::string> left_out_;
  std::map<const StoredWeight*, std::set<std::string>> names_;  // logical ones
  std::shared_ptr<DecodedChunks> chunks_ = std::make_shared<DecodedChunks>();
};

}  // namespace ckpt
