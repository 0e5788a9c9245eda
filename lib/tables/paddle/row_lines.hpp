#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tables/paddle/line_move.hpp"
#include "tables/paddle/row_print.hpp"

namespace ckpt {

/// Rows of a table that are held in memory, for lookup by key.
struct HeldRows {
  std::vector<std::uint64_t> keys;
  std::vector<float> values;
  std::vector<std::pair<std::uint64_t, std::size_t>> by_key;  ///< key and row, ascending (`index`)

  /// Returns the memory for one row.
  static std::uint64_t bytes(std::uint64_t columns) noexcept {
    return sizeof(keys[0]) + columns * sizeof(values[0]) + sizeof(by_key[0]) + 1;
  }
  void index();
  std::optional<std::size_t> find(std::uint64_t key) const;
};

/// The tails of rows that are printed. Threads may share an object for rows of different keys.
class RowTails {
 public:
  explicit RowTails(const RowPrint& print) : print_(print) {}

  /// Holds the tails of this dimension, for the rows of some shards.
  void hold(std::uint64_t dims, HeldRows rows);
  /// Appends a row's tail to its numbers. Throws input if the row contains another dimension.
  void append(std::uint64_t key, std::vector<float>& numbers);
  /// Throws input if a tail belongs to no row. All rows of its shards must have been printed.
  void check_all_taken() const;

 private:
  struct OfDims {
    std::uint64_t dims = 0;
    HeldRows rows;
    std::vector<char> is_taken;
  };

  const RowPrint& print_;
  std::vector<OfDims> held_;
};

/// Converts rows to lines, on one thread.
class RowLines {
 public:
  RowLines(const RowPrint& print, RowTails& tails) : print_(print), tails_(tails) {}

  /// Appends the line of a row of the table, including its tail.
  void append(std::string& text, std::uint64_t key, const float* row);

 private:
  const RowPrint& print_;
  RowTails& tails_;
  std::vector<float> numbers_;
};

/// The file of a shard while its lines are printed.
class PrintedShard {
 public:
  PrintedShard(const RowPrint& print, std::uint64_t shard, std::size_t buffer_bytes);

  void append(std::string_view lines);
  /// Throws io if the lines written differ from those that were appended.
  MovedShard finish(bool fsync, Traffic& traffic);

 private:
  MovedShard made_;
  std::filesystem::path file_;
  std::unique_ptr<TextOutput> out_;  // null: lines are only counted
};

}  // namespace ckpt
