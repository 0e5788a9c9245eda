#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paddle_files/line_move.hpp"
#include "paddle_files/row_print.hpp"

namespace ckpt {

/// Rows of a table that are held in memory, and found by their keys.
struct HeldRows {
  std::vector<std::uint64_t> keys;
  std::vector<float> values;
  std::vector<std::pair<std::uint64_t, std::size_t>> by_key;  ///< key and row, ascending (`index`)

  /// That one row takes.
  static std::uint64_t bytes(std::uint64_t columns) noexcept {
    return sizeof(keys[0]) + columns * sizeof(values[0]) + sizeof(by_key[0]) + 1;
  }
  void index();
  std::optional<std::size_t> find(std::uint64_t key) const;
};

/// The tails of rows that are printed. Threads may share one for rows of different keys.
class RowTails {
 public:
  explicit RowTails(const RowPrint& print) : print_(print) {}

  /// Those with so many dimensions, of some shards' rows.
  void hold(std::uint64_t dims, HeldRows rows);
  /// Appends a row's tail to its numbers. Throws input where the row says that it has other dimensions.
  void append(std::uint64_t key, std::vector<float>& numbers);
  /// Throws input where a tail is of no row. All rows of its shards have been printed.
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

/// Makes lines of rows, on one thread.
class RowLines {
 public:
  RowLines(const RowPrint& print, RowTails& tails) : print_(print), tails_(tails) {}

  /// Appends the line of a row of the table, which its tail ends.
  void append(std::string& text, std::uint64_t key, const float* row);

 private:
  const RowPrint& print_;
  RowTails& tails_;
  std::vector<float> numbers_;
};

/// The file of a shard whose lines are being made.
class PrintedShard {
 public:
  PrintedShard(const RowPrint& print, std::uint64_t shard, std::size_t buffer_bytes);

  void append(std::string_view lines);
  /// Throws io where the lines written are not those that were appended.
  MovedShard finish(bool fsync, Traffic& traffic);

 private:
  MovedShard made_;
  std::filesystem::path file_;
  std::unique_ptr<TextOutput> out_;  // null: lines are only counted
};

}  // namespace ckpt
