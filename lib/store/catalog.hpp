#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rare.hpp"
#include "store/file_extents.hpp"
#include "store/value.hpp"
#include "store/view.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

/// How the bytes of a dataset are reached.
enum class Storage : std::uint8_t {
  empty,     ///< no elements
  raw,       ///< as they are, by offset in the file: in Dataset::extents
  strided,   ///< as they are, but not in row-major order: within Dataset::extents, at Dataset::strides
  filtered,  ///< chunked, compressed, compact or never written: through the format's library
  views,     ///< no more than shown: Dataset::views say of which files; zeros where none does
  verbatim,  ///< StoredArray::verbatim: the value is in the catalog
};

/// An axis of the mesh of cards that a distributed tensor is spread over, as a file of one of them says it.
struct MeshAxis {
  std::string name;  ///< may be empty
  std::uint64_t size = 0;
  std::uint64_t coordinate = 0;    ///< of the card whose file it is
  std::uint64_t split_factor = 0;  ///< not 0: it cuts each of so many equal chunks of the dimension by itself

  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

/// Which piece of a tensor of StoredArray::global_shape a dataset is, where its file says so.
struct Piece {
  Extents corner;                                 ///< where in the tensor it begins
  std::vector<MeshAxis> mesh;                     ///< empty: the file does not say how the pieces came about
  std::vector<std::vector<std::uint64_t>> split;  ///< for each dimension the axes that cut it, evenly by `ceil`, major
                                                  ///< first; others replicate

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// The place and the other properties of a StoredArray's dataset.
struct Dataset {
  Storage storage = Storage::empty;
  FileExtents extents;                ///< for raw: as many bytes as the array has; for strided: from its first element
                                      ///< in the file to the end of its last
  std::vector<Attribute> attributes;  ///< sorted by name, without the project's own
  Rare<Value> verbatim;               ///< the whole value, for verbatim
  std::uint64_t chunk_bytes = 0;      ///< of what is decoded as a whole, for filtered; 0: any part may be read alone
  std::uint64_t decoding_bytes = 0;   ///< the memory that decoding a chunk takes, itself included
  Rare<Extents> strides;              ///< for strided: elements from one index of each dimension to the next
  Rare<Piece> piece;                  ///< of a tensor, as far as the file says
  std::vector<View> views = {};       ///< for views; `file` is an index into Schema::viewed
};

/// A group below the root that carries attributes.
struct Group {
  std::string path;                   ///< without the leading slash
  std::vector<Attribute> attributes;  ///< sorted by name

  friend bool operator==(const Group&, const Group&) = default;
};

/// A value of a file that no attribute can hold: it is known, and written again where the format has trees
/// (SourceStore::tree).
struct Leaf {
  std::string name;          ///< as a dataset's
  std::string what;          ///< in words: "argparse.Namespace"
  std::string json;          ///< it as JSON; empty where it is none
  std::uint64_t digest = 0;  ///< equal for equal values
  bool is_carried = true;    ///< it is not too large for a tree

  friend bool operator==(const Leaf&, const Leaf&) = default;
};

/// The metadata of one file, shared by files whose metadata is equal.
struct Schema {
  std::string format;                   ///< the Store's name
  Holding arrays;                       ///< sorted by name
  std::vector<Dataset> datasets;        ///< parallel to *arrays
  std::vector<Attribute> attributes;    ///< of the root group, sorted by name, without the project's own
  std::vector<Group> groups;            ///< those with attributes, sorted by path
  std::vector<Leaf> leaves;             ///< in the file's order
  bool has_tree = false;                ///< SourceStore::tree gives what is around its arrays
  std::string kept_tree;                ///< root attribute `ckpt_tree`, or empty: the tree of a file of another format
  std::string layout;                   ///< root attribute `ckpt_layout`, or empty
  std::string manifest;                 ///< root attribute `ckpt_manifest`, or empty
  std::vector<ViewedFile> viewed = {};  ///< the files that its datasets show
  /// A checksum of all other bytes, which `open` compares: no fingerprint covers it.
  std::optional<Interval> checksum = std::nullopt;
  /// The names that arrays, of whichever file, have in a tree of dicts, where these are others: by those they have.
  std::map<std::string, std::string> tree_names = {};

  /// Index of the array of this name, or arrays->size().
  std::size_t find(const std::string& name) const;
};

/// Where the elements of a file's raw datasets lie, and its checksum. Datasets may share bytes.
std::vector<Interval> data_intervals(const Schema& schema);

/// One file's metadata, and what tells whether it is still the same file.
struct FileCatalog {
  struct Version {
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
  };
  std::shared_ptr<const Schema> schema;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::vector<Version> viewed = {};  ///< the same of the files that it shows, parallel to Schema::viewed
};

/// The files that a file shows, parallel to Schema::viewed.
std::vector<std::filesystem::path> viewed_paths(const std::filesystem::path& file, const Schema& schema);

/// A catalog as bytes, to send to the other processes. decode throws input on damage.
std::string encode(const FileCatalog& catalog);
FileCatalog decode_catalog(const std::string& bytes);

/// The same for many files at once: a schema that several share (the same object) is sent once.
std::string encode(const std::vector<FileCatalog>& catalogs);
/// All catalogs of all messages, in order. Files whose schemas are equal share one, whichever message they came in.
std::vector<FileCatalog> decode_catalogs(const std::vector<std::string>& messages);

}  // namespace ckpt
