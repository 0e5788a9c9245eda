#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "store/viewed_files.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// Finds the views of one dataset by the elements that they cover. It keeps references to the list.
class ViewIndex {
 public:
  explicit ViewIndex(const std::vector<View>& views);

  /// Returns the views that may cover some of these elements, in the list's order: a later one covers an earlier one.
  std::vector<const View*> touching(Interval elements) const;

 private:
  struct Place {
    Interval span;            // its elements of the dataset, gaps included
    std::uint64_t reach = 0;  // the largest end of this and all places before it
    std::size_t number = 0;
  };
  const std::vector<View>& views_;
  std::vector<Place> places_;  // sorted by where they begin
};

/// Copies the elements of a view that are among `elements` to their places in `out`. `file` has the dataset that it
/// shows, with the index `dataset`; `element` is the size of one in bytes.
void read_view(const View& view, Interval elements, std::uint64_t element, SourceFile& file, std::size_t dataset,
               std::span<std::byte> out);

/// Reads elements that the datasets of one file show of others. Threads may share an object.
class ViewedData {
 public:
  ViewedData(const std::filesystem::path& file, const FileCatalog& catalog, std::shared_ptr<ViewedFiles> files);

  /// Reads like SourceFile::read from a dataset of Storage::views; `elements` of the dataset.
  void read(std::size_t dataset, Interval elements, std::span<std::byte> out);

 private:
  const ViewIndex& index_of(std::size_t dataset);

  std::shared_ptr<const Schema> schema_;
  std::vector<FileCatalog::Version> versions_;
  std::vector<std::filesystem::path> paths_;
  std::shared_ptr<ViewedFiles> files_;
  std::mutex mutex_;
  std::map<std::size_t, ViewIndex> indices_;
};

}  // namespace ckpt
