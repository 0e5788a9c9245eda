#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/shared.hpp"
#include "layout/language/mesh.hpp"
#include "layout/language/uneven.hpp"
#include "layout/names/card_files.hpp"
#include "layout/names/pattern.hpp"
#include "layout/tables/keyed_table.hpp"
#include "tensor/box.hpp"

namespace ckpt {

enum class Fill { zero, edge };
enum class Replicas { check, first };
enum class Default { error, replicate };
enum class Numbering { local, global };

/// An axis is its index in the mesh.
using Axis = std::size_t;

/// The key `parts`: a fused dimension. Exactly one of `sizes` and `count` is given.
struct Parts {
  std::size_t dim = 0;
  std::vector<std::uint64_t> sizes;
  std::uint64_t count = 0;

  friend bool operator==(const Parts&, const Parts&) = default;
};

/// The key `pad`, for one dimension: its logical size, and what its stored length is a multiple of.
struct Pad {
  std::uint64_t size = 0;
  std::uint64_t multiple_of = 1;
  Fill fill = Fill::zero;

  friend bool operator==(const Pad&, const Pad&) = default;
};

/// The key `flat`: what `split` leaves is cut over an axis as one flat run, padded to a multiple.
struct Flat {
  Axis axis = 0;
  std::uint64_t multiple_of = 1;

  friend auto operator<=>(const Flat&, const Flat&) = default;
};

/// The key `at`: for each axis named, the coordinates that hold the parameter, ascending and distinct.
using At = std::map<Axis, std::vector<std::uint64_t>>;

/// The key `boxes`: what each card holds of the logical tensor, by card id.
using Boxes = std::map<std::uint64_t, Box>;

/// The keys that say what a card stores of a tensor. An absent key is nullopt, so that a rule can override a borrowed
/// one.
struct Keys {
  std::optional<std::vector<std::vector<Axis>>> split;  ///< for each dimension its axes, major first; empty: not split
  std::optional<Uneven> uneven;
  std::optional<std::map<std::size_t, std::vector<std::uint64_t>>> sizes;
  std::optional<Parts> parts;
  std::optional<std::map<std::size_t, Pad>> pad;
  std::optional<Flat> flat;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::size_t>> permute;  ///< stored dimension i is logical dimension permute[i]
  std::optional<At> at;
  /// For the axes of `at` with "last", which depends on the mesh: the numbers that are given beside it.
  At at_last;
  Shared<Boxes> boxes;  ///< replaces all keys but pad, shape, permute and replicas
  /// The number of equal pieces of each dimension that boxes count, which makes them fit any shape; 0 for a dimension,
  /// or no grid at all: boxes count elements.
  std::optional<std::vector<std::uint64_t>> grid;
  std::optional<Replicas> replicas;

  /// Takes the keys of `over`, and keeps its own where `over` has none. If `over` has boxes, its own keys that cut are
  /// dropped, and `at`.
  void override_with(const Keys& over);
  /// Returns the keys that remain where nothing cuts the tensor: its shape, where it lives, and how replicas count.
  Keys without_cuts() const;
  /// Returns the keys without those that say only the default. Two rules that borrow nothing mean the same if these are
  /// equal.
  Keys plain() const;

  friend bool operator==(const Keys&, const Keys&) = default;
};

/// An entry of the key `parameters`: the names that it is for, and what cards store of them.
struct Rule {
  std::vector<Pattern> names;
  Keys keys;
  std::optional<Pattern> like;    ///< the logical name whose rule is borrowed; its captures occur in every name
  std::optional<Pattern> equals;  ///< the logical name of the parameter that it equals, with captures as in `like`

  friend bool operator==(const Rule&, const Rule&) = default;
};

/// An entry of the key `rename`: the logical names of stored ones.
struct Rename {
  Pattern stored;  ///< common names, the same on all cards (CardNames)
  Pattern name;
  std::string of_card = {};  ///< if `stored` contains coordinates of the card: its text in the layout

  friend bool operator==(const Rename&, const Rename&) = default;
};

/// An entry of the key `indices`: how the number {i} in stored names counts over the cards of some axes.
struct IndexRule {
  Pattern in;              ///< contains the capture {i}, which matches only digits, and with `restart` also {chunk}
  std::vector<Axis> axes;  ///< major first
  std::optional<std::uint64_t> total;  ///< nothing: taken from the names; with `counts`, their sum
  Numbering numbering = Numbering::global;
  std::vector<std::uint64_t> counts;  ///< uneven blocks, one for each coordinate; empty: equal blocks
  std::uint64_t virtual_chunks = 1;
  std::uint64_t first = 0;  ///< the first stored local index
  bool restart = false;     ///< they restart in each virtual chunk, whose number is {chunk}; logically it is 0

  friend bool operator==(const IndexRule&, const IndexRule&) = default;
};

struct BucketMember {
  std::string name;
  std::optional<std::string> like;  ///< the parameter whose shape and keys it borrows
  Keys keys;                        ///< only split, uneven, sizes, parts, pad, flat, shape, permute

  friend bool operator==(const BucketMember&, const BucketMember&) = default;
};

/// One bucket. In JSON, `name` may be a list, which gives several of these, and `members` an object, which stands for a
/// list.
struct Bucket {
  std::string name;  ///< name of the stored array, after `rename`
  Axis axis = 0;
  std::uint64_t align = 1;
  std::uint64_t multiple_of = 1;
  std::uint64_t multiple_of_each = 1;  ///< the end is also padded to a multiple of this and of the axis size
  bool last_is_short = false;          ///< padding is not stored: the last pieces are short
  std::optional<At> at;
  At at_last;  ///< see Keys
  std::vector<BucketMember> members;

  friend bool operator==(const Bucket&, const Bucket&) = default;
};

/// A layout file, version 1, as parsed: consistent in itself (axes exist, sizes are positive, no file is shared), but
/// not yet checked against a checkpoint.
struct Layout {
  std::string origin;  ///< its name in messages: the file's name, "the layout that out carries"
  Mesh mesh;
  CardFiles files;
  std::string names = {};  ///< the map of names and the side of it that these are: "llama.megatron"; empty: not said
  std::vector<Rule> parameters;
  Default default_rule = Default::error;
  std::vector<Rename> rename;
  std::vector<IndexRule> indices;
  std::vector<Bucket> buckets;
  bool is_plan = false;           ///< a compiler's plan (a strategy): files may hold whole tensors nevertheless
  bool is_on_other_mesh = false;  ///< made by `on_mesh`, for a job with options for what its rules do not say
  std::vector<KeyedTable> tables;
  /// The datasets of the tables that were found, each cut by the rows of the servers: not from the JSON but from files,
  /// or from a census of keys (`with_table_rows`).
  std::map<std::string, Keys> table_arrays;
  std::set<std::string> table_offsets;  ///< the datasets among them that hold the starts of shards

  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Parses layout JSON strictly. Throws layout, naming origin, JSON pointer, what was found and what is allowed.
Layout parse_layout(const std::string& json_text, const std::string& origin);

/// Returns the layout as canonical JSON text, with keys in the spec's order. parse_layout restores all but what files
/// said beside it: FileEntry::names, is_plan, is_on_other_mesh, table_arrays and table_offsets, KeyedTable::by_shard.
std::string to_json(const Layout& layout);

/// Returns the layout after all checks of the parser: what parse_layout makes of its text. Throws as parse_layout.
Layout checked(const Layout& layout);

/// Returns the layout, checked, on a mesh that has the axes that its keys name, wherever they stand in it.
Layout with_axes(const Layout& layout, const Mesh& mesh);

/// Returns the JSON schema of the language, as layouts/schema.json has it.
std::string layout_schema();

/// Returns the layout of a single file that holds everything whole (`ckpt-merge`'s output).
Layout single_card();

/// Returns the same rules on another mesh, for writing: axes that are not named keep their size, `cards` return to
/// 0..N-1, and names that contain coordinates are dropped (with_plain_names). Throws usage for an unknown axis.
Layout on_mesh(const Layout& layout, const std::map<std::string, std::uint64_t>& sizes, const std::string& origin);

}  // namespace ckpt
