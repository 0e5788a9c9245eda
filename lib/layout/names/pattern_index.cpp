#include "layout/names/pattern_index.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace ckpt {

namespace {

constexpr std::size_t no_piece = static_cast<std::size_t>(-1);

/// Looking for an inner piece costs a lookup at each byte of a name: worth it only if it avoids trying this many
/// patterns.
constexpr std::size_t worth_searching = 64;

std::string backwards(std::string_view text) {
  return {text.rbegin(), text.rend()};
}

}  // namespace

PatternIndex::Pieces::Pieces(std::map<std::string, Numbers> numbers) {
  std::vector<std::size_t> around;  // pieces that the next one may begin with; each begins with the one before it
  for (auto& [text, of_text] : numbers) {
    while (!around.empty() && !text.starts_with(pieces_[around.back()].text)) around.pop_back();
    pieces_.push_back({text, std::move(of_text), around.empty() ? no_piece : around.back()});
    around.push_back(pieces_.size() - 1);
  }
}

/// Every prefix of a text sorts before it, and so does every piece between the two, which begins with that prefix: so
/// the prefixes are the piece before the text, and those that this piece begins with.
void PatternIndex::Pieces::find(std::string_view text, Runs& runs) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), text,
                                      [](std::string_view key, const Piece& piece) { return key < piece.text; });
  auto at = static_cast<std::size_t>(after - pieces_.begin()) - 1;  // before the first: none
  while (at != no_piece && !text.starts_with(pieces_[at].text)) at = pieces_[at].shorter;
  for (; at != no_piece; at = pieces_[at].shorter) runs.emplace_back(pieces_[at].numbers);
}

/// Chooses each pattern's piece once it is known how many patterns share each.
struct PatternIndex::PieceTable {
  std::unordered_map<std::string_view, std::size_t> first;
  std::unordered_map<std::string_view, std::size_t> last;
  std::unordered_map<std::string_view, std::size_t> inner;

  explicit PieceTable(const std::vector<const Pattern*>& patterns) {
    for (const Pattern* pattern : patterns) {
      const auto pieces = pattern->pieces();
      ++first[pieces.first];
      ++last[pieces.last];
      for (const std::string_view piece : pieces.inner) ++inner[piece];
    }
  }
};

PatternIndex::PatternIndex(std::vector<const Pattern*> patterns) : patterns_(std::move(patterns)) {
  const PieceTable shared(patterns_);
  std::map<std::string, Numbers> first;
  std::map<std::string, Numbers> last;
  std::map<std::string, Numbers> inner;
  for (std::uint32_t number = 0; number < patterns_.size(); ++number) {
    const Pattern& pattern = *patterns_[number];
    if (pattern.is_plain()) {
      plain_[pattern.fill({})].push_back(number);
      continue;
    }
    const auto pieces = pattern.pieces();
    const auto by = [](const auto& counts, std::string_view piece) {
      return piece.empty() ? std::numeric_limits<std::size_t>::max() : counts.at(piece);
    };
    const std::size_t by_first = by(shared.first, pieces.first);
    const std::size_t by_last = by(shared.last, pieces.last);
    const std::size_t at_an_end = std::min({by_first, by_last, patterns_.size()});
    const auto rarest = std::min_element(pieces.inner.begin(), pieces.inner.end(),
                                         [&](auto a, auto b) { return shared.inner.at(a) < shared.inner.at(b); });
    if (rarest != pieces.inner.end() && shared.inner.at(*rarest) + worth_searching < at_an_end)
      inner[std::string(*rarest)].push_back(number);
    else if (pieces.first.empty() && pieces.last.empty())
      open_.push_back(number);
    else if (by_first <= by_last)
      first[std::string(pieces.first)].push_back(number);
    else
      last[backwards(pieces.last)].push_back(number);
  }
  first_ = Pieces(std::move(first));
  last_ = Pieces(std::move(last));
  inner_ = Pieces(std::move(inner));
}

void PatternIndex::for_each_candidate(std::string_view name,
                                      const std::function<bool(std::size_t number)>& visit) const {
  Runs runs;
  if (!open_.empty()) runs.emplace_back(open_);
  if (const auto found = plain_.find(std::string(name)); found != plain_.end()) runs.emplace_back(found->second);
  first_.find(name, runs);
  if (!last_.empty()) last_.find(backwards(name), runs);
  if (!inner_.empty())
    for (std::size_t at = 0; at < name.size(); ++at) inner_.find(name.substr(at), runs);

  const auto is_later = [](const auto& a, const auto& b) { return a.front() > b.front(); };
  std::make_heap(runs.begin(), runs.end(), is_later);
  while (!runs.empty()) {
    std::pop_heap(runs.begin(), runs.end(), is_later);
    auto& run = runs.back();
    if (visit(run.front())) return;
    run = run.subspan(1);
    if (run.empty())
      runs.pop_back();
    else
      std::push_heap(runs.begin(), runs.end(), is_later);
  }
}

std::optional<std::size_t> PatternIndex::first(std::string_view name, std::size_t from) const {
  std::optional<std::size_t> found;
  for_each_candidate(name, [&](std::size_t number) {
    if (number >= from && patterns_[number]->matches(name)) found = number;
    return found.has_value();
  });
  return found;
}

}  // namespace ckpt
