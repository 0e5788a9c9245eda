#include "layout/language/parse_members.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "layout/language/parse_keys.hpp"
#include "layout/names/pattern_index.hpp"

namespace ckpt::parsing {

namespace {

constexpr const char* bucket_word = "{bucket}";
constexpr const char* param_word = "{param}";

bool holds(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

std::string replaced(std::string text, const std::string& word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

/// Refuses a misspelt word in braces, which would otherwise become part of every name.
void check_words(const Node& node, const std::string& text) {
  const std::string rest = replaced(replaced(text, bucket_word, ""), param_word, "");
  if (rest.find_first_of("{}") != std::string::npos)
    node.fail(node.describe(), R"(no other braces than those of "{bucket}" and "{param}")");
}

void check_not_itself(const Node& node, const BucketMember& member) {
  if (member.like == member.name)
    node.fail("\"" + member.name + "\", the member's own name", "another parameter, whose shape and keys are borrowed");
}

const ObjectForm<BucketMember>& member_form() {
  static const auto form = ObjectForm<BucketMember>()
                               .required("name", &BucketMember::name, text())
                               .optional("like", &BucketMember::like, text(),
                                         "The parameter whose shape and keys are borrowed; keys beside it override.")
                               .take(&BucketMember::keys, keys_form(),
                                     {"shape", "split", "uneven", "sizes", "parts", "pad", "flat", "permute"})
                               .checked(
                                   [](const Node& node, const Mesh& mesh, BucketMember& member) {
                                     if (!member.like && !member.keys.shape)
                                       node.fail("no key \"shape\"", R"(it, or "like" to borrow another parameter's)");
                                     check_keys(node, mesh, member.keys, member.like.has_value());
                                   },
                                   R"("anyOf": [{"required": ["shape"]}, {"required": ["like"]}])");
  return form;
}

/// Refuses keys that cut a member in another way than its bucket is.
void check_axis(const Node& node, const BucketMember& member, const Mesh& mesh, Axis axis) {
  if (member.keys.split)
    for (const auto& axes : *member.keys.split)
      if (std::find(axes.begin(), axes.end(), axis) != axes.end())
        node.member("split").fail("the axis \"" + mesh.axes[axis] + "\", over which the bucket itself is cut",
                                  "other axes of the mesh");
  if (member.keys.flat && member.keys.flat->axis != axis)
    node.member("flat").member("axis").fail("\"" + mesh.axes[member.keys.flat->axis] + "\"",
                                            "\"" + mesh.axes[axis] + "\", over which the bucket is cut");
}

std::vector<BucketMember> parse_list(const Node& node, const Mesh& mesh, Axis axis,
                                     const std::vector<std::string>& buckets, std::size_t which) {
  std::vector<BucketMember> members;
  for (const auto& item : node.items()) {
    BucketMember& member = members.emplace_back();
    member_form().read(item, mesh, member);
    check_axis(item, member, mesh, axis);
    if (buckets.size() > 1) {
      if (!holds(member.name, bucket_word))
        item.member("name").fail(item.member("name").describe() + ", the same in each of several buckets",
                                 "\"{bucket}\" in it");
      member.name = replaced(member.name, bucket_word, buckets[which]);
      if (member.like) member.like = replaced(*member.like, bucket_word, buckets[which]);
    }
    if (member.like) check_not_itself(item.member("like"), member);
  }
  return members;
}

/// The shapes that `shapes` gives by names or patterns.
class Shapes {
 public:
  explicit Shapes(const std::optional<Node>& node) {
    if (!node) return;
    for (const auto& key : node->keys()) {
      const Node value = node->member(key);
      patterns_.push_back(with_context(value.place(), [&] { return Pattern(key); }));
      if (!patterns_.back().captures().empty())
        value.fail("captures in \"" + key + "\"", "a name, or a pattern with * ? and sets only");
      shapes_.push_back(shape_form().read(value, {}));
      places_.push_back(value);
    }
    is_used_.assign(patterns_.size(), false);
    index_ = PatternIndex::of(patterns_);
  }

  /// Returns nothing if no key matches; a key that is the exact name takes precedence over patterns.
  std::optional<std::vector<std::uint64_t>> of(const Node& place, const std::string& param) {
    std::optional<std::size_t> found;
    for (auto at = index_.first(param); at; at = index_.first(param, *at + 1)) {
      is_used_[*at] = true;
      if (patterns_[*at].is_plain() || !found) {
        found = at;
        if (patterns_[*at].is_plain()) break;
      } else {
        place.fail(R"(two keys of "shapes" for ")" + param + "\": \"" + patterns_[*found].text() + "\" and \"" +
                       patterns_[*at].text() + "\"",
                   "one");
      }
    }
    return found ? std::optional(shapes_[*found]) : std::nullopt;
  }

  void check_used() const {
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (!is_used_[i])
        places_[i].fail("\"" + patterns_[i].text() + R"(", which none of "params" matches)", "only what is needed");
  }

 private:
  std::vector<Pattern> patterns_;
  std::vector<std::vector<std::uint64_t>> shapes_;
  std::vector<Node> places_;
  std::vector<bool> is_used_;
  PatternIndex index_;
};

/// Parses `as`: one template for all of the buckets, or one for each.
std::string parse_as(const Node& node, const std::vector<std::string>& buckets, std::size_t which) {
  if (node.is_list() && node.items().size() != buckets.size())
    node.fail(std::to_string(node.items().size()) + " templates",
              std::to_string(buckets.size()) + R"(, one for each "name" of the bucket)");
  const Node own = node.is_list() ? node.item(which) : node;
  const std::string as = own.text();
  if (!holds(as, param_word)) own.fail(own.describe(), "a template with \"{param}\" in it");
  if (!node.is_list() && buckets.size() > 1 && !holds(as, bucket_word))
    own.fail(own.describe() + ", the same in each of several buckets", "\"{bucket}\" in it, or a list of templates");
  check_words(own, as);
  return as;
}

std::vector<BucketMember> parse_object(const Node& node, const std::vector<std::string>& buckets, std::size_t which) {
  node.check_keys({"as", "params", "like", "shapes"}, {"as", "params"});
  const std::string as = replaced(parse_as(node.member("as"), buckets, which), bucket_word, buckets[which]);
  std::optional<std::string> like;
  if (const auto found = node.find("like")) {
    check_words(*found, found->text());
    if (!holds(found->text(), param_word)) found->fail(found->describe(), "a template with \"{param}\" in it");
    like = replaced(found->text(), bucket_word, buckets[which]);
  }
  Shapes shapes(node.find("shapes"));
  std::vector<BucketMember> members;
  for (const auto& param : node.member("params").items()) {
    const std::string name = param.text();
    BucketMember member;
    member.name = replaced(as, param_word, name);
    if (like) member.like = replaced(*like, param_word, name);
    member.keys.shape = shapes.of(param, name);
    if (!member.like && !member.keys.shape)
      param.fail("no shape of \"" + name + "\"", R"(it in "shapes", or "like" to borrow another parameter's)");
    if (member.like) check_not_itself(node.member("like"), member);
    members.push_back(std::move(member));
  }
  shapes.check_used();
  return members;
}

/// Returns the node that names the member at index `number`.
Node place_of(const Node& node, std::size_t number) {
  return node.is_list() ? node.item(number).member("name") : node.member("params").item(number);
}

constexpr std::string_view as_schema =
    R"("$ref": {"name": "as", "schema": {)"
    R"("description": "What a member is called: {param} is one of \"params\", {bucket} the bucket's name.", )"
    R"("type": "string", )"
    R"("pattern": "^([^{}\\u0000]|\\{bucket\\})*\\{param\\}([^{}\\u0000]|\\{bucket\\}|\\{param\\})*$"}})";

/// The schema of members that are given as an object; they are written as a list.
std::string members_object_schema() {
  const std::string as(as_schema);
  return R"("$ref": {"name": "members", "schema": {"description": "One member for each of \"params\", in this order.", )"
         R"("type": "object", "properties": {"as": {"description": "One template, or one for each name of the bucket.", )"
         R"("anyOf": [{)" +
         as + "}, {" + list_schema(as, R"("minItems": 1)") + "}]}, \"like\": {" +
         described("The parameter whose shape and keys a member borrows.", as) + "}, \"params\": {" +
         list_schema(text().schema, R"("minItems": 1, "uniqueItems": true)") + "}, \"shapes\": {" +
         described("Shapes by names or patterns of \"params\", where \"like\" does not tell them.",
                   R"("type": "object", "propertyNames": {)" + glob().schema + R"(}, "additionalProperties": {)" +
                       shape_form().schema + "}") +
         R"(}}, "additionalProperties": false, "required": ["as", "params"], )"
         R"("anyOf": [{"required": ["like"]}, {"required": ["shapes"]}]}})";
}

}  // namespace

std::string members_schema() {
  return R"("anyOf": [{)" +
         list_schema(R"("$ref": {"name": "member", "schema": {)" + member_form().schema() + "}}", R"("minItems": 1)") +
         "}, {" + members_object_schema() + "}]";
}

std::string members_of(const Bucket& bucket, const Mesh& mesh) {
  return listed(bucket.members, [&](const BucketMember& member) {
    if (member.like) return member_form().write(member, mesh);
    return member_form().write({member.name, {}, member.keys.plain()}, mesh);
  });
}

std::vector<BucketMember> parse_members(const Node& node, const Mesh& mesh, Axis axis,
                                        const std::vector<std::string>& buckets, std::size_t which) {
  if (!node.is_list() && !node.is_object()) node.fail("a list of members, or an object that names them");
  auto members = node.is_list() ? parse_list(node, mesh, axis, buckets, which) : parse_object(node, buckets, which);
  if (members.empty()) (node.is_list() ? node : node.member("params")).fail("one member at least");
  std::set<std::string> names;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!names.insert(members[i].name).second)
      place_of(node, i).fail("the member \"" + members[i].name + "\" a second time", "each name once");
  return members;
}

}  // namespace ckpt::parsing
