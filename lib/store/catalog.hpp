#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/boxed_optional.hpp"
#include "io/file_extents.hpp"
#include "store/long_texts.hpp"
#include "store/value.hpp"
#include "store/view.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

/// How to read the bytes of a dataset.
enum class Storage : std::uint8_t {
  empty,     ///< it has no elements
  raw,       ///< bytes as they are, by offset in the file: Dataset::extents
  strided,   ///< bytes as they are, but not in row-major order: within Dataset::extents, at Dataset::strides
  filtered,  ///< chunked, compressed, compact or never written: through the format's library
  views,     ///< elements that only other files store: Dataset::views says which; zeros where no view is
  verbatim,  ///< StoredArray::verbatim: the catalog holds the value, or says where its texts are
};

constexpr Storage last_of(Storage) {
  return Storage::verbatim;
}

/// An axis of the mesh of cards over which a distributed tensor is spread, as one card's file describes it.
struct MeshAxis {
  std::string name;  ///< may be empty
  std::uint64_t size = 0;
  std::uint64_t coordinate = 0;    ///< the coordinate of the card whose file this is
  std::uint64_t split_factor = 0;  ///< if not 0: the dimension consists of this many equal chunks, and the axis
                                   ///< cuts each of them separately

  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

/// Which piece of a tensor of StoredArray::global_shape a dataset is, if its file says so.
struct Piece {
  Shape origin;                                   ///< where the piece begins in the tensor
  std::vector<MeshAxis> mesh;                     ///< empty: the file does not say how the pieces were made
  std::vector<std::vector<std::uint64_t>> split;  ///< for each dimension, the axes that cut it, evenly by `ceil`, major
                                                  ///< first; all other axes replicate

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// The place and other properties of a StoredArray's dataset.
struct Dataset {
  Storage storage = Storage::empty;
  FileExtents extents;                ///< for raw: as many bytes as the array has; for strided: from its first element
                                      ///< in the file to the end of its last
  std::vector<Attribute> attributes;  ///< sorted by name, without ckpt-reshard's own
  BoxedOptional<Value> verbatim;      ///< the whole value, for verbatim, unless there are:
  BoxedOptional<LongTexts> texts = {};
  std::uint64_t chunk_bytes = 0;     ///< for filtered: bytes that are decoded as a unit; 0: any part can be read alone
  std::uint64_t decoding_bytes = 0;  ///< memory that decoding a chunk takes, including the chunk
  BoxedOptional<Shape> strides;      ///< for strided: elements from one index of each dimension to the next
  BoxedOptional<Piece> piece;        ///< the piece of a tensor that it is, as far as the file says
  std::vector<View> views = {};      ///< for views; `file` is an index into Schema::viewed
  /// CRC-32C of its bytes, if the format has one elsewhere than in the file; SourceFile::check compares it.
  std::optional<std::uint32_t> crc32c = std::nullopt;
  BoxedOptional<Shape> chunk = {};    ///< the shape of its chunks, which may extend beyond its end
  std::uint64_t bytes_elsewhere = 0;  ///< what its elements take in files that this one stands for
};

/// A group below the root that carries attributes.
struct Group {
  std::string path;                   ///< without the leading slash
  std::vector<Attribute> attributes;  ///< sorted by name

  friend bool operator==(const Group&, const Group&) = default;
};

/// A value of a file that no attribute can hold. The catalog lists it, and it is written again if the format has trees
/// (SourceStore::tree).
struct Leaf {
  std::string name;          ///< like a dataset's name
  std::string what;          ///< what it is, in words: "argparse.Namespace"
  std::string json;          ///< the value as JSON; empty if JSON cannot express it
  std::uint64_t digest = 0;  ///< equal for equal values
  bool is_carried = true;    ///< small enough for a tree

  friend bool operator==(const Leaf&, const Leaf&) = default;
};

/// The metadata of one file, shared by files whose metadata is equal.
struct Schema {
  std::string format;                   ///< the Store's name
  CardArrays arrays;                    ///< sorted by name
  std::vector<Dataset> datasets;        ///< parallel to *arrays
  std::vector<Attribute> attributes;    ///< of the root group, sorted by name, without ckpt-reshard's own
  std::vector<Group> groups;            ///< those with attributes, sorted by path
  std::vector<Leaf> leaves;             ///< in the file's order
  bool has_tree = false;                ///< SourceStore::tree gives everything around its arrays
  std::string kept_tree;                ///< root attribute `ckpt_tree`, or empty: the tree of a file in another format
  std::string layout;                   ///< root attribute `ckpt_layout`, or empty
  std::string manifest;                 ///< root attribute `ckpt_manifest`, or empty
  std::vector<ViewedFile> viewed = {};  ///< the files whose elements its datasets show
  /// The place of the checksum of all other bytes. `open` compares it; no fingerprint covers it.
  std::optional<Interval> checksum = std::nullopt;
  /// Array name → name in a tree of dicts, for the arrays of any file whose tree name differs.
  std::map<std::string, std::string> tree_names = {};

  bool is_consistent() const noexcept;
  /// Returns the index of the array of this name, or arrays->size().
  std::size_t find(const std::string& name) const;
};

/// Returns the sum of a verbatim dataset's value, wherever it is.
PartialSum sum_of_value(const Dataset& dataset);

/// Returns the places in the file of all raw datasets' elements and of the checksum. Datasets may share bytes.
std::vector<Interval> data_intervals(const Schema& schema);

/// One file's metadata, and the versions that tell whether it and the files that it shows are unchanged.
struct FileCatalog {
  struct Version {
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
  };
  std::shared_ptr<const Schema> schema;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::vector<Version> viewed = {};  ///< versions of the files that it shows, parallel to Schema::viewed
};

/// Returns the paths of the files whose elements `file` shows, parallel to Schema::viewed.
std::vector<std::filesystem::path> viewed_paths(const std::filesystem::path& file, const Schema& schema);

/// Serializes a catalog, to send it to other processes. decode_catalog throws input if the bytes are damaged.
std::string encode(const FileCatalog& catalog);
FileCatalog decode_catalog(const std::string& bytes);

/// Serializes many catalogs: a schema that several of them share (the same object) is sent once.
std::string encode(const std::vector<FileCatalog>& catalogs);
/// Returns the catalogs of all messages, in order. Files with equal schemas share one, even across messages.
std::vector<FileCatalog> decode_catalogs(const std::vector<std::string>& messages);

}  // namespace ckpt
