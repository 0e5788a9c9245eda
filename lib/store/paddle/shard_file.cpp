#include "store/paddle/shard_file.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "io/file_sum.hpp"
#include "io/posix_file.hpp"
#include "store/paddle/line_cutter.hpp"
#include "store/paddle/text_input.hpp"

namespace ckpt {

namespace {

constexpr std::size_t read_at_once = 256ULL << 10;
constexpr std::size_t inflated_at_once = 64ULL << 10;
constexpr int most_rests = 4;             // for each table: a few threads read its keys and its rows in sequence
constexpr std::size_t most_resting = 64;  // for all files together: 170 KiB each
constexpr std::uint64_t rows_between_marks = 4096;
constexpr std::string_view value_ending = "/value";

/// Which lines are rows of a table, and which part of them belongs to a dataset.
struct RowPart {
  std::size_t table = 0;      // index in the file: 0, which has a row for every line, or a table of tails
  std::uint64_t numbers = 0;  // how many a line of this table has in all; 0: any
  std::uint64_t first = 0;    // index of the first number that belongs to the dataset
  std::uint64_t row_bytes = 0;
  bool is_keys = false;
};

}  // namespace

/// The place in the file where a row's line begins.
struct ShardMark {
  std::uint64_t row = 0;
  std::uint64_t byte = 0;
};

/// A sequential read of a table's rows, which can be resumed.
struct ShardRead {
  ShardMark at;
  std::unique_ptr<TextStream> stream;
  std::string text;  // text to be read before the stream's next piece
};

/// If there are too many, the one that has been paused longest is dropped: batches are read roughly in the files'
/// order, and a thread that has moved on does not return.
class PausedReads {
 public:
  /// Takes the most advanced read that has not passed the row.
  std::optional<ShardRead> take(const SourceFile& file, std::size_t table, std::uint64_t row) {
    const std::lock_guard lock(mutex_);
    auto best = paused_.end();
    for (auto each = paused_.begin(); each != paused_.end(); ++each)
      if (is_of(*each, file, table) && each->reading.at.row <= row &&
          (best == paused_.end() || each->reading.at.row > best->reading.at.row))
        best = each;
    if (best == paused_.end()) return std::nullopt;
    ShardRead reading = std::move(best->reading);
    paused_.erase(best);
    return reading;
  }

  void keep(const SourceFile& file, std::size_t table, ShardRead reading) {
    const std::lock_guard lock(mutex_);
    const auto is_same = [&](const PausedRead& each) { return is_of(each, file, table); };
    if (std::count_if(paused_.begin(), paused_.end(), is_same) == most_rests)
      paused_.erase(std::find_if(paused_.begin(), paused_.end(), is_same));
    else if (paused_.size() == most_resting)
      paused_.pop_front();
    paused_.push_back({&file, table, std::move(reading)});
  }

  void forget(const SourceFile& file) {
    const std::lock_guard lock(mutex_);
    paused_.remove_if([&](const PausedRead& each) { return each.file == &file; });
  }

 private:
  struct PausedRead {
    const SourceFile* file;
    std::size_t table;
    ShardRead reading;
  };

  static bool is_of(const PausedRead& rest, const SourceFile& file, std::size_t table) {
    return rest.file == &file && rest.table == table;
  }

  std::mutex mutex_;
  std::list<PausedRead> paused_;  // oldest first
};

namespace {

class ShardFile final : public SourceFile {
 public:
  ShardFile(std::filesystem::path file, const FileCatalog& catalog, std::shared_ptr<PausedReads> rests)
      : file_(std::move(file)),
        is_gzip_(is_gzip_name(file_.native())),
        schema_(catalog.schema),
        paused_(std::move(rests)) {
    const std::vector<StoredArray>& arrays = *schema_->arrays;
    // The main table has the shortest name, with which all others begin.
    std::vector<std::string> tables;
    for (const StoredArray& array : arrays)
      if (array.name.ends_with(value_ending))
        tables.push_back(array.name.str().substr(0, array.name.size() - value_ending.size()));
    std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    marks_.assign(tables.size(), {ShardMark{}});
    for (const std::string& table : tables)
      rows_.push_back(arrays[schema_->find(table + std::string(value_ending))].shape[0]);
    const auto numbers_of = [&](const std::string& table) {
      return arrays[schema_->find(table + std::string(value_ending))].shape[1];
    };
    const std::uint64_t always = numbers_of(tables.front());
    for (const StoredArray& array : arrays) {
      RowPart part;
      part.is_keys = !array.name.ends_with(value_ending);
      const std::string table = array.name.str().substr(0, array.name.str().rfind('/'));
      part.table = static_cast<std::size_t>(std::find(tables.begin(), tables.end(), table) - tables.begin());
      part.numbers = part.table == 0 ? 0 : always + numbers_of(table);
      part.first = part.table == 0 ? 0 : always;
      part.row_bytes = part.is_keys ? sizeof(std::uint64_t) : numbers_of(table) * sizeof(float);
      parts_.push_back(part);
    }
  }

  ~ShardFile() override { paused_->forget(*this); }
  ShardFile(const ShardFile&) = delete;
  ShardFile& operator=(const ShardFile&) = delete;

  void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    if (out.empty()) return;
    const RowPart& part = parts_.at(dataset);
    const std::uint64_t end = offset + out.size();
    ShardRead reading = begin(part.table, offset / part.row_bytes);
    ShardMark& at = reading.at;
    std::vector<std::byte> row(static_cast<std::size_t>(part.row_bytes));
    LineCutter lines;
    bool is_done = false;
    const auto take_line = [&](std::string_view whole) {
      const std::string_view line = whole.substr(0, whole.size() - 1);
      if (is_row(part, line)) {
        if (at.row % rows_between_marks == 0) note(part.table, at);
        const Interval bytes{at.row * part.row_bytes, (at.row + 1) * part.row_bytes};
        const Interval wanted = intersect(bytes, {offset, end});
        if (!wanted.empty()) {
          parse(part, line, row);
          std::memcpy(out.data() + (wanted.lo - offset), row.data() + (wanted.lo - bytes.lo), wanted.size());
        }
        is_done = bytes.hi >= end;
        ++at.row;
      }
      at.byte += whole.size();
      return !is_done;
    };
    const std::string begun = std::exchange(reading.text, {});
    std::string_view piece = begun.empty() ? reading.stream->next() : std::string_view(begun);
    for (; !is_done && !piece.empty(); piece = is_done ? piece : reading.stream->next())
      piece.remove_prefix(lines.feed(piece, take_line));
    if (!is_done) refuse(dataset);
    keep(part.table, std::move(reading), piece);
  }

  PartialSum sum_rest(const std::optional<FileSegment>& left_out) override {
    static_cast<void>(left_out);  // no text file holds a manifest
    const PosixFile file = PosixFile::open_for_reading(file_);
    return sum_of_file(file, file.status().bytes);
  }

 private:
  static bool is_row(const RowPart& part, std::string_view line) {
    return part.numbers == 0 || static_cast<std::uint64_t>(std::count(line.begin(), line.end(), ' ')) == part.numbers;
  }

  /// Lines were checked when they were counted.
  void parse(const RowPart& part, std::string_view line, std::vector<std::byte>& row) const {
    bool is_whole = false;
    if (part.is_keys) {
      const auto key = key_of(line);
      is_whole = key.has_value();
      if (is_whole) std::memcpy(row.data(), &*key, sizeof *key);
    } else {
      std::vector<float>& numbers = numbers_of_thread();
      numbers.resize(row.size() / sizeof(float));
      is_whole = read_numbers(line, part.first, numbers);
      std::memcpy(row.data(), numbers.data(), row.size());
    }
    if (!is_whole)
      throw Error(Kind::input, file_.string(), {"it changed while it was read", "", "is it still being written?"})
          .in_file(file_.string());
  }

  static std::vector<float>& numbers_of_thread() {
    thread_local std::vector<float> numbers;
    return numbers;
  }

  /// Returns where to start reading a row: where an earlier read stopped, or a mark before the row.
  ShardRead begin(std::size_t table, std::uint64_t row) {
    if (!is_gzip_) {
      const ShardMark mark = mark_before(table, row);
      return {mark, std::make_unique<TextStream>(file_, mark.byte, read_at_once), {}};
    }
    if (auto rested = paused_->take(*this, table, row)) return std::move(*rested);
    return {{}, std::make_unique<TextStream>(file_, 0, inflated_at_once), {}};
  }

  /// A compressed file cannot be read from its middle: the state of this read is kept for the next one, which mostly
  /// continues there.
  void keep(std::size_t table, ShardRead reading, std::string_view unread) {
    if (!is_gzip_) return note(table, reading.at);
    if (reading.at.row == rows_[table]) return;
    reading.text = unread;
    reading.stream->rest();
    paused_->keep(*this, table, std::move(reading));
  }

  ShardMark mark_before(std::size_t table, std::uint64_t row) {
    const std::lock_guard lock(mutex_);
    const std::vector<ShardMark>& marks = marks_[table];
    const auto after = std::upper_bound(marks.begin(), marks.end(), row,
                                        [](std::uint64_t r, const ShardMark& mark) { return r < mark.row; });
    return *std::prev(after);
  }

  /// Marks are at consecutive multiples of rows: whoever reads on from the last mark adds the next.
  void note(std::size_t table, const ShardMark& mark) {
    if (is_gzip_) return;
    const std::lock_guard lock(mutex_);
    if (marks_[table].back().row < mark.row) marks_[table].push_back(mark);
  }

  [[noreturn]] void refuse(std::size_t dataset) const {
    throw Error(Kind::input, file_.string(),
                {"it ends before all rows of " + (*schema_->arrays)[dataset].name, "as many as were counted",
                 "is it still being written?"})
        .in_file(file_.string());
  }

  std::filesystem::path file_;
  bool is_gzip_;
  std::shared_ptr<const Schema> schema_;
  std::shared_ptr<PausedReads> paused_;
  std::vector<RowPart> parts_;       // parallel to the schema's datasets
  std::vector<std::uint64_t> rows_;  // by table
  std::mutex mutex_;
  std::vector<std::vector<ShardMark>> marks_;  // by table, ascending
};

}  // namespace

std::shared_ptr<PausedReads> resting_readings() {
  return std::make_shared<PausedReads>();
}

std::unique_ptr<SourceFile> open_shard(const std::filesystem::path& file, const FileCatalog& catalog,
                                       std::shared_ptr<PausedReads> rests) {
  const PosixFile::Status found = PosixFile::open_for_reading(file).status();
  if (found.bytes != catalog.bytes || found.modified_ns != catalog.modified_ns)
    throw Error(Kind::input, file.string(),
                {"it is not the file whose lines were counted: its size or its time is another",
                 "one that nobody writes, the same on all nodes",
                 "",
                 {Advice::What::wait_for_writer, ""}})
        .in_file(file.string());
  return std::make_unique<ShardFile>(file, catalog, std::move(rests));
}

}  // namespace ckpt
