#include "tables/keyed/repeated_keys.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "tensor/mix.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t bucket_keys = 4096;
constexpr std::size_t places = 1 << 16;      // of a bucket's values; their bits stay in the first-level cache
constexpr unsigned fine_bits = 14;           // of the counters that are filled before the number of buckets is known
constexpr std::size_t mixed_keys = 1 << 12;  // at a time
constexpr unsigned all_bits = 64;            // of a value
constexpr std::uint64_t least_kept = 1 << 16;

/// Returns the top `bits` bits of a value; 0 if bits is 0.
std::uint64_t top(std::uint64_t value, unsigned bits) {
  return bits == 0 ? 0 : value >> (64 - bits);
}

/// Returns bits of a value that neither its subset nor its bucket determines.
std::uint16_t place_of(std::uint64_t value) {
  return static_cast<std::uint16_t>(value >> 32);
}

/// Calls take(values) with the mixed keys of a subset, rotated so that the bits of the subset are last.
template <class Take>
void for_each_mixed(const RepeatedKeys::Read& read, KeySubset subset, const Take& take) {
  std::array<std::uint64_t, mixed_keys> mixed;
  read([&](std::span<const std::uint64_t> keys) {
    while (!keys.empty()) {
      const auto piece = keys.first(std::min(mixed_keys, keys.size()));
      keys = keys.subspan(piece.size());
      std::size_t count = 0;
      for (const std::uint64_t key : piece) {
        const std::uint64_t value = mix(key);
        mixed[count] = std::rotl(value, static_cast<int>(subset.bits));
        count += top(value, subset.bits) == subset.number ? 1 : 0;
      }
      take(std::span(mixed).first(count));
    }
  });
}

/// Adds the values that occur more than once in a sorted list.
void add_adjacent(std::span<const std::uint64_t> sorted, std::vector<std::uint64_t>& found) {
  const auto end = sorted.end();
  for (auto at = std::adjacent_find(sorted.begin(), end); at != end && found.size() < RepeatedKeys::most_named;
       at = std::adjacent_find(at, end)) {
    found.push_back(*at);
    at = std::upper_bound(at, end, *at);
  }
}

}  // namespace

void RepeatedKeys::choose_buckets(std::uint64_t all) {
  bucket_bits_ = std::min(static_cast<unsigned>(std::bit_width(all / bucket_keys)), fine_bits);
  ends_ = {0, all};
  if (bucket_bits_ == 0) return;  // for many short lists, clearing the counters would take longer than the lists
  const unsigned shift = fine_bits - bucket_bits_;
  ends_.assign((std::size_t{1} << bucket_bits_) + 1, 0);
  for (std::size_t i = 0; i < fine_.size(); ++i) ends_[(i >> shift) + 1] += fine_[i];
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
}

/// Returns memory for `count` values.
std::uint64_t* RepeatedKeys::values_of(std::uint64_t count) {
  if (buckets_.size() < count * sizeof(std::uint64_t)) {
    buckets_ = {};
    buckets_ = Buffer(count * sizeof(std::uint64_t));
  }
  return reinterpret_cast<std::uint64_t*>(buckets_.data());
}

/// Puts the values into their buckets, whose beginnings become their ends. Returns false if the values are not those
/// that were counted.
bool RepeatedKeys::gather(const Read& read, KeySubset subset, std::uint64_t count) {
  std::uint64_t* const values = values_of(count);
  const std::vector<std::uint64_t> bounds = ends_;
  bool is_same = true;
  for_each_mixed(read, subset, [&](std::span<const std::uint64_t> mixed) {
    for (const std::uint64_t value : mixed) {
      const std::uint64_t at = ends_[top(value, bucket_bits_)]++;
      if (at < count)
        values[at] = value;
      else
        is_same = false;
    }
  });
  return is_same && std::equal(bounds.begin() + 1, bounds.end(), ends_.begin());
}

/// Skips the count: distinct keys fill equally large buckets evenly. Returns false, without results, if a bucket
/// overflows.
bool RepeatedKeys::add_at_once(const Read& read, KeySubset subset, std::uint64_t most, std::uint64_t expected,
                               KeyList& found) {
  if (expected < bucket_keys) return false;
  const unsigned bits = std::min(static_cast<unsigned>(std::bit_width(expected / bucket_keys)), fine_bits);
  const std::uint64_t room = ((expected >> bits) + 1) * 9 / 8;  // more than five standard deviations above the mean
  if (room << bits > most) return false;
  std::uint64_t* const values = values_of(room << bits);
  ends_.resize(std::size_t{1} << bits);
  for (std::size_t bucket = 0; bucket < ends_.size(); ++bucket) ends_[bucket] = bucket * room;
  bool has_room = true;
  for_each_mixed(read, subset, [&](std::span<const std::uint64_t> mixed) {
    for (const std::uint64_t value : mixed) {
      const std::uint64_t bucket = top(value, bits);
      const std::uint64_t at = ends_[bucket];
      const bool fits = at < (bucket + 1) * room;
      has_room = has_room && fits;
      if (!fits) continue;
      values[at] = value;
      ends_[bucket] = at + 1;
    }
  });
  if (!has_room) return false;
  for (std::size_t bucket = 0; bucket < ends_.size() && found.size() < most_named; ++bucket)
    add_repeated({values + bucket * room, values + ends_[bucket]}, found);
  for (std::uint64_t& value : found) value = unmixed(std::rotr(value, static_cast<int>(subset.bits)));
  return true;
}

/// Finds the places that several values share first, then these values: few, unless keys repeat.
void RepeatedKeys::add_repeated(std::span<std::uint64_t> bucket, KeyList& found) {
  if (bucket.size() > places) {  // all places would be taken
    std::sort(bucket.begin(), bucket.end());
    return add_adjacent(bucket, found);
  }
  constexpr unsigned word = 64;
  seen_.assign(places / word, 0);
  if (places_.size() < bucket.size()) places_.resize(bucket.size());
  std::size_t shared = 0;
  for (const std::uint64_t value : bucket) {
    const std::uint16_t place = place_of(value);
    std::uint64_t& bits = seen_[place / word];
    places_[shared] = place;
    shared += bits >> place % word & 1;
    bits |= std::uint64_t{1} << place % word;
  }
  if (shared == 0) return;
  seen_.assign(places / word, 0);
  for (std::size_t i = 0; i < shared; ++i) seen_[places_[i] / word] |= std::uint64_t{1} << places_[i] % word;
  if (candidates_.size() < bucket.size()) candidates_.resize(bucket.size());
  std::size_t count = 0;
  for (const std::uint64_t value : bucket) {
    candidates_[count] = value;
    count += seen_[place_of(value) / word] >> place_of(value) % word & 1;
  }
  const auto candidates = std::span(candidates_).first(count);
  std::sort(candidates.begin(), candidates.end());
  add_adjacent(candidates, found);
}

/// Handles more keys than there is room for: the same ones repeat, or they were made to collide. Looks at the subset's
/// parts instead, each with some more bits, and skips those that cannot contain two keys.
bool RepeatedKeys::add_of_parts(const Read& read, KeySubset subset, std::uint64_t most, KeyList& found) {
  const unsigned more = std::min(fine_bits, all_bits - subset.bits);
  const std::vector<std::uint64_t> fine = fine_;  // each part replaces fine_ in its turn
  const auto keys_in = [&](unsigned bits, std::uint64_t number) {
    const std::size_t each = fine.size() >> bits;
    const auto begin = fine.begin() + static_cast<std::ptrdiff_t>(number * each);
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(each), std::uint64_t{0});
  };
  for (std::uint64_t at = 0, step = 0; at < 1ULL << more && found.size() < most_named; at += step) {
    unsigned bits = more;  // of the largest part that begins here and fits
    while (bits > 1 && (at & ((2ULL << (more - bits)) - 1)) == 0 && keys_in(bits - 1, at >> (more - bits + 1)) <= most)
      --bits;
    step = 1ULL << (more - bits);
    const std::uint64_t number = at >> (more - bits);
    if (keys_in(bits, number) < 2) continue;
    if (!add_found(read, {subset.bits + bits, subset.number << bits | number}, most, found)) return false;
  }
  return true;
}

/// Returns false if two readings differed.
bool RepeatedKeys::add_found(const Read& read, KeySubset subset, std::uint64_t most, KeyList& found) {
  fine_.assign(std::size_t{1} << fine_bits, 0);
  std::uint64_t all = 0;
  for_each_mixed(read, subset, [&](std::span<const std::uint64_t> values) {
    for (const std::uint64_t value : values) ++fine_[top(value, fine_bits)];
    all += values.size();
  });
  if (subset.bits == all_bits) {  // a single value
    if (all > 1) found.push_back(unmixed(subset.number));
    return true;
  }
  if (all > most) return add_of_parts(read, subset, most, found);
  choose_buckets(all);
  if (!gather(read, subset, all)) return false;
  const std::span values(values_of(all), static_cast<std::size_t>(all));
  const std::size_t before = found.size();
  std::uint64_t begin = 0;
  for (std::size_t bucket = 0; bucket + 1 < ends_.size() && found.size() < most_named; ++bucket) {
    add_repeated(values.subspan(begin, ends_[bucket] - begin), found);
    begin = ends_[bucket];
  }
  for (std::size_t i = before; i < found.size(); ++i)
    found[i] = unmixed(std::rotr(found[i], static_cast<int>(subset.bits)));
  return true;
}

std::optional<std::vector<std::uint64_t>> RepeatedKeys::find(const Read& read, KeySubset subset, std::uint64_t most,
                                                             std::uint64_t expected) {
  KeyList found;
  most = std::max<std::uint64_t>(most, least_kept);
  if (!add_at_once(read, subset, most, expected, found) && !add_found(read, subset, most, found)) return std::nullopt;
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::uint64_t> RepeatedKeys::find(std::span<const std::uint64_t> keys, KeySubset subset) {
  if (keys.size() > bucket_keys) return find([&](const Take& take) { take(keys); }, subset, keys.size()).value();
  few_.resize(keys.size());
  std::transform(keys.begin(), keys.end(), few_.begin(), mix);
  KeyList found;
  add_repeated(few_, found);
  std::transform(found.begin(), found.end(), found.begin(), unmixed);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ckpt
