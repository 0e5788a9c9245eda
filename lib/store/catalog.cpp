#include "store/catalog.hpp"

#include <algorithm>
#include <span>

namespace ckpt {

bool Schema::is_consistent() const noexcept {
  return datasets.size() == arrays->size() && std::ranges::all_of(datasets, [&](const Dataset& dataset) {
           return std::ranges::all_of(dataset.views, [&](const View& view) { return view.file < viewed.size(); });
         });
}

std::size_t Schema::find(const std::string& name) const {
  const auto place =
      std::lower_bound(arrays->begin(), arrays->end(), name,
                       [](const StoredArray& array, const std::string& key) { return array.name < key; });
  if (place == arrays->end() || place->name != name) return arrays->size();
  return static_cast<std::size_t>(place - arrays->begin());
}

PartialSum sum_of_value(const Dataset& dataset) {
  if (dataset.texts) return dataset.texts->sum;
  return dataset.verbatim ? sum_of(std::as_bytes(std::span(dataset.verbatim->bytes)), 0) : PartialSum{};
}

std::vector<Interval> data_intervals(const Schema& schema) {
  std::vector<Interval> intervals;
  intervals.reserve(schema.datasets.size());
  for (const Dataset& dataset : schema.datasets) dataset.extents.append_to(intervals);
  if (schema.checksum) intervals.push_back(*schema.checksum);
  return intervals;
}

std::vector<std::filesystem::path> viewed_paths(const std::filesystem::path& file, const Schema& schema) {
  std::vector<std::filesystem::path> paths;
  for (const ViewedFile& viewed : schema.viewed)
    paths.push_back(viewed.path == "." ? file : file.parent_path() / viewed.path);
  return paths;
}

}  // namespace ckpt
