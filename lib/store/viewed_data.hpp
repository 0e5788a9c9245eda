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

/// The views of one dataset, found by the elements that they are. They refer to the list.
class ViewIndex {
 public:
  explicit ViewIndex(const std::vector<View>& views);

  /// Those that may have some of these elements, in the list's order: a later one covers an earlier one.
  std::vector<const View*> touching(Interval elements) const;

 private:
  struct Place {
    Interval span;            // of the dataset's elements, gaps included
    std::uint64_t reach = 0;  // the last end of this and all before it
    std::size_t number = 0;
  };
  const std::vector<View>& views_;
  std::vector<Place> places_;  // by where they begin
};

/// Copies those elements of a dataset that a view has among `elements`, to their places in `out`. `file` has the
/// dataset (an index) that it shows; elements are of so many bytes.
void read_view(const View& view, Interval elements, std::uint64_t element, SourceFile& file, std::size_t dataset,
               std::span<std::byte> out);

/// Reads what the datasets of one file show of others. Threads may share one.
class ViewedData {
 public:
  ViewedData(const std::filesystem::path& file, const FileCatalog& catalog, std::shared_ptr<ViewedFiles> files);

  /// As SourceFile::read, of a dataset of Storage::views; `elements` of it.
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
