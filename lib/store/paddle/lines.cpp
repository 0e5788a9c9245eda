#include "store/paddle/lines.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
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

/// Returns the end of an f32 number that begins at `at`; throws if the text up to the next blank is none.
const char* end_of_number(const char* at, const char* end, const RowFields& fields, std::uint64_t number) {
  const std::string_view word(at, static_cast<std::size_t>(std::find(at, end, ' ') - at));
  float value = 0;
  if (is_number(word, value)) return word.data() + word.size();
  const auto& names = fields.always();
  refuse_word(word, number < names.size() ? names[number] : "number " + std::to_string(number + 1),
              "an f32, with one blank before it");
}

/// Returns the dimension that the row's tail may have.
std::uint64_t dims_of_row(const RowFields& fields, std::string_view line, std::uint64_t numbers) {
  const auto always = fields.always().size();
  if (!fields.rows_have_dims()) return fields.embedx_dim();
  float dims = 0;
  if (numbers < always || !read_numbers(line, always - 1, {&dims, 1})) return 0;
  if (!(dims >= 0) || dims > static_cast<float>(fields.embedx_dim()) || dims != std::floor(dims))
    throw Error(Kind::input, "mf_dim",
                {std::to_string(dims), "a whole number up to " + std::to_string(fields.embedx_dim()),
                 "is embedx_dim of the layout's accessor the largest that the table has?"});
  return static_cast<std::uint64_t>(dims);
}

/// Returns the number that eight digits represent, the first in the lowest byte. Muła, "SIMD-friendly algorithms for
/// parsing": pairs become numbers below 100, pairs of these numbers below 10,000, and so on.
std::uint64_t number_of_digits(std::uint64_t digits) noexcept {
  digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff;
  digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffff;
  return (digits * 10000 + (digits >> 32)) & 0xffffffff;
}

/// Returns the key at the beginning of a plain line; nothing if it is 2^64 or more.
std::optional<std::uint64_t> plain_key(std::string_view line) noexcept {
  constexpr std::array<std::uint64_t, 9> tens{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  constexpr std::uint64_t zeros = 0x3030303030303030;
  std::uint64_t key = 0;
  for (unsigned digits = 8; digits == 8; line.remove_prefix(8)) {
    std::uint64_t bytes = 0;
    if (line.size() < sizeof bytes) return std::nullopt;  // too short to be a row
    std::memcpy(&bytes, line.data(), sizeof bytes);
    bytes ^= zeros;
    // The blank after the key is the first byte in which bit 4 is set now.
    const std::uint64_t ends = bytes & 0x1010101010101010;
    digits = ends == 0 ? 8 : static_cast<unsigned>(std::countr_zero(ends)) / 8;
    if (digits == 0) break;
    bytes <<= 64 - 8 * digits;  // adds leading zeros
    if (__builtin_mul_overflow(key, tens[digits], &key) || __builtin_add_overflow(key, number_of_digits(bytes), &key))
      return std::nullopt;
  }
  return key;
}

/// Returns the dimension of the row's tail, and checks it.
std::uint64_t checked_dims(const RowFields& fields, std::string_view line, std::uint64_t key, std::uint64_t numbers) {
  const auto always = fields.always().size();
  const std::uint64_t dims = dims_of_row(fields, line, numbers);
  if (numbers == always) return 0;
  const auto full = dims > 0 ? always + fields.tail_size(dims) : always;
  if (numbers == full) return dims;
  throw Error(Kind::input, "key " + std::to_string(key),
              {std::to_string(numbers) + " numbers",
               std::to_string(always) + (full > always ? ", or " + std::to_string(full) + " with embedx" : "") +
                   ", as the layout's accessor says",
               "give the class, embedx_dim and rules that the table was saved with"});
}

/// Checks a line that has been scanned. Reading all values would take as long as the rest of a job.
CheckedLine checked_line(std::string_view line, const ScannedLine& scanned, const RowFields& fields) {
  const auto key = scanned.is_plain ? plain_key(line) : std::nullopt;
  return key ? CheckedLine{*key, checked_dims(fields, line, *key, scanned.numbers)} : check_line(line, fields);
}

}  // namespace

CheckedLine check_line(std::string_view line, const RowFields& fields) {
  if (line.empty())
    throw Error(Kind::input, "blank line",
                {"Paddle stops reading there", "a key and its numbers", "remove the line, or save again"});
  const std::string_view key_word = line.substr(0, line.find(' '));
  CheckedLine checked;
  if (!is_number(key_word, checked.key)) refuse_word(key_word, "key", "a whole number below 2^64");
  const char* const end = line.data() + line.size();
  std::uint64_t numbers = 0;
  for (const char* at = key_word.data() + key_word.size(); at != end; ++numbers)
    at = end_of_number(at + 1, end, fields, numbers);
  checked.dims = checked_dims(fields, line, checked.key, numbers);
  return checked;
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
  for (std::uint64_t skipped = 0; skipped <= first; ++skipped)  // skips the key, too
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
  if (!begun_.empty()) {
    const std::size_t newline = piece.find('\n');
    const std::size_t bytes = newline == std::string_view::npos ? piece.size() : newline + 1;
    begun_.append(piece.substr(0, bytes));
    if (newline == std::string_view::npos) return check_length(begun_.size());
    piece.remove_prefix(bytes);
    take_lines(begun_, sink);
    begun_.clear();
  }
  begun_ = piece.substr(take_lines(piece, sink));
  check_length(begun_.size());
}

/// Processes the complete lines, and returns their bytes.
std::size_t ShardReader::take_lines(std::string_view text, const Sink& sink) {
  static const LineScanner scan_lines = line_scanners().front();
  scanned_.clear();
  const std::size_t bytes = scan_lines(text, scanned_);
  for (const ScannedLine& scanned : scanned_) {
    check_length(scanned.bytes);
    take(text.substr(0, scanned.bytes), scanned, sink);
    text.remove_prefix(scanned.bytes);
  }
  return bytes;
}

void ShardReader::finish() const {
  if (begun_.empty()) return;
  throw Error(Kind::input, "line " + std::to_string(lines_ + 1),
              {"the file ends within it", "a newline at its end", "the file was cut off: save or copy it again"});
}

void ShardReader::take(std::string_view line, const ScannedLine& scanned, const Sink& sink) {
  ++lines_;
  CheckedLine checked;
  try {
    checked = checked_line(line.substr(0, line.size() - 1), scanned, fields_);
    const auto shard = checked.key % shard_.shards;
    if (shard != shard_.shard)
      throw Error(Kind::input, "key " + std::to_string(checked.key),
                  {"lies in shard " + std::to_string(shard_.shard),
                   "shard " + std::to_string(shard) + " of " + std::to_string(shard_.shards),
                   "is shard_num of the layout the one that the table was saved with?"});
  } catch (Error& error) {
    error.within("line " + std::to_string(lines_));
    throw;
  }
  sink(line, checked);
}

void ShardReader::check_length(std::size_t bytes) const {
  if (bytes <= most_line_bytes) return;
  throw Error(Kind::input, "line " + std::to_string(lines_ + 1),
              {"it is longer than " + std::to_string(most_line_bytes) + " bytes", "Paddle's text",
               std::string(converter_hint)});
}

}  // namespace ckpt
