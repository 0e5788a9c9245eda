#include "paddle_text/lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_line_bytes = 64ULL
                                        << 20;  // a row of 2^20 dimensions with Adam's state, at 16 bytes a number
constexpr std::size_t most_shown = 40;
constexpr std::string_view converter_hint =
    "if the table was saved through a converter (table_accessor_save_param), undo it with its deconverter first";

std::string shown(std::string_view text) {
  return "\"" + printable(text.substr(0, most_shown)) + (text.size() > most_shown ? "…" : "") + "\"";
}

[[noreturn]] void refuse_word(std::string_view word, std::string_view place, std::string_view expected) {
  throw Error(Kind::input, place, {shown(word), std::string(expected), std::string(converter_hint)});
}

template <class Number>
bool is_number(std::string_view word, Number& number) {
  const char* end = word.data() + word.size();
  const auto [stop, problem] = std::from_chars(word.data(), end, number);
  return problem == std::errc() && stop == end;
}

/// How many numbers the row has with its tail.
std::uint64_t full_size(const RowFields& fields, const std::vector<float>& values) {
  const auto always = fields.always().size();
  if (!fields.rows_have_dims()) return always + fields.tail_size(fields.embedx_dim());
  if (values.size() < always) return always;
  const float dims = values[always - 1];
  if (!(dims >= 0) || dims > static_cast<float>(fields.embedx_dim()) || dims != std::floor(dims))
    throw Error(Kind::input, "mf_dim",
                {std::to_string(dims), "expected a whole number up to " + std::to_string(fields.embedx_dim()),
                 "is embedx_dim of the layout's accessor the largest that the table has?"});
  return always + (dims > 0 ? fields.tail_size(static_cast<std::uint64_t>(dims)) : 0);
}

void check_size(const RowFields& fields, const TextRow& row) {
  const auto always = fields.always().size();
  const auto full = full_size(fields, row.values);
  if (row.values.size() == always || row.values.size() == full) return;
  throw Error(Kind::input, "key " + std::to_string(row.key),
              {std::to_string(row.values.size()) + " numbers",
               "the layout's accessor expects " + std::to_string(always) +
                   (full > always ? ", or " + std::to_string(full) + " with embedx" : ""),
               "give the class, embedx_dim and rules that the table was saved with"});
}

}  // namespace

void parse_line(std::string_view line, const RowFields& fields, TextRow& row) {
  row.values.clear();
  if (line.empty())
    throw Error(Kind::input, "blank line",
                {"Paddle stops reading there", "expected a key and its numbers", "remove the line, or save again"});
  auto blank = line.find(' ');
  if (!is_number(line.substr(0, blank), row.key))
    refuse_word(line.substr(0, blank), "key", "expected a whole number below 2^64");
  while (blank != line.npos) {
    const auto begin = blank + 1;
    blank = line.find(' ', begin);
    const auto word = line.substr(begin, blank == line.npos ? line.npos : blank - begin);
    float value = 0;
    if (!is_number(word, value)) {
      const auto number = row.values.size();
      const auto& names = fields.always();
      refuse_word(word, number < names.size() ? names[number] : "number " + std::to_string(number + 1),
                  "expected an f32, with one blank before it");
    }
    row.values.push_back(value);
  }
  check_size(fields, row);
}

std::optional<std::uint64_t> key_of(std::string_view line) noexcept {
  std::uint64_t key = 0;
  if (!is_number(line.substr(0, line.find(' ')), key)) return std::nullopt;
  return key;
}

bool read_numbers(std::string_view line, std::uint64_t first, std::span<float> numbers) noexcept {
  const char* at = line.data();
  const char* const end = at + line.size();
  const auto skip_word = [&] {
    at = std::find(at, end, ' ');
    if (at == end) return false;
    ++at;
    return true;
  };
  for (std::uint64_t skipped = 0; skipped <= first; ++skipped)  // the key, too
    if (!skip_word()) return false;
  for (float& number : numbers) {
    const auto [stop, problem] = std::from_chars(at, end, number);
    if (problem != std::errc()) return false;
    at = stop;
    if (&number != &numbers.back() && (at == end || *at++ != ' ')) return false;
  }
  return true;
}

void append_line(std::string& text, std::uint64_t key, std::span<const float> values, int digits) {
  std::array<char, 32> number;  // -1.23456789e-38 is the longest
  const auto append = [&](const std::to_chars_result& result) { text.append(number.data(), result.ptr); };
  append(std::to_chars(number.data(), number.data() + number.size(), key));
  for (const float value : values) {
    text += ' ';
    append(std::to_chars(number.data(), number.data() + number.size(), value, std::chars_format::general, digits));
  }
  text += '\n';
}

void ShardReader::feed(std::string_view piece, const Sink& sink) {
  while (true) {
    const auto end = piece.find('\n');
    if (end == piece.npos) break;
    check_length(begun_.size() + end);
    if (begun_.empty()) {
      take(piece.substr(0, end + 1), sink);
    } else {
      begun_.append(piece.substr(0, end + 1));
      take(begun_, sink);
      begun_.clear();
    }
    piece.remove_prefix(end + 1);
  }
  check_length(begun_.size() + piece.size());
  begun_.append(piece);
}

void ShardReader::finish() const {
  if (begun_.empty()) return;
  throw Error(
      Kind::input, "line " + std::to_string(lines_ + 1),
      {"the file ends within it", "expected a newline at its end", "the file was cut off: save or copy it again"});
}

void ShardReader::take(std::string_view line, const Sink& sink) {
  ++lines_;
  with_context("line " + std::to_string(lines_), [&] {
    parse_line(line.substr(0, line.size() - 1), fields_, row_);
    const auto shard = row_.key % shard_.shards;
    if (shard != shard_.shard)
      throw Error(Kind::input, "key " + std::to_string(row_.key),
                  {"lies in shard " + std::to_string(shard_.shard),
                   "with " + std::to_string(shard_.shards) + " shards it belongs to shard " + std::to_string(shard),
                   "is shard_num of the layout the one that the table was saved with?"});
  });
  sink(line, row_);
}

void ShardReader::check_length(std::size_t bytes) const {
  if (bytes <= most_line_bytes) return;
  throw Error(Kind::input, "line " + std::to_string(lines_ + 1),
              {"it is longer than " + std::to_string(most_line_bytes) + " bytes", "expected Paddle's text",
               std::string(converter_hint)});
}

}  // namespace ckpt
