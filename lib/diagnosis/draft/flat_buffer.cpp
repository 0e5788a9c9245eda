#include "diagnosis/draft/flat_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "base/interrupt.hpp"

namespace ckpt::drafting {

namespace {

constexpr std::uint64_t block_elements = 1 << 20;

bool is_uninformative(std::string_view bytes, std::uint64_t element) {
  if (bytes.size() == element) return bytes.find_first_not_of('\0') == std::string_view::npos;
  return bytes.empty() || bytes.substr(element) == bytes.substr(0, bytes.size() - element);
}

}  // namespace

FlatBuffer::FlatBuffer(const NameFacts& facts, std::vector<Position> cards, CardData& data)
    : stored_(facts.stored),
      element_(first_array(facts.pieces).dtype.size),
      cards_(std::move(cards)),
      starts_{0},
      data_(data) {
  for (const Position card : cards_) {
    const StoredArray* array = facts.pieces[card].array;
    starts_.push_back(starts_.back() + (array == nullptr ? 0 : numel(array->shape)));
  }
}

void FlatBuffer::read(Interval elements, std::span<std::byte> out) const {
  std::uint64_t done = 0;
  for (std::size_t c = 0; c < cards_.size(); ++c) {
    const Interval here = intersect(elements, {starts_[c], starts_[c + 1]});
    if (here.empty()) continue;
    data_.read(cards_[c], stored_, {here.lo - starts_[c], here.hi - starts_[c]},
               out.subspan(done * element_, here.size() * element_));
    done += here.size();
  }
}

std::map<std::string, std::uint64_t> find_beginnings(const FlatBuffer& buffer, std::uint64_t element,
                                                     const std::vector<Beginning>& beginnings) {
  // Looks them up by their first elements, and compares the rest of those that are found.
  std::vector<const Beginning*> telling;
  std::uint64_t shortest = ~std::uint64_t{0};
  std::uint64_t longest = 0;
  for (const Beginning& beginning : beginnings) {
    if (is_uninformative(beginning.bytes, element)) continue;
    telling.push_back(&beginning);
    shortest = std::min(shortest, beginning.bytes.size() / element);
    longest = std::max(longest, beginning.bytes.size() / element);
  }
  if (telling.empty()) return {};
  std::unordered_multimap<std::string, const Beginning*> wanted;
  for (const Beginning* beginning : telling) wanted.emplace(beginning->bytes.substr(0, shortest * element), beginning);
  std::map<std::string, std::uint64_t> found;
  std::string block;
  std::string key(shortest * element, '\0');
  for (std::uint64_t from = 0; from < buffer.size(); from += block_elements) {
    check_interrupt();
    const std::uint64_t to = std::min(buffer.size(), from + block_elements + longest - 1);
    block.resize((to - from) * element);
    buffer.read({from, to}, std::as_writable_bytes(std::span(block)));
    const std::uint64_t last = std::min(from + block_elements, to);
    for (std::uint64_t at = from; at < last && at + shortest <= to; ++at) {
      const std::string_view rest = std::string_view(block).substr((at - from) * element);
      std::memcpy(key.data(), rest.data(), key.size());
      const auto [first, end] = wanted.equal_range(key);
      for (auto each = first; each != end; ++each)
        if (rest.starts_with(each->second->bytes)) found.emplace(each->second->name, at);
    }
  }
  return found;
}

}  // namespace ckpt::drafting
