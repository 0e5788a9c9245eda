#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace ckpt::hdf5 {

/// A file without data that shows others'. From it, files that differ only in what they show are made without HDF5.
/// HDF5 made it with mappings to nowhere, which reserve room: for each array's mappings in a collection of the file's
/// global heap, where no checksum but the heap's own covers them, and for the text that names the files, which lies
/// outside the heap. Threads may share an object.
class ViewSkeleton {
 public:
  /// Reserves room for everything that this specification shows, and a quarter more.
  explicit ViewSkeleton(const FileSpec& spec);

  /// Returns nothing if the specification differs in anything else, or shows more than there is room for.
  std::shared_ptr<const NewFile> filled(const FileSpec& spec) const;

  std::uint64_t bytes() const noexcept { return metadata_.bytes.size(); }

 private:
  /// An object of a collection: an array's mappings, or other bytes, which stay unchanged.
  struct Object {
    std::size_t offset = 0;  // of its header
    std::size_t bytes = 0;   // without header and padding
    std::size_t array = 0;   // index of the array, or the number of arrays
  };
  /// A collection of the global heap.
  struct Collection {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::vector<Object> objects;
  };

  bool borrows_rule(const FileSpec& spec) const;
  void find_collection(std::size_t start);
  std::size_t array_of(std::string_view content) const;
  bool fill(const Collection& collection, const FileSpec& spec, std::string& bytes) const;

  FileSpec spec_;  // with every array that shows something reduced to one view of nothing
  NewFile made_;   // without the passage after the data
  FileSegment metadata_;
  std::vector<Collection> collections_;
  std::size_t text_ = 0;        // where the text begins
  std::size_t text_bytes_ = 0;  // limit on its length
};

}  // namespace ckpt::hdf5
