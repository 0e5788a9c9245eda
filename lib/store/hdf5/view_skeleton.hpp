#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace ckpt::hdf5 {

/// A file without data that shows others', from which those are made without HDF5 that differ from it in what they show
/// alone. HDF5 has made it with mappings to nowhere, which keep room: of each array's mappings in a collection of the
/// file's global heap, where no checksum covers them but their own, and of the text that names the files, which lies in
/// the file by itself. May be used from several threads at once.
class ViewSkeleton {
 public:
  /// With room for what this specification shows, and a fourth more.
  explicit ViewSkeleton(const FileSpec& spec);

  /// Nothing where the specification differs in other things, or shows what has no room.
  std::shared_ptr<const NewFile> filled(const FileSpec& spec) const;

  std::uint64_t bytes() const noexcept { return metadata_.bytes.size(); }

 private:
  /// An object of a collection: an array's mappings, or other bytes, which stay.
  struct Object {
    std::size_t offset = 0;  // of its header
    std::size_t bytes = 0;   // without header and padding
    std::size_t array = 0;   // or as many as there are
  };
  /// A collection of the global heap.
  struct Collection {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::vector<Object> objects;
  };

  bool is_like(const FileSpec& spec) const;
  void find_collection(std::size_t start);
  std::size_t array_of(std::string_view content) const;
  bool fill(const Collection& collection, const FileSpec& spec, std::string& bytes) const;

  FileSpec spec_;  // without what it shows: arrays that show something have one view, of nothing
  NewFile made_;   // without the passage that follows
  Passage metadata_;
  std::vector<Collection> collections_;
  std::size_t text_ = 0;        // where the text begins
  std::size_t text_bytes_ = 0;  // how long it may be
};

}  // namespace ckpt::hdf5
