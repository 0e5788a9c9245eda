#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "checkpoint/part_of_file.hpp"
#include "io/decoded_chunks.hpp"
#include "io/file_cache.hpp"
#include "layout/placement/quantised_weights.hpp"
#include "tensor/codes.hpp"

namespace ckpt {

/// A tensor as it is stored: its file's number among those that hold a family, and its dataset there.
struct StoredPart {
  std::size_t file = 0;
  std::size_t dataset = 0;
  DType dtype;
  Shape shape;
};

/// The numbers of a weight that all of its elements need.
struct WeightTables {
  CodeTable codes;
  bool has_infinity = false;  ///< among the numbers of codes
  CodeTable outer_codes;
  float factor = 1;
};

/// A quantised weight, where its tensors are stored, and how it is shown.
struct StoredWeight {
  QuantisedWeight form;
  DType dtype;  ///< of the numbers
  StoredPart codes;
  StoredPart scales;
  std::optional<StoredPart> factor = {};
  std::optional<StoredPart> zeros = {};
  std::optional<StoredPart> groups = {};
  std::optional<StoredPart> numbers = {};
  std::optional<StoredPart> outer_scales = {};
  std::optional<StoredPart> outer_numbers = {};
  mutable std::atomic_flag has_overflowed = ATOMIC_FLAG_INIT;  ///< some number is infinite now
};

/// Rows of a weight whose codes lie in another order, that are decoded together.
struct DecodedRows {
  std::uint64_t rows = 0;       ///< at most
  std::uint64_t per_outer = 0;  ///< such parts in each matrix
  DecodedChunks::Size size;     ///< of the largest
};
/// Returns nothing for a weight of which any part can be decoded alone.
std::optional<DecodedRows> decoded_rows(const QuantisedWeight& weight, const DType& dtype);

/// A file whose quantised weights are shown as numbers: they are reckoned in f32 while they are read, and rounded once.
class DequantisedFile final : public PartOfFile {
 public:
  /// Opens a file by its number among those that hold the families.
  using Open = std::function<std::unique_ptr<SourceFile>(std::size_t file)>;
  /// The datasets that are shown: the index of each in the whole file (of a weight: its codes'), and the weights.
  struct View {
    std::vector<std::size_t> places;
    std::vector<std::shared_ptr<const StoredWeight>> weights;  ///< null: it is shown as it is
  };

  /// `own`: this file's number. `file_key` identifies it in `chunks`, which must outlive it.
  DequantisedFile(std::size_t own, std::uint64_t file_key, std::shared_ptr<const View> view, Open open,
                  DecodedChunks& chunks);

  void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override;
  void read_as_stored(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override;
  void check(std::size_t dataset) override;
  std::optional<StridedForm> strided(std::size_t dataset) const override;
  bool will_need(std::size_t dataset, Interval bytes) override;
  std::optional<LocatedExtent> located(std::size_t dataset, std::uint64_t offset) const override;

 private:
  const StoredWeight* weight(std::size_t dataset) const { return view_->weights.at(dataset).get(); }
  void read_part(const StoredPart& part, std::uint64_t offset, std::span<std::byte> out);

  std::size_t own_;
  std::uint64_t file_key_;
  std::shared_ptr<const View> view_;
  FileCache<SourceFile> others_;
  /// By dataset: read with a weight's first elements.
  struct Tables {
    std::once_flag are_read;
    WeightTables of;
  };
  std::vector<std::unique_ptr<Tables>> tables_;
  DecodedChunks& chunks_;
};

}  // namespace ckpt
