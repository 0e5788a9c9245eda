#include "inspect/name_ranges.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "layout/names/name_groups.hpp"
#include "report/card_ids.hpp"

namespace ckpt::cli {

namespace {

using Numbers = std::vector<std::uint64_t>;
/// Names by their numbers.
using Rows = std::map<Numbers, std::vector<std::size_t>>;

/// Names that have every combination of these values, and no others.
struct Product {
  std::vector<Numbers> values;  ///< of each number
  std::vector<std::size_t> names;
};

/// More of them in one name is no model's naming: those that follow count as text.
constexpr std::size_t most_numbers = 8;

/// One that is written as people count: not 007, whose zeros a range would lose.
std::optional<std::uint64_t> plain_number(const std::string& digits) {
  if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
  std::uint64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

/// A name with its numbers taken out.
struct Form {
  std::vector<std::string> texts;  ///< around the numbers
  Numbers numbers;
};

Form form_of(const std::string& name) {
  Form form{{""}, {}};
  const std::vector<std::string> pieces = text_and_numbers(name);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool may_count = i % 2 == 1 && form.numbers.size() < most_numbers;
    const auto number = may_count ? plain_number(pieces[i]) : std::nullopt;
    if (number) {
      form.numbers.push_back(*number);
      form.texts.emplace_back();
    } else {
      form.texts.back() += pieces[i];
    }
  }
  return form;
}

/// Divides names into products: first numbers that are followed by the same rows go together.
std::vector<Product> products_of(const Rows& rows) {
  if (rows.begin()->first.empty()) return {{{}, rows.begin()->second}};
  std::map<std::uint64_t, Rows> rests;
  for (const auto& [numbers, names] : rows)
    rests[numbers[0]].emplace(Numbers(numbers.begin() + 1, numbers.end()), names);
  struct Alike {
    Numbers firsts;
    Rows rows;  ///< of all firsts together
  };
  std::map<std::vector<Numbers>, Alike> alike;
  for (const auto& [first, rest] : rests) {
    std::vector<Numbers> key;
    for (const auto& [numbers, names] : rest) key.push_back(numbers);
    Alike& same = alike[std::move(key)];
    same.firsts.push_back(first);
    for (const auto& [numbers, names] : rest) {
      auto& all = same.rows[numbers];
      all.insert(all.end(), names.begin(), names.end());
    }
  }
  std::vector<Product> products;
  for (const auto& [key, same] : alike)
    for (Product& product : products_of(same.rows)) {
      product.values.insert(product.values.begin(), same.firsts);
      products.push_back(std::move(product));
    }
  return products;
}

/// "{0-31,40}"; a number alone as it is.
std::string braces(const Numbers& numbers) {
  constexpr std::size_t most_runs = 6;
  if (numbers.size() == 1) return std::to_string(numbers[0]);
  std::string text = CardIds(numbers).text(most_runs);
  for (std::size_t at = text.find(", "); at != std::string::npos; at = text.find(", ", at)) text.erase(at + 1, 1);
  return "{" + text + "}";
}

std::string text_of(const std::vector<std::string>& texts, const std::vector<Numbers>& numbers) {
  std::string text = texts[0];
  for (std::size_t i = 0; i < numbers.size(); ++i) text += braces(numbers[i]) + texts[i + 1];
  return text;
}

}  // namespace

std::vector<NameRange> name_ranges(const std::vector<std::string>& names) {
  std::map<std::vector<std::string>, Rows> alike;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Form form = form_of(names[i]);
    alike[std::move(form.texts)][std::move(form.numbers)].push_back(i);
  }
  std::vector<NameRange> ranges;
  for (const auto& [texts, rows] : alike)
    for (Product& product : products_of(rows)) {
      std::sort(product.names.begin(), product.names.end());
      ranges.push_back({text_of(texts, product.values), std::move(product.names)});
    }
  std::sort(ranges.begin(), ranges.end(),
            [](const NameRange& a, const NameRange& b) { return a.members.front() < b.members.front(); });
  return ranges;
}

}  // namespace ckpt::cli
