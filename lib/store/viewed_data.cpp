#include "store/viewed_data.hpp"

#include <algorithm>
#include <cstring>

namespace ckpt {

namespace {

/// Elements within this many bytes are read together if few others lie between them. The size fits a core's cache.
constexpr std::uint64_t view_stretch_bytes = 256U << 10;
/// A run of at least this many bytes on both sides is read directly into its place.
constexpr std::uint64_t direct_bytes = 32U << 10;

/// The copy of a view's elements from the file that it shows.
class ViewRead {
 public:
  ViewRead(const View& view, Interval elements, std::uint64_t element, SourceFile& file, std::size_t dataset,
           std::span<std::byte> out)
      : ours_(view.ours),
        theirs_(view.theirs),
        elements_(elements),
        element_(element),
        file_(file),
        dataset_(dataset),
        out_(out) {}

  void run() {
    const Interval wanted{ours_.before(elements_.lo), ours_.before(elements_.hi)};
    for (std::uint64_t next = wanted.lo; next < wanted.hi;) next = read_from({next, wanted.hi});
  }

 private:
  /// Returns how many of these elements are contiguous on both sides.
  std::uint64_t run_of(Interval numbers) const {
    return std::min({ours_.from(numbers.lo).length, theirs_.from(numbers.lo).length, numbers.size()});
  }

  std::byte* place_of(std::uint64_t number) const {
    return out_.data() + (ours_.from(number).element - elements_.lo) * element_;
  }

  /// Reads the first of these elements, and those that can be read with it; returns the next.
  std::uint64_t read_from(Interval numbers) {
    const std::uint64_t first = theirs_.from(numbers.lo).element;
    const std::uint64_t run = run_of(numbers);
    if (run * element_ >= direct_bytes) {
      file_.read(dataset_, first * element_, {place_of(numbers.lo), static_cast<std::size_t>(run * element_)});
      return numbers.lo + run;
    }
    numbers.hi = end_of_stretch(numbers, first);
    const std::uint64_t span = theirs_.from(numbers.hi - 1).element + 1 - first;
    const std::span<std::byte> bytes = scratch(span * element_);
    file_.read(dataset_, first * element_, bytes);
    for (std::uint64_t next = numbers.lo; next < numbers.hi;) {
      const std::uint64_t count = run_of({next, numbers.hi});
      const std::byte* const from = bytes.data() + (theirs_.from(next).element - first) * element_;
      std::memcpy(place_of(next), from, count * element_);
      next += count;
    }
    return numbers.hi;
  }

  std::uint64_t end_of_stretch(Interval numbers, std::uint64_t first) const {
    const std::uint64_t most = std::max<std::uint64_t>(view_stretch_bytes / element_, 1);
    const std::uint64_t end = std::min(numbers.hi, theirs_.before(first + std::min(most, theirs_.end() - first)));
    const std::uint64_t span = theirs_.from(end - 1).element + 1 - first;
    if (end - numbers.lo >= span / 2) return end;
    return numbers.lo + std::min({theirs_.from(numbers.lo).length, numbers.size(), most});
  }

  std::span<std::byte> scratch(std::uint64_t bytes) {
    if (!scratch_) scratch_.reset(new std::byte[std::max(view_stretch_bytes, element_)]);
    return {scratch_.get(), static_cast<std::size_t>(bytes)};
  }

  HyperslabRuns ours_;
  HyperslabRuns theirs_;
  Interval elements_;
  std::uint64_t element_;
  SourceFile& file_;
  std::size_t dataset_;
  std::span<std::byte> out_;
  std::unique_ptr<std::byte[]> scratch_;
};

}  // namespace

ViewIndex::ViewIndex(const std::vector<View>& views) : views_(views) {
  for (const View& view : views) {
    const HyperslabRuns runs(view.ours);
    places_.push_back({{runs.from(0).element, runs.end()}, 0, places_.size()});
  }
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.span.lo < b.span.lo; });
  std::uint64_t reach = 0;
  for (Place& place : places_) place.reach = reach = std::max(reach, place.span.hi);
}

std::vector<const View*> ViewIndex::touching(Interval elements) const {
  const auto first = std::partition_point(places_.begin(), places_.end(),
                                          [&](const Place& place) { return place.reach <= elements.lo; });
  std::vector<std::size_t> numbers;
  for (auto place = first; place != places_.end() && place->span.lo < elements.hi; ++place)
    if (place->span.hi > elements.lo) numbers.push_back(place->number);
  std::sort(numbers.begin(), numbers.end());
  std::vector<const View*> touching;
  for (const std::size_t number : numbers) touching.push_back(&views_[number]);
  return touching;
}

void read_view(const View& view, Interval elements, std::uint64_t element, SourceFile& file, std::size_t dataset,
               std::span<std::byte> out) {
  ViewRead(view, elements, element, file, dataset, out).run();
}

ViewedData::ViewedData(const std::filesystem::path& file, const FileCatalog& catalog,
                       std::shared_ptr<ViewedFiles> files)
    : schema_(catalog.schema),
      versions_(catalog.viewed),
      paths_(viewed_paths(file, *catalog.schema)),
      files_(std::move(files)) {}

const ViewIndex& ViewedData::index_of(std::size_t dataset) {
  const std::lock_guard lock(mutex_);
  return indices_.try_emplace(dataset, schema_->datasets[dataset].views).first->second;
}

void ViewedData::read(std::size_t index, Interval elements, std::span<std::byte> out) {
  std::memset(out.data(), 0, out.size());  // zeros where no view is
  const std::uint64_t element = (*schema_->arrays)[index].dtype.size;
  for (const View* view : index_of(index).touching(elements)) {
    const auto shown = files_->open(paths_[view->file], versions_.at(view->file));
    read_view(*view, elements, element, *shown->file, shown->catalog.schema->find(view->dataset), out);
  }
}

}  // namespace ckpt
