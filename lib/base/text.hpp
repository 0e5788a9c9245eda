#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

/// "512MiB", "4G", "2 GB", "4096" → bytes; KiB MiB GiB TiB, and K M G T as in batch systems, are powers of 1024, KB MB
/// GB TB powers of 1000. Throws usage, naming `what`.
std::uint64_t parse_bytes(std::string_view text, std::string_view what);

/// "90", "90s", "15m", "1h", "2d", and as batch systems write times "15:00", "01:00:00", "1-00:00:00" → seconds. Throws
/// usage, naming `what`.
double parse_duration(std::string_view text, std::string_view what);

/// 1536 → "1.5 KiB".
std::string format_bytes(std::uint64_t bytes);

/// {2, 3} → "[2, 3]".
template <class Numbers>
std::string format_list(const Numbers& numbers) {
  std::string text = "[";
  for (const auto& number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

/// {"a", "b", "c"} → "a, b, c"; more than `most` end in ", … (7 more)".
std::string join(const std::vector<std::string>& words, std::size_t most = 8);
/// Joins word(0) … word(count - 1) likewise, and makes only the words that appear in the text.
std::string join(std::size_t count, const std::function<std::string(std::size_t)>& word, std::size_t most = 8);

/// The letters of ASCII in lower case, all else as it is.
std::string lower_case(std::string_view text);

/// Compares in natural order: layers.2 before layers.10.
bool natural_less(std::string_view a, std::string_view b);

/// Returns how many characters must be inserted, deleted or replaced to turn `a` into `b`; above `most`, any larger
/// number.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

/// Returns the `most` names in `names` closest to `name` by edit distance whatever their case,
/// nearest first.
std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& names, std::size_t most = 3);

}  // namespace ckpt
