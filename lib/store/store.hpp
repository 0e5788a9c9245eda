#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/decoded_chunks.hpp"
#include "io/located_file.hpp"
#include "store/catalog.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

class Crc;

class ViewedFiles;

/// A manifest of at least this many bytes occupies a part of the file of its own, and may be overwritten by offset.
inline constexpr std::uint64_t least_manifest_bytes = 4096;

/// The contents of one target file: all metadata, and room for data that is written by offset later.
struct FileSpec {
  struct Array {
    InternedText name;
    DType dtype;
    InternedShape shape;
    std::vector<Attribute> attributes;
    std::optional<InternedShape> global_shape;  ///< written as `ckpt_global_shape`
    BoxedOptional<Value> verbatim;              ///< the whole value, if elements have no fixed size
    BoxedOptional<TextsOfFile> texts = {};      ///< or where it comes from (FormatTraits::streams_texts)
    /// Index of an earlier array that shares its bytes with this one in the source: a format may store them once.
    std::optional<std::size_t> same_as = {};
    /// The index at which it begins in the tensor of `global_shape`; for formats whose directories have an index.
    BoxedOptional<Shape> origin = {};
    /// Its name in the source, which may include groups; for formats whose directories have an index.
    InternedText source_name = {};
    /// The byte of a block of the file (data_block) at which its data begins, if the format leaves a choice: where the
    /// source's begins, so that the two may share blocks. Nothing: any.
    std::optional<std::uint32_t> place_in_block = {};
    /// For an array without data of its own (FormatTraits::shows_others): the elements that it shows; zeros where no
    /// view is.
    std::vector<View> views = {};

    friend bool operator==(const Array&, const Array&) = default;
  };
  std::vector<Array> arrays;          ///< their data lies in this order
  std::vector<Attribute> attributes;  ///< of the root group
  std::vector<Group> groups;          ///< attributes of groups below the root; such a group is created even if no array
                                      ///< needs it
  std::string layout;                 ///< `ckpt_layout`; empty: none
  std::string manifest;               ///< `ckpt_manifest`; empty: none
  /// A tree (SourceStore::tree) that this format takes: it is written again with these arrays, attributes and groups.
  /// For a format that only keeps trees, the text that it keeps (kept_tree_text). Null: no tree.
  std::shared_ptr<const std::string> tree = {};
  std::vector<ViewedFile> viewed = {};  ///< the files whose elements its arrays show
  bool has_checksum = false;            ///< only for formats that can have one (Store::checksum)

  friend bool operator==(const FileSpec&, const FileSpec&) = default;
};

/// Returns the arrays that lose attributes in a format that cannot hold any, in words ("attributes of w"). Ignores an
/// attribute `dtype` that repeats the array's type, and a framework's private one (_has_been_cloned).
std::string lost_attributes_of_arrays(const FileSpec& spec);

/// The places of a new file's data. Arrays lie one after the other, each as near as its alignment allows.
struct FileRoom {
  std::vector<FileExtents> data;     ///< parallel to FileSpec::arrays; none for empty and verbatim arrays
  std::uint64_t bytes = 0;           ///< the file's full size
  std::optional<Interval> manifest;  ///< where FileSpec::manifest lies, if it has at least least_manifest_bytes
  std::optional<Interval> checksum;  ///< where FileChecksum::write puts it
  bool is_in_order = true;           ///< data lies in the arrays' order, and only zeros lie between arrays, now and
                                     ///< later
  PartialSum metadata;     ///< the sum of all bytes except the arrays' data, manifest and checksum, by their offset in
                           ///< the file
  std::string index = {};  ///< the file's entry for the directory's index, for DirectoryIndex::text
};

/// A file of a directory that has an index.
struct IndexedFile {
  std::string name;
  std::string index;                     ///< FileRoom::index
  std::vector<std::uint32_t> sums = {};  ///< if DirectoryIndex::has_sums: the CRC-32C of each of its arrays' bytes,
                                         ///< parallel to FileSpec::arrays
};

/// The place of a file among those of a directory that has an index.
struct IndexedPlace {
  std::uint64_t card = 0;
  std::uint64_t of_card = 0;  ///< number of the same card's files before it
  std::uint64_t number = 0;
  std::uint64_t count = 0;  ///< of all files
};

/// A tensor that an index lists, in its pieces, which zeros may extend beyond it (DirectoryIndex::has_equal_pieces).
struct IndexedTensor {
  std::string name;
  Shape shape;
  std::vector<Box> pieces;
};

/// Returns where data, manifest and checksum lie in a new file: the parts that are written after it was created.
std::vector<Interval> written_later(const FileRoom& room);

/// Bytes of a new file that are too many to be held: they are made while they are written.
class LateBytes {
 public:
  virtual ~LateBytes() = default;
  using Put = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;
  virtual std::uint64_t size() const noexcept = 0;
  /// Calls `put` for all of them that are not zeros, in any order; offsets count from their beginning.
  virtual void make(const Put& put) const = 0;
};

/// Bytes with their place in a file.
struct FileSegment {
  std::uint64_t offset = 0;
  std::string bytes;
  std::shared_ptr<const LateBytes> late = {};  ///< in place of `bytes`
};

/// A new file before it has data.
struct NewFile {
  FileRoom room;
  std::vector<FileSegment> segments;  ///< ascending, none empty: everything that is not data; zeros lie between them
};

/// An extent of a dataset, and the file that contains it.
struct LocatedExtent {
  LocatedFile file;
  FileExtent extent;
};

/// How the elements of a dataset lie that is not in row-major order.
struct StridedForm {
  Shape shape;
  Shape strides;  ///< elements from one index of each dimension to the next
};

/// A file's size and time of modification, as its store reports them.
struct FileStatus {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< since the epoch
  bool is_directory = false;
};

/// A checksum that a file has of some of its bytes.
struct StoredSum {
  const Crc* kind = nullptr;
  std::uint32_t value = 0;
  Interval place;  ///< of these bytes in the file
};

/// A source file open for reading. Several threads may use one.
class SourceFile {
 public:
  virtual ~SourceFile() = default;

  /// Reads bytes [offset, offset + out.size()) of the elements of a dataset (an index into Schema::datasets), in
  /// row-major order. Throws input if the file ends before them, io if they cannot be read; both name the file and the
  /// dataset.
  virtual void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) = 0;

  /// Compares the bytes of a dataset with their stored checksum, if there is one. Call it before `read_as_stored` or
  /// any access by offset; only `read` does so itself. Throws input if they differ.
  virtual void check(std::size_t /*dataset*/) {}

  /// Returns the checksum that `check` compares, if there is one. A caller that reads all of its bytes anyway may sum
  /// them and call `compare` instead of `check`.
  virtual std::optional<StoredSum> stored_sum(std::size_t /*dataset*/) const { return std::nullopt; }
  /// Throws input, as `check` does, if a sum is not the stored one. There must be one.
  virtual void compare(std::size_t /*dataset*/, std::uint32_t /*sum*/) const {}

  /// Returns how a dataset of Storage::strided lies; nothing for any other.
  virtual std::optional<StridedForm> strided(std::size_t /*dataset*/) const { return std::nullopt; }

  /// Reads bytes of a dataset as they lie in the file, from its first element on: for a strided dataset, gaps included;
  /// for any other, the same bytes as `read`. Throws as `read` does.
  virtual void read_as_stored(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) {
    read(dataset, offset, out);
  }

  /// Advises that these few bytes of a dataset, counted as by `read_as_stored`, will be read soon
  /// (PosixFile::will_need). Returns whether there was nothing to request.
  virtual bool will_need(std::size_t /*dataset*/, Interval /*bytes*/) { return true; }

  /// Returns the extent that holds a byte of a dataset, counted as by `read_as_stored`; nothing unless Storage::raw or
  /// strided.
  virtual std::optional<LocatedExtent> located(std::size_t /*dataset*/, std::uint64_t /*offset*/) const {
    return std::nullopt;
  }

  /// Sums, by their offset in the file, all bytes outside the raw datasets' data: headers, attributes, gaps. It skips
  /// `left_out` if the file holds exactly those bytes at that place.
  virtual PartialSum sum_rest(const std::optional<FileSegment>& left_out) = 0;
};

/// A file that a Store has created, open for writing. Bytes are accessed by their offset in the file, as its FileRoom
/// gives them. Several threads may use one. Throws io for what the system refuses.
class TargetFile {
 public:
  virtual ~TargetFile() = default;

  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual void read(std::uint64_t offset, std::span<std::byte> out) = 0;
  /// Waits until all that was written is on the storage.
  virtual void sync() = 0;
  /// From here on, reads come from the storage, not from the page cache.
  virtual void drop_cached() = 0;
  /// Computes FileRoom::metadata from the file on disk: the sum of everything outside `written_later`.
  virtual PartialSum sum_rest() = 0;
};

/// Reads files: the store reads only metadata; data is accessed by offset through SourceFile.
class SourceStore {
 public:
  virtual ~SourceStore() = default;

  /// Returns the status of a path, or nothing if there is no such file. Throws io if that cannot be determined. By
  /// default it asks the file system.
  virtual std::optional<FileStatus> look_at(const std::filesystem::path& path);

  /// Returns whether it reads a file, judging by its first bytes. Throws input if it is not a regular file.
  virtual bool recognises(const std::filesystem::path& file) = 0;

  /// Reads a file's metadata. Throws input for what cannot or must not be read, naming the file and the object. Files
  /// with the same metadata share a schema, unless too many others were read between them.
  virtual FileCatalog catalog(const std::filesystem::path& file) = 0;

  virtual std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) = 0;

  /// Returns the type in which elements are read. `wanted`: what a NumberRule declares them to be; `stored`: what their
  /// file does, of the same size.
  virtual DType read_as(const DType& wanted, const DType& /*stored*/) const { return wanted; }

  /// Returns what a file's format stores besides the elements of tensors, including values that no attribute can hold,
  /// in a form of that format's own; empty if a schema holds everything. Throws as `catalog` does.
  virtual std::string tree(const std::filesystem::path& /*file*/) { return {}; }

  /// Returns long texts of a file as a value. Throws input for more than this store may hold.
  virtual Value whole_texts(const TextsOfFile& /*source*/) { return {}; }

  /// Returns the cache in which the chunks of all open files are decoded and kept; null for formats without chunks.
  virtual DecodedChunks* chunks() noexcept { return nullptr; }

  /// Makes it decode chunks into this cache, which several stores may share. Call it before it opens a file.
  virtual void decode_into(const std::shared_ptr<DecodedChunks>& /*chunks*/) noexcept {}

  /// Returns the files whose data others of this format show (Storage::views); null for formats whose files show none.
  virtual ViewedFiles* viewed() noexcept { return nullptr; }
};

/// Limits the memory in which a store decodes chunks and keeps them (any use of a dataset takes at least
/// Dataset::decoding_bytes), and returns what has been decoded in it; nothing for stores without chunks.
void set_decoding_memory(SourceStore& store, std::uint64_t bytes);
Decoding decoding_of(SourceStore& store);

/// Lets files show data of files below this directory, too (Storage::views). By default they may show only files that
/// lie, with links resolved, in or below their own directory.
void let_show(SourceStore& store, const std::filesystem::path& directory);

/// What files of a format can hold or do.
struct FormatTraits {
  bool keeps_trees = false;   ///< a file keeps a tree of any other format as a text (kept_tree_text), for a format
                              ///< that takes it later
  bool shows_others = false;  ///< a file can show elements of other files (FileSpec::Array::views)
  bool ends_with_manifest = false;  ///< the manifest lies after all data, so that it can hold what is known only when
                                    ///< the data has been written
  bool lacks_small_floats = false;  ///< it has no types for floats of one or two bytes: an attribute says which
                                    ///< integers are floats
  bool is_read_by_ranks = false;    ///< frameworks' ranks load such files, and expect their own names for them
  bool lacks_empty = false;         ///< tensors without elements have no place
  bool streams_texts = false;       ///< long texts go into a file without being held (FileSpec::Array::texts)
  /// An attribute of the root that readers of a model in several files require.
  std::optional<Attribute> model_attribute = {};
};

/// The trees of a format that stores values other than tensors: its own, and those of related formats.
class TreeFormat {
 public:
  virtual ~TreeFormat() = default;

  /// Returns whether a file can hold as its FileSpec::tree a tree from a file of `format`; true for its own.
  virtual bool takes(std::string_view format) const noexcept = 0;

  /// Turns a tree that a file of another format has kept into the form in which SourceStore::tree returns one. The
  /// bytes may be anything: throws input if they are not a tree.
  virtual std::string admitted(const std::string& tree) const = 0;
  /// Whether a tree has the attributes of arrays, too, that files of its own format have.
  virtual bool holds_array_attributes() const noexcept { return true; }
};

/// The file that describes all others of a directory together, and is written last. In a format that has one, each
/// array is a box of its tensor, each tensor is stored once, and only the first file has attributes, groups and a tree.
class DirectoryIndex {
 public:
  virtual ~DirectoryIndex() = default;

  virtual std::string_view name() const noexcept = 0;
  /// Returns the name of a file of the directory.
  virtual std::string file_name(const IndexedPlace& place) const = 0;
  /// Returns a template of these names by card, if each card has one file; empty if there is none.
  virtual std::string file_template(std::uint64_t count) const = 0;
  /// Throws input if the index cannot list these tensors: their names, or the way in which they are cut.
  virtual void check(const std::vector<IndexedTensor>& /*tensors*/) const {}
  /// Returns the name that a tensor gets which another format's file calls `name`.
  virtual std::string tensor_name(const std::string& name) const { return name; }
  /// Whether a tensor's pieces are to be of one size: a short last one is then stored with zeros behind its elements.
  virtual bool has_equal_pieces() const noexcept { return false; }
  /// Whether the index has checksums of the data (IndexedFile::sums).
  virtual bool has_sums() const noexcept { return false; }
  /// The names of small files beside it, which readers need, too.
  virtual std::vector<std::string_view> companions() const { return {}; }
  /// A file beside the data, and its content.
  struct Text {
    std::string name;
    std::string bytes;
  };
  /// Returns its companions, and itself last. Throws input if a name occurs twice.
  virtual std::vector<Text> texts(const std::vector<IndexedFile>& files) const = 0;
  /// Returns whether a file may be such an index, judging by its first bytes.
  virtual bool recognises(const std::filesystem::path& file) const = 0;
};

/// The checksum of all bytes that a file may have (FileSpec::has_checksum).
class FileChecksum {
 public:
  virtual ~FileChecksum() = default;

  /// Writes the checksum of a file that is otherwise complete, if its format has one. Throws io.
  virtual void write(const std::filesystem::path& file, const FileRoom& room) const = 0;
};

/// A file format, read and written. What only some formats have is a trait, or an object that the store hands out; a
/// format without it returns null.
class Store : public SourceStore {
 public:
  /// The name in Schema::format.
  virtual std::string_view name() const noexcept = 0;

  virtual FormatTraits traits() const { return {}; }
  virtual const TreeFormat* trees() const noexcept { return nullptr; }
  virtual const DirectoryIndex* index() const noexcept { return nullptr; }
  virtual const FileChecksum* checksum() const noexcept { return nullptr; }

  /// Returns whether a file can hold a tree from a file of `format`.
  bool takes_trees_of(std::string_view format) const noexcept { return trees() != nullptr && trees()->takes(format); }

  /// Throws input, naming the first offender, for names of datasets, and of groups with attributes, that a file cannot
  /// hold or that `catalog` would not read back, and for a dataset that has the name of such a group.
  virtual void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups) const = 0;

  /// Lists what a file would lose of a specification, in words for the user. Throws input for elements that the format
  /// has no type for.
  virtual std::vector<std::string> losses(const FileSpec& spec) const = 0;

  /// Returns the name of a common reader of such files that refuses elements of this type; empty: all accept them.
  virtual std::string_view refused_by(const DType& /*dtype*/) const noexcept { return {}; }

  /// Returns the type that a text of any length (StoredArray::verbatim) has when such a file is read again.
  virtual DType text_dtype(const DType& dtype) const { return dtype; }

  /// Returns the bytes that a manifest's text becomes in a file; texts of the same form have equally many.
  virtual std::string manifest_bytes(const std::string& text) const { return text; }

  /// Lays out the new file of a specification; its bytes depend on nothing else. Throws if no file can hold it. Threads
  /// may call it at once.
  virtual std::shared_ptr<const NewFile> form(const FileSpec& spec) = 0;

  /// Creates that file (truncating an existing one), with room for its data. This and the functions below use the file
  /// system by default.
  virtual FileRoom create(const std::filesystem::path& file, const FileSpec& spec);

  /// A file that may have been there.
  struct CreatedAgain {
    FileRoom room;
    bool is_kept = false;  ///< an interrupted run has left it with its metadata intact: its data is kept, too
  };
  /// Creates that file, unless it can be kept.
  virtual CreatedAgain create_again(const std::filesystem::path& file, const FileSpec& spec);

  /// Opens a file from `create` or `create_again` for writing. `room`, as they returned it, must outlive the result.
  virtual std::unique_ptr<TargetFile> open_to_fill(const std::filesystem::path& file, const FileRoom& room);
};

}  // namespace ckpt
