#include <algorithm>
#include <map>
#include <set>

#include "layout/parse_keys.hpp"
#include "layout/parse_sections.hpp"

namespace ckpt::parsing {

namespace {

/// Buckets that may share one stored name: each holds other cards, so more than a large mesh has stages is a mistake.
constexpr std::size_t max_sharing = 4096;

BucketMember parse_member(const Node& node, const Mesh& mesh, Axis axis) {
  node.check_keys({"name", "shape", "split", "uneven", "sizes", "parts", "pad", "permute"}, 2);
  BucketMember member;
  member.name = node.member("name").text();
  member.keys = parse_keys(node, mesh, false);
  member.shape = std::move(*member.keys.shape);
  member.keys.shape.reset();
  if (member.keys.split)
    for (const auto& axes : *member.keys.split)
      if (std::find(axes.begin(), axes.end(), axis) != axes.end())
        node.member("split").fail("the axis \"" + mesh.axes[axis] + "\", over which the bucket itself is cut",
                                  "other axes of the mesh");
  return member;
}

/// An upper bound of the bucket's elements: members before they are split.
void check_total(const Node& members, const Bucket& bucket, const Mesh& mesh) {
  const auto end_of = [&](std::uint64_t begin, std::uint64_t size, std::uint64_t step) {
    const auto end = sum({begin, size, step - 1});  // the next multiple of step lies at or before it
    if (!end) members.fail("members of 2^64 elements or more together", "fewer", "is \"align\" too large?");
    return *end / step * step;
  };
  std::uint64_t total = 0;
  for (const auto& member : bucket.members) total = end_of(total, *product(member.shape), bucket.align);
  const auto step = product({bucket.multiple_of, mesh.shape[bucket.axis]});
  if (!step) members.fail("a \"multiple_of\" whose product with the axis size is 2^64 or more", "a smaller one");
  end_of(total, 0, *step);
}

Bucket parse_bucket(const Node& node, const Mesh& mesh) {
  node.check_keys({"name", "axis", "members", "align", "multiple_of", "at"}, 3);
  Bucket bucket;
  bucket.name = node.member("name").text();
  bucket.axis = node.member("axis").axis(mesh);
  if (const auto align = node.find("align")) bucket.align = align->number(1);
  if (const auto multiple = node.find("multiple_of")) bucket.multiple_of = multiple->number(1);
  if (const auto at = node.find("at")) {
    ParsedAt parsed = parse_at(*at, mesh);
    bucket.at = std::move(parsed.at);
    bucket.at_last = std::move(parsed.last);
  }
  std::set<std::string> names;
  const auto members = node.member("members");
  for (const auto& item : members.items()) {
    bucket.members.push_back(parse_member(item, mesh, bucket.axis));
    if (!names.insert(bucket.members.back().name).second)
      item.member("name").fail("the member " + item.member("name").describe() + " a second time", "each name once");
  }
  if (bucket.members.empty()) members.fail("one member at least");
  check_total(members, bucket, mesh);
  return bucket;
}

bool share_one(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size(); a[i] < b[j] ? ++i : ++j)
    if (a[i] == b[j]) return true;
  return false;
}

/// Whether two buckets lie on some card both: they don't where on some axis they have no coordinate in common.
bool share_a_card(const Bucket& a, const Bucket& b) {
  if (!a.at || !b.at) return true;
  return std::all_of(a.at->begin(), a.at->end(), [&](const auto& entry) {
    const auto other = b.at->find(entry.first);
    return other == b.at->end() || share_one(entry.second, other->second);
  });
}

}  // namespace

std::vector<Bucket> parse_buckets(const Node& node, const Mesh& mesh) {
  std::vector<Bucket> buckets;
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (const auto& item : node.items()) {
    buckets.push_back(parse_bucket(item, mesh));
    const auto& bucket = buckets.back();
    auto& same = by_name[bucket.name];
    for (const auto other : same)
      if (share_a_card(bucket, buckets[other]))
        item.member("name").fail(
            item.member("name").describe() + " again, on cards that have it from bucket " + std::to_string(other),
            "another name, or an \"at\" that is disjoint from the other's");
    same.push_back(buckets.size() - 1);
    if (same.size() > max_sharing) item.fail("more than 4096 buckets of one name", "fewer");
  }
  return buckets;
}

}  // namespace ckpt::parsing
