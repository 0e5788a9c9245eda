#include "checkpoint/whole_file_check.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "frameworks/rank_pieces.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

/// Words that, before a number, count the files of one checkpoint.
constexpr std::array<std::string_view, 19> words_of_ranks{
    "rank", "card",   "shard", "part",   "tp",      "pp",   "dp",   "mp",   "ep",          "device",
    "gpu",  "worker", "stage", "server", "process", "proc", "host", "node", "consolidated"};

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// A number in a path.
struct Number {
  std::size_t at = 0;
  std::size_t digits = 0;
  std::uint64_t value = 0;
};

std::optional<Number> next_number(const std::string& text, std::size_t from) {
  while (from < text.size() && !is_digit(text[from])) ++from;
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  Number number{from, end - from, 0};
  const auto status = std::from_chars(text.data() + from, text.data() + end, number.value).ec;
  if (from == end || status != std::errc{}) return std::nullopt;
  return number;
}

/// The letters before a number, without the separators between: "mp_rank_00" → "rank".
std::string_view word_before(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end > 0 && std::string_view("_-.=").find(text[end - 1]) != std::string_view::npos) --end;
  std::size_t begin = end;
  while (begin > 0 && std::isalpha(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
  return text.substr(begin, end - begin);
}

std::string with_number(std::string text, const Number& number, std::uint64_t value) {
  std::string digits = std::to_string(value);
  if (digits.size() < number.digits) digits.insert(0, number.digits - digits.size(), '0');
  return text.replace(number.at, number.digits, digits);
}

/// An unreadable file does not count as a neighbour.
bool is_checkpoint(const fs::path& path, SourceStore& store) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  try {
    return store.recognises(path);
  } catch (const Error&) {
    return false;
  }
}

/// The next rank's file or the one before, if it is a checkpoint.
std::optional<fs::path> neighbour(const std::string& path, const Number& number, SourceStore& store) {
  for (const bool is_after : {true, false}) {
    if (!is_after && number.value == 0) continue;
    const fs::path other = with_number(path, number, is_after ? number.value + 1 : number.value - 1);
    if (is_checkpoint(other, store)) return other;
  }
  return std::nullopt;
}

/// "7" of "model-00001-of-00007".
std::optional<std::uint64_t> count_of(const std::string& text, const Number& number) {
  constexpr std::string_view of = "of";
  const std::size_t after = number.at + number.digits;
  const auto count = next_number(text, after);
  if (!count || word_before(text, count->at) != of || count->at - after != of.size() + 2) return std::nullopt;
  return count->value > 1 && number.value <= count->value ? std::optional(count->value) : std::nullopt;
}

void warn(const fs::path& file, const std::string& why, const fs::path& directory) {
  log::warn("{} is taken for a whole checkpoint, but {}: to take all of them, give the directory, {}", file.string(),
            why, directory.empty() ? "." : directory.string());
}

}  // namespace

std::optional<NumberOfRank> number_of_rank(const std::string& name) {
  std::optional<NumberOfRank> last;
  for (auto number = next_number(name, 0); number; number = next_number(name, number->at + number->digits)) {
    const std::string_view word = word_before(name, number->at);
    if (std::find(words_of_ranks.begin(), words_of_ranks.end(), word) != words_of_ranks.end())
      last = {number->at, number->digits, number->value};
  }
  return last;
}

void check_is_whole(const fs::path& file, const Schema& schema, SourceStore& store) {
  const fs::path directory = file.parent_path();
  for (std::size_t i = 0; i < schema.datasets.size(); ++i) {
    const StoredArray& array = (*schema.arrays)[i];
    if (!schema.datasets[i].piece || !array.global_shape || *array.global_shape == array.shape) continue;
    throw Error(
        Kind::input, file.string() + ": /" + array.name,
        {"it is a piece of shape " + to_string(array.shape) + " of a tensor of " + to_string(*array.global_shape),
         "whole tensors in a single file",
         "give the directory that holds the files of all ranks: " +
             (directory.empty() ? std::string(".") : directory.string())});
  }
  if (const auto piece = with_file(file.string(), [&] { return piece_by_origin(schema); }))
    throw Error(Kind::input, file.string() + ": /" + *piece,
                {"it is a piece of a larger tensor, as DCP_SHARDING_INFO says", "whole tensors in a single file",
                 "give the directory that holds all files of the save: " +
                     (directory.empty() ? std::string(".") : directory.string())});
  const std::string path = file.string();
  const std::size_t name = directory.parent_path().string().size();  // the last directory's, and the file's
  for (auto number = next_number(path, name); number; number = next_number(path, number->at + number->digits)) {
    const bool is_in_directory = number->at < directory.string().size();
    const fs::path whole = is_in_directory ? directory.parent_path() : directory;
    if (const auto count = count_of(path, *number); count && !is_in_directory)
      return warn(file, "its name says that it is one of " + std::to_string(*count), whole);
    const std::string_view word = word_before(path, number->at);
    if (std::find(words_of_ranks.begin(), words_of_ranks.end(), word) == words_of_ranks.end()) continue;
    if (const auto other = neighbour(path, *number, store))
      return warn(file, "there is " + other->lexically_relative(whole.empty() ? "." : whole).string(), whole);
  }
}

}  // namespace ckpt
