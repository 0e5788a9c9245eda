#include "checkpoint/gather.hpp"

#include <algorithm>

#include "io/strided_data.hpp"
#include "tensor/restrided.hpp"

namespace ckpt {

namespace {

/// A smaller copy is not worth a mapping that may not exist yet.
constexpr std::uint64_t small_copy = 65536;

/// A run of a small array.
constexpr std::uint64_t small_run = 4096;

/// Runs of at least this length get their own read calls even where they could be mapped.
constexpr std::uint64_t long_run = 32768;

/// Reading a run of decoded data takes as long as copying this many bytes.
constexpr std::uint64_t decoded_read_cost = 1024;

class Gatherer {
 public:
  Gatherer(SourceFile& file, std::size_t dataset, const Transfer& transfer, const Summing* summing,
           std::span<std::byte> scratch, const GatherContext& context)
      : file_(file), dataset_(dataset), transfer_(transfer), summing_(summing), scratch_(scratch), context_(context) {}

  GatherResult gather(std::byte* target) {
    if (context_.sums != nullptr)
      sum_ = context_.sums->of(file_, context_.ahead.file, dataset_, transfer_);
    else
      file_.check(dataset_);
    std::optional<Region> as_stored;
    if (const auto form = file_.strided(dataset_)) {
      as_stored = restrided(transfer_.source, form->shape, form->strides);
      is_as_stored_ = as_stored.has_value();
    }
    const Region& region = as_stored ? *as_stored : transfer_.source;
    if (is_as_stored_) located_ = file_.located(dataset_, region.offset * transfer_.element);
    if (context_.grid && copy_of(region).depth > 0)
      for_each_chunk_part(region, context_.grid->first, context_.grid->second, [&](const Region& part) {
        std::uint64_t offset = 0;
        for (std::size_t d = 0; d < part.box.rank(); ++d)
          offset += (part.box.lo[d] - region.box.lo[d]) * transfer_.target_strides[d];
        take(part, target + offset * transfer_.element);
      });
    else
      take(region, target);
    return gathered_;
  }

 private:
  /// Copies one region of the transfer.
  void take(const Region& region, std::byte* target) {
    const StridedCopy copy = copy_of(region);
    if (copy.run == 0) return;
    const std::uint64_t span = copy.source_span();
    const bool is_small =
        copy.bytes() < small_copy && (copy.depth == 0 || (span <= scratch_.size() && !is_sparse(region)));
    const std::uint64_t offset = region.offset * transfer_.element;
    const auto held = located_ ? prefetched_at(file_, dataset_, offset, context_.ahead) : DirectBlocks::PinnedBytes{};
    const bool is_held = held.address != nullptr;
    if (is_held && span <= held.bytes && is_in_one_extent(offset, span)) {
      move(region, copy, held.address, target);
      if (copy.depth == 0) add_to_sum(offset, {target, static_cast<std::size_t>(copy.run)});
      context_.ahead.blocks->count_used(copy.bytes());
      gathered_.bytes_read += copy.bytes();
      return;
    }
    const bool is_worth_mapping =
        copy.depth == 0 ? context_.has_small_arrays && copy.run <= small_run : !is_small && !is_dense(copy);
    const bool is_mapped = can_map_ && !is_held && copy.run < long_run && is_worth_mapping &&
                           is_in_one_extent(offset, span) && located_->file.is_local;
    if (is_mapped && span <= context_.windows.reach()) {
      const FileExtent& extent = located_->extent;
      if (!context_.windows.with(located_->file, extent.offset + (offset - extent.start), span,
                                 [&](const std::byte* source) { move(region, copy, source, target); })) {
        can_map_ = false;
        return take(region, target);
      }
      gathered_.bytes_read += copy.bytes();
      if (copy.depth == 0) add_to_sum(offset, {target, static_cast<std::size_t>(copy.run)});
    } else if (copy.depth == 0) {
      read(offset, {target, static_cast<std::size_t>(copy.run)});
      add_to_sum(offset, {target, static_cast<std::size_t>(copy.run)});
      // One run on both sides: the target has the file's order.
      if (summing_ != nullptr)
        gathered_.sum +=
            sum_of(region, transfer_.element, target, summing_->tensor_strides, summing_->sets, summing_->first);
    } else if (!is_mapped && span <= scratch_.size() && !is_sparse(region)) {
      const auto window = scratch_.first(static_cast<std::size_t>(span));
      read(offset, window);
      move(region, copy, window.data(), target);
    } else {
      divide(region, target, is_mapped ? context_.windows.reach() : reach_in_blocks(span, is_held));
    }
  }

  /// Parts a quarter of a block long seldom cross a block's border; the pieces of a part that does go through
  /// `scratch`.
  std::uint64_t reach_in_blocks(std::uint64_t span, bool is_held) const {
    const std::uint64_t quarter = is_held ? context_.ahead.blocks->block_bytes() / 4 : 0;
    return span > quarter ? std::max<std::uint64_t>(quarter, scratch_.size()) : scratch_.size();
  }

  /// Divides along the dimension with the largest stride in the source: as many indices at a time as lie within
  /// `reach`, at least one.
  void divide(const Region& region, std::byte* target, std::uint64_t reach) {
    const std::size_t widest = furthest_dimension(region.box.shape(), region.strides);
    const std::uint64_t lo = region.box.lo[widest];
    const std::uint64_t hi = region.box.hi[widest];
    const auto part = [&](std::uint64_t first, std::uint64_t count) {
      Box box = region.box;
      box.set(widest, {first, first + count});
      return restricted(region, box);
    };
    const StridedCopy one = copy_of(part(lo, 1));
    const std::uint64_t stride = region.strides[widest] * transfer_.element;
    std::uint64_t steps = 1;
    if (one.source_span() <= reach) steps = std::min(hi - lo, (reach - one.source_span()) / stride + 1);
    if (steps == hi - lo || (reach == scratch_.size() && is_sparse(part(lo, steps)))) steps = 1;
    for (std::uint64_t i = lo; i < hi; i += steps)
      take(part(i, std::min(steps, hi - i)), target + (i - lo) * transfer_.target_strides[widest] * transfer_.element);
  }

  /// Whether these bytes of the dataset can be mapped in one piece: bytes across the border of two extents cannot.
  bool is_in_one_extent(std::uint64_t offset, std::uint64_t bytes) {
    if (!located_) return false;  // also where strides are not those of the file
    const auto holds = [&](std::uint64_t byte) {
      return byte >= located_->extent.start && byte - located_->extent.start < located_->extent.bytes;
    };
    if (!holds(offset)) located_ = file_.located(dataset_, offset);
    return located_ && holds(offset + bytes - 1);
  }

  StridedCopy copy_of(const Region& region) const {
    return strided_copy(region.box.shape(), region.strides, transfer_.target_strides, transfer_.element);
  }

  /// Judges by the file's runs; the target may have another order.
  bool is_sparse(const Region& region) const {
    return ckpt::is_sparse(region.box.shape(), region.strides, transfer_.element,
                           context_.grid ? decoded_read_cost : read_cost_bytes);
  }

  /// Whether nearly all bytes between the first and the last are wanted: then a read into the cache is cheaper than
  /// page faults and the unmapping, of which all threads' processors must be notified.
  static bool is_dense(const StridedCopy& copy) { return copy.source_span() <= copy.bytes() + copy.bytes() / 8; }

  void read(std::uint64_t offset, std::span<std::byte> out) {
    gathered_.bytes_read += out.size();
    is_as_stored_ ? read_as_stored(file_, dataset_, offset, out, context_.ahead) : file_.read(dataset_, offset, out);
  }

  /// Adds a run that was read to the dataset's stored checksum, if that is compared on the way.
  void add_to_sum(std::uint64_t offset, std::span<const std::byte> run) {
    if (sum_ && is_in_one_extent(offset, run.size()))
      context_.sums->add(*sum_, file_, located_->extent.offset + (offset - located_->extent.start), run);
  }

  /// Copies a region whose elements are at `source` in the file's order, and sums it if asked to.
  void move(const Region& region, const StridedCopy& copy, const std::byte* source, std::byte* target) {
    if (summing_ == nullptr) return run(copy, source, target);
    gathered_.sum += copy_and_sum(region, transfer_.element, source, target, transfer_.target_strides,
                                  summing_->tensor_strides, summing_->sets, summing_->first);
  }

  SourceFile& file_;
  std::size_t dataset_;
  const Transfer& transfer_;
  const Summing* summing_;
  std::span<std::byte> scratch_;
  const GatherContext& context_;
  bool is_as_stored_ = true;              // offsets and strides are those of the file
  std::optional<LocatedExtent> located_;  // the extent looked up last
  bool can_map_ = true;
  std::shared_ptr<StoredSums::Sum> sum_;
  GatherResult gathered_;
};

}  // namespace

GatherResult gather(SourceFile& file, std::size_t dataset, const Transfer& transfer, const Summing* summing,
                    std::byte* target, std::span<std::byte> scratch, const GatherContext& context) {
  return Gatherer(file, dataset, transfer, summing, scratch, context).gather(target);
}

std::optional<StoredSpan> stored_span(const SourceFile& file, std::size_t dataset, const Transfer& transfer) {
  std::optional<Region> as_stored;
  if (const auto form = file.strided(dataset)) {
    as_stored = restrided(transfer.source, form->shape, form->strides);
    if (!as_stored) return std::nullopt;
  }
  const Region& region = as_stored ? *as_stored : transfer.source;
  const std::uint64_t start = region.offset * transfer.element;
  const auto copy = strided_copy(region.box.shape(), region.strides, transfer.target_strides, transfer.element);
  return StoredSpan{{start, start + copy.source_span()}, copy.depth == 0};
}

}  // namespace ckpt
