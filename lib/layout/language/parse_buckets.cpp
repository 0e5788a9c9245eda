#include <algorithm>
#include <map>

#include "layout/language/form.hpp"
#include "layout/language/parse_keys.hpp"
#include "layout/language/parse_members.hpp"
#include "layout/language/parse_sections.hpp"
#include "layout/language/shared_cards.hpp"

namespace ckpt::parsing {

namespace {

/// Limit on buckets that share one stored name: each is for other cards, so more of them than a large mesh has stages
/// is a mistake.
constexpr std::size_t max_sharing = 4096;
/// Limit on the members of all buckets: the product of several names and shared members must not exhaust memory.
constexpr std::size_t max_members = std::size_t{1} << 23;

/// Checks an upper bound of the bucket's elements, as far as the layout alone determines it: members before they are
/// split.
void check_total(const Node& members, const Bucket& bucket, const Mesh& mesh) {
  const auto end_of = [&](std::uint64_t begin, std::uint64_t size, std::uint64_t step) {
    const auto end = sum({begin, size, step - 1});  // an upper bound of the next multiple of `step`
    if (!end) members.fail("members of 2^64 elements or more together", "fewer", "is \"align\" too large?");
    return *end / step * step;
  };
  std::uint64_t total = 0;
  for (const auto& member : bucket.members)
    if (member.keys.shape) total = end_of(total, *product(*member.keys.shape), bucket.align);
  const auto step = product({bucket.multiple_of, bucket.multiple_of_each, mesh.shape[bucket.axis]});
  if (!step) members.fail("a \"multiple_of\" whose product with the axis size is 2^64 or more", "a smaller one");
  end_of(total, 0, *step);
}

std::vector<std::string> parse_bucket_names(const Node& node) {
  if (!node.is_list()) return {node.text()};
  std::vector<std::string> names;
  for (const auto& item : node.items()) {
    names.push_back(item.text());
    if (std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1)
      item.fail(item.describe() + " a second time", "each name once");
    if (names.size() > max_sharing) node.fail("more than 4096 names", "fewer");
  }
  if (names.empty()) node.fail("a name, or a list of names that is not empty");
  return names;
}

/// The keys of a bucket. Its names and members are read by parse_bucket, which makes several buckets of one entry.
const ObjectForm<Bucket>& bucket_form() {
  static const auto form = [] {
    const auto read_later = [](const Node&, const Mesh&, Bucket&) {};
    const std::string name_schema =
        R"("anyOf": [{)" + text().schema + "}, {" +
        list_schema(text().schema, R"("minItems": 1, "maxItems": 4096, "uniqueItems": true)") + "}]";
    return ObjectForm<Bucket>()
        .add({"name", true,
              described("Of the stored array, after rename; a list: the same members in each.", name_schema),
              read_later, [](const Bucket& bucket, const Mesh&) { return json_string(bucket.name); }})
        .required("axis", &Bucket::axis, axis())
        .optional("align", &Bucket::align, positive(), "Each member starts at a multiple of this.")
        .optional("multiple_of", &Bucket::multiple_of, positive(), "The end is padded to a multiple of this.")
        .optional("multiple_of_each", &Bucket::multiple_of_each, positive(),
                  "The end is padded to a multiple of this times the size of the axis.")
        .optional("last", &Bucket::last_is_short, word(last_words),
                  "short: the padding is not stored: the last card's piece is shorter, or empty.")
        .add(at_key<Bucket>())
        .add({"members", true, members_schema(), read_later, members_of});
  }();
  return form;
}

/// Returns one bucket for each of its names. Deducts their members from `members_left`.
std::vector<Bucket> parse_bucket(const Node& node, const Mesh& mesh, std::size_t& members_left) {
  Bucket common;
  bucket_form().read(node, mesh, common);
  if (common.at) {
    if (const auto found = common.at->find(common.axis);
        found != common.at->end() && found->second.size() != mesh.shape[common.axis])
      node.member("at").fail(
          "only " + format_list(found->second) + " of \"" + mesh.axes[common.axis] + "\", over which the bucket is cut",
          "other axes, or all " + std::to_string(mesh.shape[common.axis]) + " coordinates",
          "is \"axis\" of the bucket the one that its pieces lie along?");
    if (common.at->empty()) common.at.reset();
  }
  const auto names = parse_bucket_names(node.member("name"));
  const auto members = node.member("members");
  std::vector<Bucket> buckets;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Bucket bucket = common;
    bucket.name = names[i];
    bucket.members = parse_members(members, mesh, common.axis, names, i);
    // Every name has as many members, so the first bucket shows whether all fit, before the others are made.
    if (bucket.members.size() > members_left / (names.size() - i))
      members.fail("more than 8388608 members in all buckets", "fewer");
    members_left -= bucket.members.size();
    check_total(members, bucket, mesh);
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

std::vector<Bucket> parse_all(const Node& node, const Mesh& mesh) {
  std::vector<Bucket> buckets;
  std::vector<std::size_t> item_of;  // by bucket
  std::map<std::string, std::vector<std::size_t>> by_name;
  std::size_t members_left = max_members;
  const auto items = node.items();
  for (std::size_t i = 0; i < items.size(); ++i)
    for (Bucket& bucket : parse_bucket(items[i], mesh, members_left)) {
      auto& same = by_name[bucket.name];
      for (const auto other : same)
        if (share_a_card(bucket.at, buckets[other].at))
          items[i].member("name").fail(
              "\"" + bucket.name + "\" again, on cards that have it from bucket " + std::to_string(item_of[other]),
              "another name, or an \"at\" that is disjoint from the other's");
      same.push_back(buckets.size());
      if (same.size() > max_sharing) items[i].fail("more than 4096 buckets of one name", "fewer");
      buckets.push_back(std::move(bucket));
      item_of.push_back(i);
    }
  return buckets;
}

}  // namespace

const Form<std::vector<Bucket>>& buckets_form() {
  static const Form<std::vector<Bucket>> form{
      list_schema(R"("$ref": {"name": "bucket", "schema": {)" + bucket_form().schema() + "}}"), parse_all,
      [](const std::vector<Bucket>& buckets, const Mesh& mesh) {
        return lines(buckets, [&](const Bucket& bucket) { return bucket_form().write(bucket, mesh); });
      }};
  return form;
}

}  // namespace ckpt::parsing
