#include "store/strided_data.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "tensor/box.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt {

namespace {

/// Of elements that are gathered in the file's order, to be put into the array's afterwards.
constexpr std::uint64_t block_bytes = 1U << 20;
/// Runs of elements are read together within so many bytes,
constexpr std::uint64_t stretch_bytes = 256U << 10;
/// where no gap is wider than what another read costs (1 µs at 8 GB/s).
constexpr std::uint64_t widest_gap = 8192;

/// Reads runs that come in the file's order, those that lie close together at once.
class RunReader {
 public:
  RunReader(const PosixFile& file, std::uint64_t run_bytes, std::byte* target)
      : file_(file), run_(run_bytes), target_(target) {}

  void add(std::uint64_t offset, std::uint64_t place) {
    if (!runs_.empty() && (offset < end_ || offset - end_ > widest_gap || offset + run_ - begin_ > stretch_bytes))
      flush();
    if (runs_.empty()) begin_ = offset;
    runs_.push_back({offset, place});
    end_ = offset + run_;
  }

  void flush() {
    if (runs_.size() == 1) {
      file_.read(begin_, {target_ + runs_.front().place, static_cast<std::size_t>(run_)});
    } else if (!runs_.empty()) {
      if (!stretch_) stretch_ = std::make_unique_for_overwrite<std::byte[]>(stretch_bytes);
      file_.read(begin_, {stretch_.get(), static_cast<std::size_t>(end_ - begin_)});
      for (const Run& each : runs_) std::memcpy(target_ + each.place, stretch_.get() + (each.offset - begin_), run_);
    }
    runs_.clear();
  }

 private:
  struct Run {
    std::uint64_t offset;
    std::uint64_t place;
  };

  const PosixFile& file_;
  std::uint64_t run_;
  std::byte* target_;
  std::vector<Run> runs_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::unique_ptr<std::byte[]> stretch_;
};

class StridedReader {
 public:
  StridedReader(const PosixFile& file, const StridedData& data)
      : file_(file), data_(data), target_strides_(row_major_strides(data.shape)), by_stride_(data.shape.size()) {
    std::iota(by_stride_.begin(), by_stride_.end(), std::size_t{0});
    std::stable_sort(by_stride_.begin(), by_stride_.end(),
                     [&](std::size_t a, std::size_t b) { return data.strides[a] > data.strides[b]; });
  }

  /// The elements of a box, the first of which goes to `target`, the others where they lie in the whole array.
  void take(const Box& box, std::byte* target) {
    const Extents shape = box.shape();
    const StridedCopy whole = strided_copy(shape, data_.strides, target_strides_, data_.element);
    if (whole.depth == 0) return file_.read(offset_of(box), {target, static_cast<std::size_t>(whole.run)});
    // As the elements are gathered: in the file's order without gaps, what repeats only once.
    Extents once = shape;
    Extents gathered(shape.size());
    std::uint64_t elements = 1;
    for (auto d = by_stride_.rbegin(); d != by_stride_.rend(); ++d) {
      if (data_.strides[*d] == 0) {
        once[*d] = 1;
      } else {
        gathered[*d] = elements;
        elements *= shape[*d];
      }
    }
    if (elements * data_.element > block_bytes) return divide(box, elements * data_.element, target);
    if (!block_) block_ = std::make_unique_for_overwrite<std::byte[]>(block_bytes);
    const StridedCopy in_file = strided_copy(once, data_.strides, gathered, data_.element);
    RunReader runs(file_, in_file.run, block_.get());
    const std::uint64_t offset = offset_of(box);
    for_each_step({in_file.loops.data(), in_file.depth},
                  [&](const CopyStep& step) { runs.add(offset + step.source, step.target); });
    runs.flush();
    run(strided_copy(shape, gathered, target_strides_, data_.element), block_.get(), target);
  }

 private:
  std::uint64_t offset_of(const Box& box) const {
    std::uint64_t elements = 0;
    for (std::size_t d = 0; d < box.rank(); ++d) elements += box.lo[d] * data_.strides[d];
    return data_.offset + elements * data_.element;
  }

  /// Along the dimension that strides furthest, so that what lies together stays together.
  void divide(const Box& box, std::uint64_t bytes, std::byte* target) {
    const std::size_t widest =
        *std::find_if(by_stride_.begin(), by_stride_.end(), [&](std::size_t d) { return box[d].size() > 1; });
    const Interval all = box[widest];
    const std::uint64_t steps = std::max<std::uint64_t>(1, block_bytes / (bytes / all.size()));
    Box part = box;
    for (std::uint64_t lo = all.lo; lo < all.hi; lo += steps) {
      part.set(widest, {lo, std::min(all.hi, lo + steps)});
      take(part, target + (lo - all.lo) * target_strides_[widest] * data_.element);
    }
  }

  const PosixFile& file_;
  const StridedData& data_;
  Extents target_strides_;
  std::vector<std::size_t> by_stride_;  // dimensions, the furthest stride first
  std::unique_ptr<std::byte[]> block_;
};

}  // namespace

void read_strided(const PosixFile& file, const StridedData& data, std::uint64_t first, std::span<std::byte> out) {
  if (out.empty()) return;
  const Interval elements{first / data.element, ceil_div(first + out.size(), data.element)};
  const std::uint64_t before = first % data.element;
  if (before != 0 || out.size() % data.element != 0) {
    std::vector<std::byte> whole(elements.size() * data.element);
    read_strided(file, data, elements.lo * data.element, whole);
    std::memcpy(out.data(), whole.data() + before, out.size());
    return;
  }
  StridedReader reader(file, data);
  std::byte* target = out.data();
  for_each_box(data.shape, elements, [&](const Box& box) {
    reader.take(box, target);
    target += volume(box.shape()) * data.element;
  });
}

}  // namespace ckpt
