#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/catalog.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// What is to be written into one target file: metadata whole, data as room that is filled by offset later.
struct FileSpec {
  struct Array {
    std::string name;
    DType dtype;
    Extents shape;
    std::vector<Attribute> attributes;
    std::optional<Extents> global_shape;  ///< written as `ckpt_global_shape`
    bool verbatim = false;
    std::string verbatim_space;
    std::string verbatim_value;

    friend bool operator==(const Array&, const Array&) = default;
  };
  std::vector<Array> arrays;          ///< data lies in this order
  std::vector<Attribute> attributes;  ///< of the root group
  std::vector<Group> groups;          ///< attributes of groups below it; made where no array needs them, too
  std::string layout;                 ///< `ckpt_layout`; empty: none
  std::string manifest;               ///< `ckpt_manifest`; empty: none

  friend bool operator==(const FileSpec&, const FileSpec&) = default;
};

/// Where a new file's data goes.
struct FileRoom {
  std::vector<std::uint64_t> offsets;  ///< parallel to FileSpec::arrays; of no meaning for empty and verbatim arrays
  std::uint64_t bytes = 0;             ///< the file's full size
  PartialSum metadata;                 ///< of all bytes that are no array's data, by their offset in the file
};

/// Where the bytes of a dataset lie, for whoever wants to map them.
struct FileExtent {
  int fd = -1;
  const std::string* path = nullptr;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t offset = 0;  ///< of the dataset's first byte
};

/// A source file open for reading. `read` may be called from several threads at once.
class SourceFile {
 public:
  virtual ~SourceFile() = default;

  /// Bytes [offset, offset + out.size()) of the elements of a dataset (an index into Schema::datasets), in row-major
  /// order. Throws input when the file ends before them, io when it cannot be read; both name the file and the dataset.
  virtual void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) = 0;

  /// Where a dataset's bytes lie in the file, when they do so as they are and mapping is as good as reading (a local
  /// file system: on a network's, a page fault waits for the network alone).
  virtual std::optional<FileExtent> extent(std::size_t /*dataset*/) const { return std::nullopt; }
};

/// Behind a file's name: of one that Store::create_again makes and removes again.
inline constexpr const char* trial_suffix = ".metadata";

/// A file format. Only metadata is its business; data is reached by offset.
class Store {
 public:
  virtual ~Store() = default;

  /// Whether a file is of this format, by its first bytes. Throws input where it is no regular file.
  virtual bool recognises(const std::filesystem::path& file) = 0;

  /// Reads a file's metadata. Throws input for what cannot or must not be read, naming the file and the object.
  virtual FileCatalog catalog(const std::filesystem::path& file) = 0;

  virtual std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) = 0;

  /// Makes a new file (truncating one that is there) with all its metadata and room for its data. The bytes are a
  /// function of `spec` alone.
  virtual FileRoom create(const std::filesystem::path& file, const FileSpec& spec) = 0;

  /// The same where a file that an interrupted run has made may be there: then its data stays, if it can, as `is_kept`
  /// tells. Meanwhile there may be another file beside it, with trial_suffix behind its name.
  virtual FileRoom create_again(const std::filesystem::path& file, const FileSpec& spec, bool& is_kept) = 0;

  /// Puts another manifest of the same length in the place of FileSpec::manifest.
  virtual void set_manifest(const std::filesystem::path& file, const std::string& text) = 0;
};

/// HDF5 files.
std::unique_ptr<Store> hdf5_store();

}  // namespace ckpt
