#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layout/card_files.hpp"
#include "layout/keyed_table.hpp"
#include "layout/mesh.hpp"
#include "layout/pattern.hpp"
#include "layout/uneven.hpp"
#include "tensor/box.hpp"

namespace ckpt {

enum class Fill { zero, edge };
enum class Replicas { check, first };
enum class Default { error, replicate };
enum class Numbering { local, global };

/// Axes are held by their index in the mesh.
using Axis = std::size_t;

/// `parts`: a fused dimension. Exactly one of `sizes` and `count` is given.
struct Parts {
  std::size_t dim = 0;
  std::vector<std::uint64_t> sizes;
  std::uint64_t count = 0;
};

struct Pad {
  std::uint64_t size = 0;
  std::uint64_t multiple_of = 1;
  Fill fill = Fill::zero;
};

struct Flat {
  Axis axis = 0;
  std::uint64_t multiple_of = 1;

  friend auto operator<=>(const Flat&, const Flat&) = default;
};

/// `at`: for each axis named, the coordinates that hold the parameter, ascending and distinct.
using At = std::map<Axis, std::vector<std::uint64_t>>;

/// `boxes`: what each card holds of the logical tensor, by card id.
using Boxes = std::map<std::uint64_t, Box>;

/// The keys that say what a card stores of a tensor. A key that is absent is nullopt, so that a rule can override a
/// borrowed one.
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
  /// For the axes of `at` on which "last" stands, which follows the mesh: the numbers that stand beside it.
  At at_last;
  std::shared_ptr<const Boxes> boxes;  ///< in the place of all others but shape, permute and replicas; null: not given
  /// Into how many equal pieces each dimension is divided that boxes count, so that they are for any shape; 0 in a
  /// dimension, or nothing at all: boxes count elements.
  std::optional<std::vector<std::uint64_t>> grid;
  std::optional<Replicas> replicas;

  /// Takes the keys that `over` gives, and keeps its own where it gives none.
  void override_with(const Keys& over);
};

struct Rule {
  std::vector<Pattern> names;
  Keys keys;
  std::optional<Pattern> like;    ///< the logical name whose rule is borrowed; its captures are those of every name
  std::optional<Pattern> equals;  ///< the logical name of the parameter whose values it has, with captures as `like`
};

struct Rename {
  Pattern stored;  ///< of names as they are alike on all cards (CardNames)
  Pattern name;
  std::string of_card = {};  ///< where coordinates of the card stand in `stored`: it as the layout has it
};

struct IndexRule {
  Pattern in;              ///< has the capture {i}, which matches digits only, and with `restart` {chunk}, too
  std::vector<Axis> axes;  ///< major first
  std::optional<std::uint64_t> total;  ///< nothing: the names tell; the sum of `counts`
  Numbering numbering = Numbering::global;
  std::vector<std::uint64_t> counts;  ///< uneven blocks, one for each coordinate; empty: equal ones
  std::uint64_t virtual_chunks = 1;
  std::uint64_t first = 0;  ///< what stored local indices begin with
  bool restart = false;     ///< they begin anew in each virtual chunk, whose number is {chunk}; logically it is 0
};

struct BucketMember {
  std::string name;
  std::optional<std::string> like;  ///< the parameter whose shape and keys it borrows
  Keys keys;                        ///< split, uneven, sizes, parts, pad, flat, shape, permute only
};

/// `name` as a list gives several of these, and `members` as an object the list that it stands for.
struct Bucket {
  std::string name;  ///< of the stored array, after `rename`
  Axis axis = 0;
  std::uint64_t align = 1;
  std::uint64_t multiple_of = 1;
  std::uint64_t multiple_of_each = 1;  ///< the end is padded to a multiple of this and the axis size, too
  bool last_is_short = false;          ///< the padding is not stored: the last pieces are short
  std::optional<At> at;
  At at_last;  ///< as in Keys
  std::vector<BucketMember> members;
};

/// A layout file, version 1, as parsed: well formed by itself (axes exist, sizes are positive, no file is shared), not
/// yet checked against a checkpoint.
struct Layout {
  std::string origin;  ///< what messages call it: the file's name, "the layout that out carries"
  Mesh mesh;
  CardFiles files;
  std::vector<Rule> parameters;
  Default otherwise = Default::error;
  std::vector<Rename> rename;
  std::vector<IndexRule> indices;
  std::vector<Bucket> buckets;
  bool is_plan = false;  ///< what a compiler planned (a strategy): files may hold whole tensors in spite of it
  std::vector<KeyedTable> tables;
  /// The datasets of the tables that were found, each cut by the rows that the servers have: not said by the JSON but
  /// by files, or by a census of keys (`with_table_rows`).
  std::map<std::string, Keys> table_arrays;
  std::set<std::string> table_offsets;  ///< those of them that say where shards begin
};

/// Parses layout JSON strictly. Throws layout, naming origin, JSON pointer, what was found and what is allowed.
Layout parse_layout(const std::string& json_text, const std::string& origin);

/// The layout as canonical JSON text: parse_layout gives it back; keys in the spec's order; the same layout gives the
/// same text.
std::string to_json(const Layout& layout);

/// The layout of a single file that holds everything whole (`ckpt-merge`'s output).
Layout single_card();

/// The same rules on another mesh, to be written: axes not named keep their size, `cards` go back to 0..N-1, names in
/// which coordinates stand are left out (with_plain_names). Throws usage for an unknown axis.
Layout on_mesh(const Layout& layout, const std::map<std::string, std::uint64_t>& sizes, const std::string& origin);

}  // namespace ckpt
