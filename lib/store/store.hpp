#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "store/catalog.hpp"
#include "store/decoded_chunks.hpp"
#include "store/number_rules.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// A manifest of at least so many bytes stands in a file by itself, and may be written over by offset.
inline constexpr std::uint64_t least_manifest_bytes = 4096;

/// The contents of one target file: all metadata, and room for data that is filled by offset later.
struct FileSpec {
  struct Array {
    InternedText name;
    DType dtype;
    Shape shape;
    std::vector<Attribute> attributes;
    std::optional<Shape> global_shape;  ///< written as `ckpt_global_shape`
    Rare<Value> verbatim;               ///< its whole value, where its elements have no fixed size
    /// An array before it (an index) whose bytes its own are in the source, too: a format may store them once.
    std::optional<std::size_t> same_as = {};
    /// Where in the tensor of `global_shape` it begins: of a format whose directories have an index.
    Rare<Extents> corner = {};
    /// Likewise: its name in the source, which may have groups.
    InternedText source_name = {};
    /// Where it is to have no data of its own (Store::can_show): whose elements its own are; zeros where no view is.
    std::vector<View> views = {};

    friend bool operator==(const Array&, const Array&) = default;
  };
  std::vector<Array> arrays;          ///< data lies in this order
  std::vector<Attribute> attributes;  ///< of the root group
  std::vector<Group> groups;          ///< attributes of groups below it; made where no array needs them, too
  std::string layout;                 ///< `ckpt_layout`; empty: none
  std::string manifest;               ///< `ckpt_manifest`; empty: none
  /// Of a file of a format that this one takes trees of (SourceStore::tree): it is written again with these arrays,
  /// attributes and groups. Of a format that only keeps trees: the text that it keeps (kept_tree_text). Null: none.
  std::shared_ptr<const std::string> tree = {};
  std::vector<ViewedFile> viewed = {};  ///< the files that its arrays show
  bool has_checksum = false;            ///< of a format that can have one (Store::has_checksums)

  friend bool operator==(const FileSpec&, const FileSpec&) = default;
};

/// The arrays whose attributes a format loses that holds none, in words ("attributes of w"); empty where there are
/// none. An attribute `dtype` that says what the array's type says is no loss.
std::string lost_attributes_of_arrays(const FileSpec& spec);

/// Where a new file's data goes: one array's after the other's, each as near as its alignment allows.
struct FileRoom {
  std::vector<FileExtents> data;     ///< parallel to FileSpec::arrays; none for empty and verbatim arrays
  std::uint64_t bytes = 0;           ///< the file's full size
  std::optional<Interval> manifest;  ///< where FileSpec::manifest is, if it has least_manifest_bytes
  std::optional<Interval> checksum;  ///< where Store::finish puts it
  bool is_in_order = true;           ///< data lies in the arrays' order, and nothing but zeros between it, ever
  PartialSum metadata;     ///< of all bytes but the arrays' data, manifest and checksum, by their offset in the file
  std::string index = {};  ///< what the directory's index is to say of it, for Store::index_text
};

/// A file of a directory that has an index.
struct IndexedFile {
  std::string name;
  std::string index;  ///< FileRoom::index

  static auto fields(auto& self) { return std::tie(self.name, self.index); }
};

/// Where data, manifest and checksum lie in a new file: what is written after it has been made.
std::vector<Interval> written_later(const FileRoom& room);

/// Bytes at a place of a file.
struct Passage {
  std::uint64_t offset = 0;
  std::string bytes;
};

/// A new file before it has data.
struct NewFile {
  FileRoom room;
  std::vector<Passage> passages;  ///< ascending, none empty: what is no data; zeros lie between them
};

/// What is needed to map a part of an open file, or to read it in another way.
struct LocatedFile {
  int fd = -1;
  const std::string* path = nullptr;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  /// Whether mapping is as good as reading: on a network's file system each page fault waits for the network.
  bool is_local = true;
};

/// An extent of a dataset, and the file that has it.
struct LocatedExtent {
  LocatedFile file;
  FileExtent extent;
};

/// How the elements of a dataset that are not in row-major order lie.
struct StridedForm {
  Extents shape;
  Extents strides;  ///< elements from one index of each dimension to the next
};

/// A path as its store sees it.
struct FileStatus {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< since the epoch
  bool is_directory = false;
};

/// A source file open for reading. Several threads may use one.
class SourceFile {
 public:
  virtual ~SourceFile() = default;

  /// Bytes [offset, offset + out.size()) of the elements of a dataset (an index into Schema::datasets), in row-major
  /// order. Throws input when the file ends before them, io when it cannot be read; both name the file and the dataset.
  virtual void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) = 0;

  /// Holds the bytes of a dataset against the checksum that was written with them, where there is one. Before they are
  /// used: `read` and `read_as_stored` do so themselves. Throws input where they are others.
  virtual void check(std::size_t /*dataset*/) {}

  /// How a dataset of Storage::strided lies; nothing for any other.
  virtual std::optional<StridedForm> strided(std::size_t /*dataset*/) const { return std::nullopt; }

  /// Bytes of a dataset as they lie in the file, from its first element on: of one that is strided, gaps included; of
  /// any other, what `read` gives. Throws as that does.
  virtual void read_as_stored(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) {
    read(dataset, offset, out);
  }

  /// Advice: these bytes of a dataset, few and counted as by `read_as_stored`, are read soon (PosixFile::will_need).
  /// Gives whether there was nothing to ask for.
  virtual bool will_need(std::size_t /*dataset*/, Interval /*bytes*/) { return true; }

  /// The extent that holds a byte of a dataset, counted as by `read_as_stored`; none unless Storage::raw or strided.
  virtual std::optional<LocatedExtent> located(std::size_t /*dataset*/, std::uint64_t /*offset*/) const {
    return std::nullopt;
  }

  /// Sums, by their offset in the file, all bytes that are no raw dataset's data: headers, attributes, gaps. `left_out`
  /// is not summed where the file holds exactly those bytes at that place.
  virtual PartialSum sum_rest(const std::optional<Passage>& left_out) = 0;
};

/// A file that a Store has made, open to be filled. Bytes are reached by their offset in the file, as its FileRoom
/// gives them. Several threads may use one. Throws io for what the system refuses.
class TargetFile {
 public:
  virtual ~TargetFile() = default;

  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual void read(std::uint64_t offset, std::span<std::byte> out) = 0;
  /// Waits until all that was written is on the storage.
  virtual void sync() = 0;
  /// From here on, reads are answered by the storage, not by what the system keeps in memory.
  virtual void drop_cached() = 0;
  /// FileRoom::metadata again, of what stands in the file: the sum of all that `written_later` does not give.
  virtual PartialSum sum_rest() = 0;
};

/// Files to be read. Only metadata is its business; data is reached by offset.
class SourceStore {
 public:
  virtual ~SourceStore() = default;

  /// What is there by this name, or nothing. Throws io where that cannot be told. By default what the file system says.
  virtual std::optional<FileStatus> look_at(const std::filesystem::path& path);

  /// Whether it reads a file, by its first bytes. Throws input where it is no regular file.
  virtual bool recognises(const std::filesystem::path& file) = 0;

  /// Reads a file's metadata. Throws input for what cannot or must not be read, naming the file and the object. Files
  /// that say the same share a schema, unless too many others were read between them.
  virtual FileCatalog catalog(const std::filesystem::path& file) = 0;

  virtual std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) = 0;

  /// Files may show data of files below this directory, too (Storage::views): otherwise of what lies beside them, or
  /// below, wherever links lead.
  virtual void let_show(const std::filesystem::path& /*directory*/) {}

  /// From here on, datasets that a rule names are read as it says; and for each rule, in the order they were given,
  /// whether one was. By default there are no rules.
  virtual void read_as(NumberRule /*rule*/) {}
  virtual std::vector<bool> uses_of_rules() const { return {}; }

  /// What a file's format says besides the elements of tensors, values that no attribute can hold too, in a form of
  /// that format's own; empty where a schema holds everything. Throws as `catalog`.
  virtual std::string tree(const std::filesystem::path& /*file*/) { return {}; }

  /// The memory in which all open files' chunks are decoded and kept (Dataset::decoding_bytes is the least that any
  /// use of a dataset takes), and what has been decoded in it.
  virtual void set_decoding_memory(std::uint64_t /*bytes*/) {}
  virtual Decoding decoding() const { return {}; }
};

/// A file format, read and written.
class Store : public SourceStore {
 public:
  /// As Schema::format has it.
  virtual std::string_view name() const noexcept = 0;

  /// Throws input, naming the first, for names of datasets, and of groups with attributes, that a file cannot hold, or
  /// that `catalog` would not read back, and for a dataset in the place of such a group.
  virtual void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups) const = 0;

  /// Whether a file holds FileSpec::tree that a file of another format, or of this one, gave.
  virtual bool takes_trees_of(std::string_view /*format*/) const noexcept { return false; }

  /// Whether a file keeps a tree of any other format as a text (kept_tree_text), for one that takes it later.
  virtual bool keeps_trees() const noexcept { return false; }

  /// A tree that a file of another format has kept, as `tree` of a file of its own would have given it. Throws input
  /// for what is none; it may be anything.
  virtual std::string admitted_tree(const std::string& tree) const { return tree; }

  /// The file that says what all others of a directory hold together, and is made last; empty for formats whose files
  /// each tell all of themselves. Where there is one, each array is a box of its tensor, each tensor is stored once,
  /// and attributes, groups and tree are in the first file alone.
  virtual std::string_view index_name() const noexcept { return {}; }
  /// What it says. Throws input for names that are there twice.
  virtual std::string index_text(const std::vector<IndexedFile>& /*files*/) const { return {}; }
  /// Whether a file may be such an index, by its first bytes.
  virtual bool is_index(const std::filesystem::path& /*file*/) const { return false; }

  /// Whether a file can show elements of others of its format (FileSpec::Array::views).
  virtual bool can_show() const noexcept { return false; }

  /// What of a specification such a file would not hold, in words for the user. Throws input for elements that it has
  /// no type for.
  virtual std::vector<std::string> losses(const FileSpec& spec) const = 0;

  /// Which usual reader of such files takes none that has elements of this type; empty: they are taken.
  virtual std::string_view refused_by(const DType& /*dtype*/) const noexcept { return {}; }

  /// The type that such files give a text of any length (StoredArray::verbatim) when they are read again.
  virtual DType text_dtype(const DType& dtype) const { return dtype; }

  /// The bytes that a manifest's text becomes in a file; their number is equal for texts of the same form.
  virtual std::string manifest_bytes(const std::string& text) const { return text; }

  /// Whether a file may have a checksum of all its bytes (FileSpec::has_checksum).
  virtual bool has_checksums() const noexcept { return false; }

  /// Whether the manifest lies behind all data, so that it can hold what is known only when that has been written.
  virtual bool ends_with_manifest() const noexcept { return false; }

  /// The new file that a specification makes, whose bytes are a function of it alone. Throws for what no file can hold.
  /// Threads may call it together.
  virtual std::shared_ptr<const NewFile> form(const FileSpec& spec) = 0;

  /// Makes that file (truncating one that is there), with room for its data. This and what follows are by default done
  /// in the file system.
  virtual FileRoom create(const std::filesystem::path& file, const FileSpec& spec);

  /// The same where a file that an interrupted run has made may be there: then its data stays, if it can, as `is_kept`
  /// tells.
  virtual FileRoom create_again(const std::filesystem::path& file, const FileSpec& spec, bool& is_kept);

  /// Opens a file that either has made, to be filled. `room`, as they gave it, must outlive the result.
  virtual std::unique_ptr<TargetFile> open_to_fill(const std::filesystem::path& file, const FileRoom& room);

  /// Writes the checksum of a file that has everything else; nothing where there is none. Throws io.
  virtual void finish(const std::filesystem::path& /*file*/, const FileRoom& /*room*/) {}
};

}  // namespace ckpt
