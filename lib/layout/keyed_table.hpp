#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "layout/pattern.hpp"
#include "layout/uneven.hpp"
#include "paddle_text/accessor.hpp"

namespace ckpt {

/// How the next `mod` takes keys of 2^63 and above: as they are, or as negative numbers whose remainder is rounded down
/// (Python, numpy) or towards zero (C).
enum class Signedness { none, floor, truncate };
enum class KeyHash { splitmix64, murmur3_fmix64 };
/// How rows lie on a server: as in the source, or grouped by the shard that the steps before the last give their keys.
enum class RowOrder { source, shard };

/// The steps from a key to a server (layout-spec: `place`), each from the value that the step before it gave.
namespace place_step {
struct Mod {
  std::uint64_t by = 0;  ///< 0: the number of servers
};
struct Blocks {
  Uneven uneven = Uneven::exact;
};
struct Rows {
  std::uint64_t count = 0;
};
struct AsSigned {
  Signedness how = Signedness::none;
};
struct Mask {
  std::uint64_t bits = 0;
};
struct Field {
  std::string name;
};
struct Hash {
  KeyHash function = KeyHash::splitmix64;
};
}  // namespace place_step
using PlaceStep = std::variant<place_step::Mod, place_step::Blocks, place_step::Rows, place_step::AsSigned,
                               place_step::Mask, place_step::Field, place_step::Hash>;

/// Where a table is Paddle's text (layout-spec: `format`): a file for each shard, by the server that has it.
struct PaddleText {
  std::string directory;  ///< of its files, in the checkpoint's: "000"
  bool is_gzip = false;   ///< how it is written; of what is read, the files' names tell
  Accessor accessor;
  std::uint64_t shards = 1;  ///< shard_num
};

/// Tables whose rows lie on the server that their keys say (layout-spec: `tables`).
struct KeyedTable {
  Pattern name;
  std::string keys;                             ///< the dataset of the keys, with {name} for the table's name
  std::vector<std::string> rows;                ///< patterns of the datasets that have a row for each key, likewise
  std::size_t axis = 0;                         ///< of the mesh: the servers
  std::optional<std::vector<PlaceStep>> place;  ///< nothing: any key may lie on any server
  RowOrder order = RowOrder::source;
  std::string offsets;  ///< order `shard`: the dataset of where a server's shards begin, with {name}; else empty
  std::string deleted;  ///< the dataset of keys that older layers have no more, with {name}; empty: none
  std::map<std::string, std::vector<std::string>> fields;  ///< the columns of a dataset, by its name with {name}
  std::optional<PaddleText> text;  ///< nothing: the datasets are as `keys`, `rows` and `fields` say in the files
  /// What was text is read so: by shard, in the files of the first positions of the whole mesh, whatever `axis`.
  struct Shards {
    std::uint64_t count = 1;
    std::uint64_t servers = 1;  ///< that have them, in blocks (`ceil`)
  };
  std::optional<Shards> by_shard;
  std::map<std::string, std::string>
      filters;  ///< conditions of fields (RowCondition), by the word that stands for each
};

}  // namespace ckpt
