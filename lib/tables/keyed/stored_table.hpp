#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/file_cache.hpp"
#include "layout/placement/placement.hpp"
#include "layout/tables/row_groups.hpp"
#include "processes/communicator.hpp"
#include "tables/keyed/row_sums.hpp"

namespace ckpt {

/// A dataset of a table: one row, or key, after another.
struct TablePart {
  std::string name;  ///< as stored, with its file's prefix
  ParameterId parameter = 0;
  DType dtype;
  std::uint64_t row_elements = 1;
  RowSums sums;

  std::uint64_t row_bytes() const noexcept { return row_elements * dtype.size; }
};

/// A table in the files of a checkpoint: the server of a row is the card's place in the mesh.
struct StoredTable {
  std::string name;
  std::size_t entry = 0;            ///< index into Layout::tables
  std::string deletes;              ///< the table from which these keys are deleted; empty: they have rows
  std::vector<TablePart> parts;     ///< the keys first, then the datasets with a row for each key
  std::vector<std::uint64_t> rows;  ///< on each server
  std::optional<KeyPlace> place;    ///< nothing: any key may be on any server
  struct Shards {
    RowGroups groups;
    TablePart part;                                   ///< the dataset with the start of each shard on each server, and
                                                      ///< the end
    std::vector<std::vector<std::uint64_t>> offsets;  ///< the same values by server, once read (`read_offsets`)
  };
  std::optional<Shards> shards;  ///< set if the rows are grouped by shard
  struct Column {
    std::size_t part = 0;
    std::uint64_t number = 0;
  };
  std::map<std::string, Column> fields;  ///< the fields of the layout that the parts have

  const TablePart& keys() const noexcept { return parts.front(); }
  std::uint64_t total_rows() const;
  std::uint64_t row_bytes() const;  ///< of all parts
  /// Returns whether equal keys can only lie on the same server.
  bool keeps_keys_together() const { return place && place->field().empty(); }
  /// Returns a key according to its dtype: i64 with its sign.
  std::string key_text(std::uint64_t key) const;
};

/// Returns the tables among the parameters of a placement that are taken, sorted by name. Throws input if a table has
/// rows but not its keys, or lacks the field that determines its place.
std::vector<StoredTable> stored_tables(
    const Placement& placement, const std::function<bool(ParameterId)>& is_taken = [](ParameterId) { return true; });

/// Returns the columns of a table's datasets that an entry of "tables" names. `is_tail`: from shares_entry; datasets of
/// another width have other columns then.
std::map<std::string, StoredTable::Column> columns_of(const KeyedTable& entry, const StoredTable& table, bool is_tail);

/// Returns "column 3 is \"show\", and \"click\"": the first column to which both give different names; empty: there is
/// none.
std::string other_names(const std::map<std::string, StoredTable::Column>& one,
                        const std::map<std::string, StoredTable::Column>& other);

/// Throws input if a table lacks the field that `place` uses, or if that field is not of integers.
void check_field(const StoredTable& table, const KeyPlace& place, const std::string& origin);

/// Reads the rows of a checkpoint's tables. Threads may share a reader.
class TableReader {
 public:
  /// `most_open`: how many files may be open (`files_in_cache`).
  TableReader(const Checkpoint& checkpoint, SourceStore& store, std::size_t most_open);

  /// Reads rows of a part on a server, as many as fit into `out`.
  void read(const TablePart& part, Position server, std::uint64_t first, std::span<std::byte> out);
  /// Reads keys on a server.
  void read_keys(const StoredTable& table, Position server, std::uint64_t first, std::span<std::uint64_t> out);
  /// Returns the values to which `place` is applied, for rows with known keys: the keys, or a field.
  void read_placed(const StoredTable& table, const KeyPlace& place, Position server, std::uint64_t first,
                   std::span<const std::uint64_t> keys, std::vector<std::uint64_t>& out);
  /// Reads where the shards of a table begin, if it has any. Throws input if the values are not in order, or do not end
  /// with the rows. Collective: each process reads some, and all get all.
  void read_offsets(StoredTable& table, Communicator& processes);
  /// Returns "server_2.h5: /embedding/keys".
  std::string describe(const TablePart& part, Position server) const;
  const Checkpoint& checkpoint() const noexcept { return checkpoint_; }

 private:
  void check_offsets(const StoredTable& table, Position server, const std::vector<std::uint64_t>& offsets) const;

  const Checkpoint& checkpoint_;
  FileCache<SourceFile> files_;
};

/// Readers of several checkpoints, which share the limit on open files.
class TableReaders {
 public:
  TableReaders(const std::vector<const Checkpoint*>& checkpoints, SourceStore& store, std::size_t most_open);

  std::size_t count() const noexcept { return readers_.size(); }
  TableReader& operator[](std::size_t at) { return readers_[at]; }
  std::vector<TableReader*> all();

 private:
  std::deque<TableReader> readers_;
};

}  // namespace ckpt
