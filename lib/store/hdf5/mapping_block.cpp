#include "store/hdf5/mapping_block.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>

namespace ckpt::hdf5 {

namespace {

/// The first number of an encoded selection.
constexpr std::uint32_t hyperslab_kind = 2;
constexpr std::uint32_t all_kind = 3;

template <class Number>
void put(std::string& out, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

bool is_one_block(const Hyperslab& hyperslab) {
  return std::all_of(hyperslab.stripes.begin(), hyperslab.stripes.end(), [](const Hyperslab::Stripe& stripe) {
    return stripe.count == 1 && stripe.start + stripe.block <= std::numeric_limits<std::uint32_t>::max();
  });
}

/// Version 1: a list of blocks by their first and last elements, in 32 bits each.
void put_block(std::string& out, const Hyperslab& hyperslab) {
  const auto rank = static_cast<std::uint32_t>(hyperslab.stripes.size());
  put(out, std::uint32_t{1});
  put(out, std::uint32_t{0});
  put(out, std::uint32_t{8} + rank * 8);  // number of bytes that follow
  put(out, rank);
  put(out, std::uint32_t{1});
  for (const auto& stripe : hyperslab.stripes) put(out, static_cast<std::uint32_t>(stripe.start));
  for (const auto& stripe : hyperslab.stripes) put(out, static_cast<std::uint32_t>(stripe.start + stripe.block - 1));
}

/// Version 2: a regular hyperslab, in 64-bit numbers.
void put_regular(std::string& out, const Hyperslab& hyperslab) {
  const auto rank = static_cast<std::uint32_t>(hyperslab.stripes.size());
  put(out, std::uint32_t{2});
  put(out, std::uint8_t{1});  // regular
  put(out, std::uint32_t{4} + rank * 32);
  put(out, rank);
  for (const auto& stripe : hyperslab.stripes) {
    put(out, stripe.start);
    put(out, std::max(stripe.stride, stripe.block));
    put(out, stripe.count);
    put(out, stripe.block);
  }
}

void put_selection(std::string& out, const Hyperslab& hyperslab) {
  if (hyperslab.stripes.empty()) {
    put(out, all_kind);
    put(out, std::uint32_t{1});
    put(out, std::uint64_t{0});
    return;
  }
  put(out, hyperslab_kind);
  if (is_one_block(hyperslab))
    put_block(out, hyperslab);
  else
    put_regular(out, hyperslab);
}

/// HDF5's checksum of metadata: Bob Jenkins' lookup3 over bytes, beginning with 0.
class Checksum {
 public:
  static std::uint32_t of(const std::string& bytes) {
    Checksum sum(bytes.size());
    std::size_t at = 0;
    for (; bytes.size() - at > block; at += block) {
      sum.add(bytes, at, block);
      sum.mix();
    }
    sum.add(bytes, at, bytes.size() - at);
    sum.finish();
    return sum.words_[2];
  }

 private:
  static constexpr std::size_t block = 12;

  explicit Checksum(std::size_t bytes) { words_.fill(0xdeadbeef + static_cast<std::uint32_t>(bytes)); }

  void add(const std::string& bytes, std::size_t at, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      words_[i / 4] += std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * (i % 4));
  }

  void mix() {
    auto& [a, b, c] = words_;
    a = (a - c) ^ std::rotl(c, 4), c += b;
    b = (b - a) ^ std::rotl(a, 6), a += c;
    c = (c - b) ^ std::rotl(b, 8), b += a;
    a = (a - c) ^ std::rotl(c, 16), c += b;
    b = (b - a) ^ std::rotl(a, 19), a += c;
    c = (c - b) ^ std::rotl(b, 4), b += a;
  }

  void finish() {
    auto& [a, b, c] = words_;
    c = (c ^ b) - std::rotl(b, 14);
    a = (a ^ c) - std::rotl(c, 11);
    b = (b ^ a) - std::rotl(a, 25);
    c = (c ^ b) - std::rotl(b, 16);
    a = (a ^ c) - std::rotl(c, 4);
    b = (b ^ a) - std::rotl(a, 14);
    c = (c ^ b) - std::rotl(b, 24);
  }

  std::array<std::uint32_t, 3> words_{};
};

}  // namespace

std::string escaped(const std::string& name) {
  std::string escaped;
  for (const char c : name) escaped.append(c == '%' ? "%%" : std::string(1, c));
  return escaped;
}

std::string mapping_block(const std::vector<View>& views, const std::vector<ViewedFile>& viewed) {
  std::string block;
  put(block, std::uint8_t{0});  // version
  put(block, std::uint64_t{views.size()});
  for (const View& view : views) {
    block += escaped(viewed.at(view.file).path) + '\0';
    block += '/' + escaped(view.dataset) + '\0';
    put_selection(block, view.theirs);
    put_selection(block, view.ours);
  }
  put(block, Checksum::of(block));
  return block;
}

}  // namespace ckpt::hdf5
