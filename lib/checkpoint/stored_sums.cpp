#include "checkpoint/stored_sums.hpp"

#include <iterator>
#include <optional>
#include <vector>

#include "base/parallel.hpp"
#include "io/crc.hpp"
#include "io/posix_file.hpp"

namespace ckpt {

namespace {

/// A killed job goes on from data that has been compared, and so loses at most what one sum covers, and some.
constexpr std::uint64_t most_bytes = 4ULL << 30;

/// A sum may cover a header, too.
constexpr std::uint64_t most_besides = 64ULL << 10;

/// Pieces that wait for those between them; more are read once more.
constexpr std::size_t most_pieces = 4096;

}  // namespace

class StoredSums::Sum {
 public:
  Sum(const StoredSum& stored, std::size_t dataset, Interval data, FileNumber file)
      : stored_(stored), dataset_(dataset), data_(data), file_(file) {}

  const StoredSum& stored() const noexcept { return stored_; }
  std::size_t dataset() const noexcept { return dataset_; }
  Interval data() const noexcept { return data_; }
  FileNumber file() const noexcept { return file_; }

  std::uint64_t number = 0;

  /// Adds a piece. Returns the sum of all data once it is whole.
  std::optional<std::uint32_t> add(Interval place, std::uint32_t sum) {
    if (place.lo < data_.lo || place.hi > data_.hi) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto behind = pieces_.lower_bound(place.lo);
    const auto before = behind == pieces_.begin() ? pieces_.end() : std::prev(behind);
    const bool overlaps = (behind != pieces_.end() && behind->first < place.hi) ||
                          (before != pieces_.end() && before->second.end > place.lo);
    if (overlaps || pieces_.size() >= most_pieces) return std::nullopt;
    auto here = behind;
    if (before != pieces_.end() && before->second.end == place.lo) {
      here = before;
      here->second = {place.hi, stored_.kind->joined(here->second.sum, sum, place.size())};
    } else {
      here = pieces_.emplace_hint(behind, place.lo, Piece{place.hi, sum});
    }
    if (behind != pieces_.end() && behind->first == place.hi) {
      const Piece& next = behind->second;
      here->second = {next.end, stored_.kind->joined(here->second.sum, next.sum, next.end - place.hi)};
      pieces_.erase(behind);
    }
    if (here->first != data_.lo || here->second.end != data_.hi) return std::nullopt;
    return here->second.sum;
  }

 private:
  struct Piece {
    std::uint64_t end = 0;
    std::uint32_t sum = 0;
  };

  StoredSum stored_;
  std::size_t dataset_;
  Interval data_;
  FileNumber file_;
  std::mutex mutex_;
  std::map<std::uint64_t, Piece> pieces_;  // by their begin in the file
};

StoredSums::StoredSums(std::function<bool(const Transfer&)> is_read_through)
    : is_read_through_(std::move(is_read_through)) {}

StoredSums::~StoredSums() = default;

std::shared_ptr<StoredSums::Sum> StoredSums::of(SourceFile& file, FileNumber number, std::size_t dataset,
                                                const Transfer& transfer) {
  const auto stored = file.stored_sum(dataset);
  const auto located = stored && !file.strided(dataset) ? file.located(dataset, 0) : std::nullopt;
  if (located) {
    const FileExtent& extent = located->extent;
    const Interval data{extent.offset, extent.offset + extent.bytes};
    const std::lock_guard lock(mutex_);
    const auto found = sums_.find({number, stored->place.lo});
    if (found != sums_.end() && (!found->second || found->second->data() == data)) return found->second;
    const bool is_covered = stored->place.lo <= data.lo && data.hi <= stored->place.hi &&
                            stored->place.size() - data.size() <= most_besides;
    if (found == sums_.end() && is_covered && data.size() <= most_bytes && is_read_through_(transfer)) {
      const auto sum = std::make_shared<Sum>(*stored, dataset, data, number);
      sum->number = begun_++;
      open_.emplace(sum->number, sum);
      return sums_[{number, stored->place.lo}] = sum;
    }
  }
  file.check(dataset);
  return nullptr;
}

void StoredSums::add(Sum& sum, SourceFile& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  const StoredSum& stored = sum.stored();
  const auto whole = sum.add({offset, offset + bytes.size()}, stored.kind->of(bytes));
  if (!whole) return;
  const Interval data = sum.data();
  const Interval place = stored.place;
  std::uint32_t all = *whole;
  if (place != data) {
    const PosixFile own = PosixFile::open_for_reading(*file.located(sum.dataset(), 0)->file.path);
    all = stored.kind->joined(stored.kind->of(own, {place.lo, data.lo}), all, data.size());
    all = stored.kind->joined(all, stored.kind->of(own, {data.hi, place.hi}), place.hi - data.hi);
  }
  file.compare(sum.dataset(), all);
  const std::lock_guard lock(mutex_);
  open_.erase(sum.number);
  sums_[{sum.file(), place.lo}] = nullptr;
}

std::uint64_t StoredSums::begun() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

std::uint64_t StoredSums::compared() const {
  const std::lock_guard lock(mutex_);
  return open_.empty() ? begun_ : open_.begin()->first;
}

void StoredSums::finish(unsigned threads, const std::function<std::shared_ptr<SourceFile>(FileNumber)>& open) {
  std::vector<std::shared_ptr<Sum>> left;
  for (const auto& [number, sum] : open_) left.push_back(sum);
  for_each_in_parallel(threads, left.size(),
                       [&](std::uint64_t n) { open(left[n]->file())->check(left[n]->dataset()); });
  open_.clear();
}

}  // namespace ckpt
