#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// The layout language as its specification tells it, element by element, sharing no code with the library: for each
// card, which element of which tensor lies at each place of each array. Slow and plain on purpose.
namespace model {

using Numbers = std::vector<std::uint64_t>;

/// A name in pieces, so that its counted numbers can change: "layers." 3 ".w".
struct NamePart {
  std::string text;
  int counter = -1;  ///< what the number after the text counts (layers, experts); none: no number follows
  std::uint64_t number = 0;
};

struct Tensor {
  std::vector<NamePart> parts;
  Numbers shape;
  std::uint64_t element_bytes = 1;
};

std::string logical_name(const Tensor& tensor);
std::uint64_t element_count(const Numbers& shape);

struct Mesh {
  std::vector<std::string> axes;
  Numbers shape;
  Numbers cards;  ///< empty: 0..N-1
};

std::uint64_t positions(const Mesh& mesh);
Numbers coordinates(const Mesh& mesh, std::uint64_t position);

enum class Uneven { exact, ceil, balanced };

struct Parts {
  std::size_t dim = 0;
  Numbers sizes;
  std::uint64_t count = 0;  ///< used where sizes is empty
};
struct Pad {
  std::uint64_t size = 0;
  std::uint64_t multiple_of = 1;
  bool edge = false;
};
struct Flat {
  std::size_t axis = 0;
  std::uint64_t multiple_of = 1;
};
using At = std::map<std::size_t, Numbers>;

/// A box: first and end in each dimension.
using Sides = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

struct Keys {
  std::vector<std::vector<std::size_t>> split;  ///< axes of each dimension, major first
  Uneven uneven = Uneven::exact;
  std::map<std::size_t, Numbers> sizes;
  std::optional<Parts> parts;
  std::map<std::size_t, Pad> pad;
  std::optional<Flat> flat;
  std::vector<std::size_t> permute;  ///< empty: none
  At at;
  std::map<std::uint64_t, Sides> boxes;  ///< by position, in the place of all that cuts; empty: not given
  bool gives_shape = false;
  bool first_replica = false;

  bool is_plain() const {
    return split.empty() && sizes.empty() && !parts && pad.empty() && !flat && permute.empty() && at.empty() &&
           boxes.empty() && !gives_shape && !first_replica;
  }
};

struct Index {
  int counter = 0;
  std::size_t axis = 0;
  std::uint64_t total = 0;
  bool is_local = false;
  Numbers counts;  ///< empty: equal blocks
  std::uint64_t chunks = 1;
  std::uint64_t first = 0;  ///< what local numbers begin with
};

struct Member {
  std::size_t tensor = 0;
  Keys keys;
  std::optional<std::size_t> like;  ///< a tensor of the same shape and keys, from which the text borrows them
};
struct Bucket {
  std::string name;  ///< after reading's rename
  std::size_t axis = 0;
  std::uint64_t align = 1;
  std::uint64_t multiple_of = 1;
  std::uint64_t multiple_of_each = 1;
  bool last_is_short = false;
  bool is_flat = false;  ///< all members have `flat`
  At at;
  std::vector<Member> members;
};

/// stored = stored_prefix + x + stored_suffix ↔ name = name_prefix + x + name_suffix.
struct Rename {
  std::string stored_prefix;
  std::string stored_suffix;
  std::string name_prefix;
  std::string name_suffix;
};

struct Layout {
  Mesh mesh;
  std::string files = "rank_{card}.h5";
  std::vector<std::optional<Keys>> keys;  ///< for each tensor; nothing: a bucket's member
  std::vector<Index> indices;
  std::vector<Bucket> buckets;
  std::vector<Rename> rename;
};

/// The global indices that each coordinate of an index's axis holds, in local order.
std::vector<Numbers> blocks(const Mesh& mesh, const Index& index);

/// Whether the coordinates are among those that `at` names.
bool is_at(const At& at, const Numbers& coordinates);
/// Whether a rule leaves something of a tensor, be it empty, on the card with these coordinates.
bool is_held(const Keys& keys, const Mesh& mesh, const Numbers& coordinates);

/// A tensor's name in the file of a card with these coordinates; nothing where its indices put it elsewhere.
std::optional<std::string> stored_name(const Layout& layout, const Tensor& tensor, const Numbers& coordinates);

std::string written_name(const std::vector<Rename>& rename, const std::string& name);
std::string read_name(const std::vector<Rename>& rename, const std::string& stored);

/// What lies at one place of an array: an element of a tensor, or nothing (padding).
struct Cell {
  std::int32_t tensor = -1;
  std::uint32_t index = 0;  ///< row-major in the tensor
  bool is_fill = false;     ///< the last element repeated beyond the end: written so, never read

  friend bool operator==(const Cell&, const Cell&) = default;
};
struct Array {
  Numbers shape;
  std::uint64_t element_bytes = 1;
  std::vector<Cell> cells;  ///< row-major
};
using Card = std::map<std::string, Array>;  ///< by stored name

/// What `split`, `permute` and (not for a bucket's member) `flat` leave of a tensor at these coordinates.
Array piece(const Layout& layout, const Tensor& tensor, std::size_t number, const Keys& keys,
            const Numbers& coordinates);

/// What each position's card stores. Throws std::logic_error where the layout is not legal: the generator's mistake.
std::vector<Card> spread(const Layout& layout, const std::vector<Tensor>& tensors);

/// The indices, of n, that piece j of k holds.
std::vector<std::uint64_t> share(const std::vector<std::uint64_t>& indices, std::uint64_t k, std::uint64_t j,
                                 Uneven uneven);

}  // namespace model
