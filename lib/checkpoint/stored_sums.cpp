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
  Sum(const StoredSum& stored, std::size_t dataset, Interval data, FileNumber file, std::uint64_t number)
      : stored_(stored), dataset_(dataset), data_(data), file_(file), number_(number) {}

  const StoredSum& stored() const noexcept { return stored_; }
  std::size_t dataset() const noexcept { return dataset_; }
  Interval data() const noexcept { return data_; }
  FileNumber file() const noexcept { return file_; }
  std::uint64_t number() const noexcept { return number_; }

  /// Whether `add` would take a piece: the copies of a tensor on several cards may be read side by side.
  bool lacks(Interval place) {
    const std::lock_guard lock(mutex_);
    return fits(place, pieces_.lower_bound(place.lo));
  }

  /// Adds a piece. Returns the sum of all data once it is whole.
  std::optional<std::uint32_t> add(Interval place, std::uint32_t sum) {
    const std::lock_guard lock(mutex_);
    const auto behind = pieces_.lower_bound(place.lo);
    if (!fits(place, behind)) return std::nullopt;
    const auto before = behind == pieces_.begin() ? pieces_.end() : std::prev(behind);
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
  using Pieces = std::map<std::uint64_t, Piece>;  // by their begin in the file

  /// `behind`: the first piece that does not begin before this place.
  bool fits(Interval place, Pieces::const_iterator behind) const {
    const bool overlaps = (behind != pieces_.end() && behind->first < place.hi) ||
                          (behind != pieces_.begin() && std::prev(behind)->second.end > place.lo);
    return data_.lo <= place.lo && place.hi <= data_.hi && !overlaps && pieces_.size() < most_pieces;
  }

  StoredSum stored_;
  std::size_t dataset_;
  Interval data_;
  FileNumber file_;
  std::uint64_t number_;
  std::mutex mutex_;
  Pieces pieces_;
};

StoredSums::Key StoredSums::key(FileNumber file, const StoredSum& stored) {
  return {file, stored.place.lo, stored.place.hi, stored.value};
}

StoredSums::StoredSums(std::function<bool(const Transfer&)> is_read_through)
    : is_read_through_(std::move(is_read_through)) {}

StoredSums::~StoredSums() = default;

std::shared_ptr<StoredSums::Sum> StoredSums::of(SourceFile& file, FileNumber number, std::size_t dataset,
                                                const Transfer& transfer) {
  const auto stored = file.stored_sum(dataset);
  if (!stored) {
    file.check(dataset);
    return nullptr;
  }
  const Key key = StoredSums::key(number, *stored);
  if (is_compared(key)) return nullptr;
  if (const auto located = file.strided(dataset) ? std::nullopt : file.located(dataset, 0)) {
    const FileExtent& extent = located->extent;
    const Interval data{extent.offset, extent.offset + extent.bytes};
    const bool is_covered = stored->place.lo <= data.lo && data.hi <= stored->place.hi &&
                            stored->place.size() - data.size() <= most_besides;
    const std::lock_guard lock(mutex_);
    const auto found = sums_.find(key);
    if (found != sums_.end() && (!found->second || found->second->data() == data)) return found->second;
    if (found == sums_.end() && is_covered && data.size() <= most_bytes && is_read_through_(transfer)) {
      const auto sum = std::make_shared<Sum>(*stored, dataset, data, number, begun_++);
      open_.emplace(sum->number(), sum);
      return sums_[key] = sum;
    }
  }
  file.check(dataset);
  close(key);
  return nullptr;
}

bool StoredSums::is_compared(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = sums_.find(key);
  return found != sums_.end() && !found->second;
}

void StoredSums::close(const Key& key) {
  const std::lock_guard lock(mutex_);
  auto& sum = sums_[key];
  if (sum) open_.erase(sum->number());
  sum = nullptr;
}

void StoredSums::add(Sum& sum, SourceFile& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  const Interval piece{offset, offset + bytes.size()};
  if (!sum.lacks(piece)) return;
  const StoredSum& stored = sum.stored();
  const auto whole = sum.add(piece, stored.kind->of(bytes));
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
  close(key(sum.file(), stored));
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
