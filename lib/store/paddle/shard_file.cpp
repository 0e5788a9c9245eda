#include "store/paddle/shard_file.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/error.hpp"
#include "store/paddle/text_input.hpp"
#include "store/posix_file.hpp"

namespace ckpt {

namespace {

constexpr std::size_t read_at_once = 256ULL << 10;
constexpr std::uint64_t rows_between_marks = 4096;
constexpr std::string_view value_ending = "/value";

/// Where a row's line begins in the file.
struct Mark {
  std::uint64_t row = 0;
  std::uint64_t byte = 0;
};

/// Which lines are rows of a table, and what of them a dataset has.
struct RowPart {
  std::size_t table = 0;      // of the file: 0, whose rows are all lines, or one of tails
  std::uint64_t numbers = 0;  // that such a line has in all; 0: any
  std::uint64_t first = 0;    // number that belongs to the dataset
  std::uint64_t row_bytes = 0;
  bool is_keys = false;
};

/// Lines of a text that comes in pieces.
class Lines {
 public:
  /// Calls `take(line, bytes)` with each whole line, without its newline, until it gives false.
  template <class Take>
  bool feed(std::string_view piece, const Take& take) {
    for (std::size_t end = piece.find('\n'); end != piece.npos; end = piece.find('\n')) {
      std::string_view line = piece.substr(0, end);
      if (!begun_.empty()) line = begun_ += line;
      if (!take(line)) return false;
      begun_.clear();
      piece.remove_prefix(end + 1);
    }
    begun_ += piece;
    return true;
  }

 private:
  std::string begun_;
};

class ShardFile final : public SourceFile {
 public:
  ShardFile(std::filesystem::path file, const FileCatalog& catalog)
      : file_(std::move(file)), is_gzip_(is_gzip_name(file_.native())), schema_(catalog.schema) {
    const std::vector<StoredArray>& arrays = *schema_->arrays;
    // The table that all others' names begin with has the shortest one.
    std::vector<std::string> tables;
    for (const StoredArray& array : arrays)
      if (array.name.ends_with(value_ending))
        tables.push_back(array.name.substr(0, array.name.size() - value_ending.size()));
    std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    marks_.assign(tables.size(), {Mark{}});
    const auto numbers_of = [&](const std::string& table) {
      return arrays[schema_->find(table + std::string(value_ending))].shape[1];
    };
    const std::uint64_t always = numbers_of(tables.front());
    for (const StoredArray& array : arrays) {
      RowPart part;
      part.is_keys = !array.name.ends_with(value_ending);
      const std::string table = array.name.substr(0, array.name.rfind('/'));
      part.table = static_cast<std::size_t>(std::find(tables.begin(), tables.end(), table) - tables.begin());
      part.numbers = part.table == 0 ? 0 : always + numbers_of(table);
      part.first = part.table == 0 ? 0 : always;
      part.row_bytes = part.is_keys ? sizeof(std::uint64_t) : numbers_of(table) * sizeof(float);
      parts_.push_back(part);
    }
  }

  void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    if (out.empty()) return;
    const RowPart& part = parts_.at(dataset);
    const std::uint64_t end = offset + out.size();
    Mark at = is_gzip_ ? Mark{} : mark_before(part.table, offset / part.row_bytes);
    std::vector<std::byte> row(static_cast<std::size_t>(part.row_bytes));
    Lines lines;
    bool is_done = false;
    read_text_from(file_, at.byte, read_at_once, [&](std::string_view piece) {
      return lines.feed(piece, [&](std::string_view line) {
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
        at.byte += line.size() + 1;
        return !is_done;
      });
    });
    if (!is_done) refuse(dataset);
  }

  PartialSum sum_rest(const std::optional<Passage>& left_out) override {
    static_cast<void>(left_out);  // no text holds a manifest
    const PosixFile file = PosixFile::open_for_reading(file_);
    const std::uint64_t bytes = file.status().bytes;
    PartialSum sum;
    for (std::uint64_t at = 0; at < bytes; at += read_at_once) {
      const std::string piece = file.text(at, std::min<std::uint64_t>(read_at_once, bytes - at));
      sum += sum_of(std::as_bytes(std::span(piece)), at);
    }
    return sum;
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

  Mark mark_before(std::size_t table, std::uint64_t row) {
    const std::lock_guard lock(mutex_);
    const std::vector<Mark>& marks = marks_[table];
    const auto after = std::upper_bound(marks.begin(), marks.end(), row,
                                        [](std::uint64_t r, const Mark& mark) { return r < mark.row; });
    return *std::prev(after);
  }

  /// They are of rows that follow one another: whoever goes on from the last one adds the next.
  void note(std::size_t table, const Mark& mark) {
    if (is_gzip_) return;
    const std::lock_guard lock(mutex_);
    if (marks_[table].back().row < mark.row) marks_[table].push_back(mark);
  }

  [[noreturn]] void refuse(std::size_t dataset) const {
    throw Error(Kind::input, file_.string(),
                {"it ends before all rows of " + (*schema_->arrays)[dataset].name, "expected as many as were counted",
                 "is it still being written?"})
        .in_file(file_.string());
  }

  std::filesystem::path file_;
  bool is_gzip_;
  std::shared_ptr<const Schema> schema_;
  std::vector<RowPart> parts_;  // parallel to the schema's datasets
  std::mutex mutex_;
  std::vector<std::vector<Mark>> marks_;  // of each table, ascending
};

}  // namespace

std::unique_ptr<SourceFile> open_shard(const std::filesystem::path& file, const FileCatalog& catalog) {
  return std::make_unique<ShardFile>(file, catalog);
}

}  // namespace ckpt
