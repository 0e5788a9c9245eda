#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace ckpt {

namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::array<Unit, 14> units{{{"B", 1},
                                      {"", 1},
                                      {"K", 1ULL << 10},
                                      {"M", 1ULL << 20},
                                      {"G", 1ULL << 30},
                                      {"T", 1ULL << 40},
                                      {"KiB", 1ULL << 10},
                                      {"MiB", 1ULL << 20},
                                      {"GiB", 1ULL << 30},
                                      {"TiB", 1ULL << 40},
                                      {"KB", 1'000ULL},
                                      {"MB", 1'000'000ULL},
                                      {"GB", 1'000'000'000ULL},
                                      {"TB", 1'000'000'000'000ULL}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Returns the length of the run of digits that starts at `at`.
std::size_t digits(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

std::string_view without_zeros(std::string_view number) {
  while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
  return number;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return most + 1;
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    std::size_t least = row[0];
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, substituted});
      least = std::min(least, row[j + 1]);
    }
    if (least > most) return least;
  }
  return row.back();
}

std::uint64_t parse_bytes(std::string_view text, std::string_view what) {
  double number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const auto* unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == rest; });
  if (status != std::errc{} || unit == units.end() || !(number >= 0) || number * double(unit->bytes) >= 0x1p63)
    throw Error(Kind::usage, what, {"'" + std::string(text) + "' is not a size", "", "write for example 512MiB or 4G"});
  return static_cast<std::uint64_t>(std::llround(number * double(unit->bytes)));
}

namespace {

/// A number without a sign, to the end of the text; nothing for any other text.
std::optional<double> plain_number(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  const bool is_plain = !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0;
  return is_plain && status == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

/// "1-02:03:04", "02:03:04", "03:04"; nothing for any other text.
std::optional<double> clock_time(std::string_view text) {
  double days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto found = plain_number(text.substr(0, dash));
    if (!found) return std::nullopt;
    days = *found;
    text.remove_prefix(dash + 1);
  }
  double seconds = 0;
  std::size_t fields = 0;
  for (bool is_last = false; !is_last; ++fields) {
    const std::size_t colon = text.find(':');
    is_last = colon == std::string_view::npos;
    const auto field = plain_number(text.substr(0, colon));
    if (!field) return std::nullopt;
    seconds = seconds * 60 + *field;
    if (!is_last) text.remove_prefix(colon + 1);
  }
  if (fields > 3 || (days != 0 && fields != 3)) return std::nullopt;
  return days * 86'400 + seconds;
}

}  // namespace

double parse_duration(std::string_view text, std::string_view what) {
  constexpr double most = 1e9;
  std::optional<double> seconds = clock_time(text);
  for (const auto& [unit, each] : {std::pair{'s', 1.0}, {'m', 60.0}, {'h', 3'600.0}, {'d', 86'400.0}})
    if (!seconds && text.ends_with(unit))
      if (const auto number = plain_number(text.substr(0, text.size() - 1))) seconds = *number * each;
  if (!seconds || !(*seconds <= most))
    throw Error(Kind::usage, what,
                {"'" + std::string(text) + "'", "a time", "write for example 90, 90s, 15m, 1h or 01:00:00"});
  return *seconds;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr std::array names{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = double(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < names.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, names[unit]);
  return text.data();
}

std::string join(const std::vector<std::string>& words, std::size_t most) {
  return join(
      words.size(), [&](std::size_t i) { return words[i]; }, most);
}

std::string join(std::size_t count, const std::function<std::string(std::size_t)>& word, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, count); ++i) text += (i != 0 ? ", " : "") + word(i);
  if (count > most) text += ", … (" + std::to_string(count - most) + " more)";
  return text;
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::size_t m = digits(a, i);
      const std::size_t n = digits(b, j);
      const auto x = without_zeros(a.substr(i, m));
      const auto y = without_zeros(b.substr(j, n));
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i += m;
      j += n;
    } else {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;  // equal except for leading zeros
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& names, std::size_t most) {
  std::set<std::pair<std::size_t, std::string_view>> ranked;  // the best so far
  std::size_t worst = std::string_view::npos - 1;
  const std::string wanted = lower_case(name);
  for (const auto& candidate : names) {
    const std::size_t distance = edit_distance(wanted, lower_case(candidate), worst);
    if (distance > worst) continue;
    ranked.emplace(distance, candidate);
    if (ranked.size() > most) ranked.erase(std::prev(ranked.end()));
    if (ranked.size() == most && most != 0) worst = std::prev(ranked.end())->first;
  }
  std::vector<std::string> result;
  for (const auto& [distance, candidate] : ranked) result.emplace_back(candidate);
  return result;
}

}  // namespace ckpt
