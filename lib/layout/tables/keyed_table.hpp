#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/shared.hpp"
#include "layout/language/uneven.hpp"
#include "layout/names/pattern.hpp"

namespace ckpt {

/// How the next `mod` treats keys of 2^63 and above: as they are, or as negative numbers, with a remainder that is
/// rounded down (Python, numpy) or towards zero (C).
enum class Signedness { none, floor, truncate };
enum class KeyHash { splitmix64, murmur3_fmix64 };
/// The order of rows on a server: as in the source, or grouped by shard, which the steps before the last compute from
/// the keys.
enum class RowOrder { source, shard };

/// The steps from a key to a server (layout-spec: `place`); each takes the value of the step before it.
namespace place_step {
struct Mod {
  std::uint64_t by = 0;  ///< 0: the number of servers
  friend bool operator==(const Mod&, const Mod&) = default;
};
struct Blocks {
  Uneven uneven = Uneven::exact;
  friend bool operator==(const Blocks&, const Blocks&) = default;
};
struct Rows {
  std::uint64_t count = 0;
  friend bool operator==(const Rows&, const Rows&) = default;
};
struct AsSigned {
  Signedness how = Signedness::none;
  friend bool operator==(const AsSigned&, const AsSigned&) = default;
};
struct Mask {
  std::uint64_t bits = 0;
  friend bool operator==(const Mask&, const Mask&) = default;
};
struct Field {
  std::string name;
  friend bool operator==(const Field&, const Field&) = default;
};
struct Hash {
  KeyHash function = KeyHash::splitmix64;
  friend bool operator==(const Hash&, const Hash&) = default;
};
}  // namespace place_step
using PlaceStep = std::variant<place_step::Mod, place_step::Blocks, place_step::Rows, place_step::AsSigned,
                               place_step::Mask, place_step::Field, place_step::Hash>;

struct PaddleText;  // in paddle_tables.hpp

/// Tables whose keys determine the servers of their rows (layout-spec: `tables`).
struct KeyedTable {
  Pattern name;
  std::string keys;                             ///< the dataset of the keys, with {name} for the table's name
  std::vector<std::string> rows;                ///< patterns of the datasets with a row for each key, with {name}
  std::size_t axis = 0;                         ///< the axis of the mesh that numbers the servers
  std::optional<std::vector<PlaceStep>> place;  ///< nothing: any key may lie on any server
  RowOrder order = RowOrder::source;
  std::string offsets;  ///< order `shard`: the dataset with the start of each of a server's shards, with {name}; else
                        ///< empty
  std::string deleted;  ///< the dataset of keys to delete from older layers, with {name}; empty: none
  std::map<std::string, std::vector<std::string>> fields;  ///< the columns of a dataset, by the dataset's name with
                                                           ///< {name}
  Shared<PaddleText> text;  ///< nothing: the files have datasets as in `keys`, `rows` and `fields`
  /// How a table from text is read: by shard, in the files of the first positions of the whole mesh, regardless of
  /// `axis`.
  struct Shards {
    std::uint64_t count = 1;
    std::uint64_t servers = 1;  ///< number of servers that have them, in blocks (`ceil`)
    friend bool operator==(const Shards&, const Shards&) = default;
  };
  std::optional<Shards> by_shard;
  std::map<std::string, std::string>
      filters;  ///< conditions of fields (RowCondition), by the word that stands for each

  bool operator==(const KeyedTable& other) const;
};

}  // namespace ckpt
