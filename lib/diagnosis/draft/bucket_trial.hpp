#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/draft/facts.hpp"
#include "diagnosis/draft/flat_buffer.hpp"
#include "layout/language/layout.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt::drafting {

/// The largest alignment of members that is tried, in elements.
inline constexpr std::uint64_t largest_align = 256;

/// A bucket's member, and where it was found.
struct LocatedMember {
  std::string name;
  std::uint64_t offset = 0;  ///< elements, in the buffer of the cards with coordinate 0 on the axes that cut
  std::uint64_t room = 0;    ///< elements to the next member, or to the buffer's end
};

/// Tries buckets for one stored name: the library's interpretation of them must be what the cards store. It refers to
/// mesh and facts.
class BucketTrial {
 public:
  BucketTrial(const Mesh& mesh, const NameFacts& facts) : mesh_(mesh), facts_(facts) {}

  /// Whether the bucket, as the library resolves it, has the lengths of the pieces with this stored name.
  bool has_length_of(const Bucket& bucket) const;

  /// Gives the bucket the least alignment and padding that put its members where they were found; false if none does.
  bool pad(Bucket& bucket, const std::vector<LocatedMember>& members, const FlatBuffer& buffer) const;

 private:
  std::vector<Holding> holdings_of(const Bucket& bucket) const;
  Placement resolved(const Bucket& bucket, const std::vector<Holding>& holdings) const;
  bool fits(const Placement& placement, const Bucket& bucket, const std::vector<LocatedMember>& members,
            const FlatBuffer& buffer) const;
  bool is_padding(const FlatBuffer& buffer, Interval elements) const;

  const Mesh& mesh_;
  const NameFacts& facts_;
};

}  // namespace ckpt::drafting
