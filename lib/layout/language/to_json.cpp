#include <algorithm>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "layout/language/layout.hpp"
#include "layout/language/parse_words.hpp"
#include "layout/language/rule_json.hpp"
#include "tables/language/paddle_tables.hpp"
#include "tables/language/table_json.hpp"

namespace ckpt {

namespace {

using nlohmann::json;

std::string json_string(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

template <class Items, class Write>
std::string list(const Items& items, const Write& write) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ", ";
    text += write(item);
  }
  return text + "]";
}

template <class Numbers>
std::string numbers(const Numbers& values) {
  return list(values, [](std::uint64_t value) { return number(value); });
}

template <std::size_t Count, class Value>
std::string word(const std::array<parsing::Word<Value>, Count>& words, Value value) {
  const auto* const found = std::find_if(words.begin(), words.end(), [&](const auto& w) { return w.value == value; });
  return json_string(std::string(found->text));
}

/// An object on one line, with its keys in the order of their addition.
class Object {
 public:
  Object& add(const std::string& key, const std::string& value) {
    if (text_.size() > 1) text_ += ", ";
    text_.append(json_string(key)).append(": ").append(value);
    return *this;
  }
  Object& add_if(bool wanted, const std::string& key, const std::string& value) {
    return wanted ? add(key, value) : *this;
  }
  std::string text() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

/// The document: each top-level key on a line of its own, and each item of its lists of rules.
class Document {
 public:
  void add(std::string_view key, const std::string& value) {
    text_.append(text_.empty() ? "{\n  \"" : ",\n  \"").append(key).append("\": ").append(value);
  }

  template <class Items, class Write>
  void add_list(std::string_view key, const Items& items, const Write& write) {
    if (items.empty()) return;
    std::string value;
    for (const auto& item : items) value.append(value.empty() ? "[\n    " : ",\n    ").append(write(item));
    add(key, value + "\n  ]");
  }

  std::string text() const { return text_ + "\n}\n"; }

 private:
  std::string text_;
};

std::string axes_of(const std::vector<Axis>& axes, const Mesh& mesh) {
  const auto name = [&](Axis axis) { return json_string(mesh.axes[axis]); };
  if (axes.empty()) return "null";
  return axes.size() == 1 ? name(axes.front()) : list(axes, name);
}

std::string at_of(const At& at, const At& last, const Mesh& mesh) {
  Object object;
  for (const auto& [axis, coordinates] : at) {
    const auto beside = last.find(axis);
    std::vector<std::string> words;
    for (const auto coordinate : beside == last.end() ? coordinates : beside->second)
      words.push_back(number(coordinate));
    if (beside != last.end()) words.push_back(json_string("last"));
    const auto as_it_is = [](const std::string& text) { return text; };
    object.add(mesh.axes[axis], words.size() == 1 ? words.front() : list(words, as_it_is));
  }
  return object.text();
}

std::string sizes_of(const std::map<std::size_t, std::vector<std::uint64_t>>& sizes) {
  Object object;
  for (const auto& [dim, list_of_sizes] : sizes) object.add(number(dim), numbers(list_of_sizes));
  return object.text();
}

std::string parts_of(const Parts& parts) {
  Object object;
  object.add("dim", number(parts.dim));
  object.add_if(parts.count == 0, "sizes", numbers(parts.sizes)).add_if(parts.count != 0, "count", number(parts.count));
  return object.text();
}

std::string pad_of(const std::map<std::size_t, Pad>& pads) {
  Object object;
  for (const auto& [dim, pad] : pads) {
    Object entry;
    entry.add("size", number(pad.size)).add_if(pad.multiple_of != 1, "multiple_of", number(pad.multiple_of));
    entry.add_if(pad.fill != Fill::zero, "fill", word(parsing::fill_words, pad.fill));
    object.add(number(dim), entry.text());
  }
  return object.text();
}

std::string flat_of(const Flat& flat, const Mesh& mesh) {
  Object object;
  object.add("axis", json_string(mesh.axes[flat.axis]));
  return object.add_if(flat.multiple_of != 1, "multiple_of", number(flat.multiple_of)).text();
}

std::string boxes_of(const Boxes& boxes) {
  Object object;
  for (const auto& [card, box] : boxes) {
    std::vector<Interval> sides;
    for (std::size_t d = 0; d < box.rank(); ++d) sides.push_back(box[d]);
    const auto ends = [](Interval side) { return "[" + number(side.lo) + ", " + number(side.hi) + "]"; };
    object.add(number(card), list(sides, ends));
  }
  return object.text();
}

/// Appends the keys. Keys with their default values are left out, unless the rule borrows: then they override.
void add_keys(Object& object, const Keys& keys, const Mesh& mesh, bool borrows) {
  if (keys.split && (borrows || !keys.split->empty()))
    object.add("split", list(*keys.split, [&](const auto& axes) { return axes_of(axes, mesh); }));
  if (keys.uneven && (borrows || *keys.uneven != Uneven::exact))
    object.add("uneven", word(parsing::uneven_words, *keys.uneven));
  if (keys.sizes && (borrows || !keys.sizes->empty())) object.add("sizes", sizes_of(*keys.sizes));
  if (keys.parts) object.add("parts", parts_of(*keys.parts));
  if (keys.pad && (borrows || !keys.pad->empty())) object.add("pad", pad_of(*keys.pad));
  if (keys.flat) object.add("flat", flat_of(*keys.flat, mesh));
  if (keys.shape) object.add("shape", numbers(*keys.shape));
  if (keys.permute) object.add("permute", numbers(*keys.permute));
  if (keys.boxes) object.add("boxes", boxes_of(*keys.boxes));
  if (keys.grid) object.add("grid", list(*keys.grid, [](std::uint64_t n) { return n == 0 ? "null" : number(n); }));
  if (keys.at && (borrows || !keys.at->empty())) object.add("at", at_of(*keys.at, keys.at_last, mesh));
}

void add_replicas(Object& object, const Keys& keys, bool borrows) {
  if (keys.replicas && (borrows || *keys.replicas != Replicas::check))
    object.add("replicas", word(parsing::replicas_words, *keys.replicas));
}

std::string rule_of(const Rule& rule, const Mesh& mesh) {
  Object object;
  const auto text = [](const Pattern& pattern) { return json_string(pattern.text()); };
  object.add("name", rule.names.size() == 1 ? text(rule.names.front()) : list(rule.names, text));
  add_keys(object, rule.keys, mesh, rule.like.has_value());
  if (rule.like) object.add("like", text(*rule.like));
  if (rule.equals) object.add("equals", text(*rule.equals));
  add_replicas(object, rule.keys, rule.like.has_value());
  return object.text();
}

std::string rename_of(const Rename& rename) {
  const std::string& stored = rename.of_card.empty() ? rename.stored.text() : rename.of_card;
  return Object().add("stored", json_string(stored)).add("name", json_string(rename.name.text())).text();
}

std::string index_of(const IndexRule& index, const Mesh& mesh) {
  Object object;
  object.add("in", json_string(index.in.text())).add("axis", axes_of(index.axes, mesh));
  if (index.total && index.counts.empty()) object.add("total", number(*index.total));
  object.add_if(index.numbering != Numbering::global, "numbering", word(parsing::numbering_words, index.numbering));
  object.add_if(!index.counts.empty(), "counts", numbers(index.counts));
  object.add_if(index.virtual_chunks != 1 || index.restart, "virtual", number(index.virtual_chunks));
  object.add_if(index.first != 0, "first", number(index.first));
  return object.add_if(index.restart, "restart", "true").text();
}

std::string member_of(const BucketMember& member, const Mesh& mesh) {
  Object entry;
  entry.add("name", json_string(member.name));
  if (member.like) entry.add("like", json_string(*member.like));
  if (member.keys.shape) entry.add("shape", numbers(*member.keys.shape));
  Keys rest = member.keys;
  rest.shape.reset();
  add_keys(entry, rest, mesh, member.like.has_value());
  return entry.text();
}

std::string bucket_of(const Bucket& bucket, const Mesh& mesh) {
  Object object;
  object.add("name", json_string(bucket.name)).add("axis", json_string(mesh.axes[bucket.axis]));
  object.add_if(bucket.align != 1, "align", number(bucket.align));
  object.add_if(bucket.multiple_of != 1, "multiple_of", number(bucket.multiple_of));
  object.add_if(bucket.multiple_of_each != 1, "multiple_of_each", number(bucket.multiple_of_each));
  object.add_if(bucket.last_is_short, "last", word(parsing::last_words, bucket.last_is_short));
  if (bucket.at && !bucket.at->empty()) object.add("at", at_of(*bucket.at, bucket.at_last, mesh));
  const auto write = [&](const BucketMember& member) { return member_of(member, mesh); };
  object.add("members", list(bucket.members, write));
  return object.text();
}

std::string path_of(const FileTemplate& path) {
  if (path.by_card() == nullptr) return json_string(path.text());
  Object object;
  for (const auto& [card, name] : *path.by_card()) object.add(number(card), json_string(name));
  return object.text();
}

void add_files(Document& document, const CardFiles& files) {
  const auto& entries = files.entries();
  const bool is_alone = entries.size() == 1 && entries.front().prefix.empty() && entries.front().group.empty();
  if (!is_alone)
    return document.add_list("files", entries, [](const FileEntry& entry) {
      Object object;
      object.add("path", path_of(entry.path));
      const std::string& prefix = entry.group.empty() ? entry.prefix : entry.group;
      return object.add_if(!prefix.empty(), "prefix", json_string(prefix)).text();
    });
  if (entries.front().path.by_card() != nullptr || entries.front().path.text() != FileTemplate().text())
    document.add("files", path_of(entries.front().path));
}

std::string mesh_of(const Mesh& mesh) {
  Object object;
  object.add("axes", list(mesh.axes, json_string)).add("shape", numbers(mesh.shape));
  return object.add_if(!mesh.cards.empty(), "cards", numbers(mesh.cards)).text();
}

}  // namespace

std::string to_json(const Keys& keys, const Mesh& mesh) {
  Object object;
  add_keys(object, keys, mesh, false);
  add_replicas(object, keys, false);
  return object.text();
}

std::string to_json(const IndexRule& index, const Mesh& mesh) {
  return index_of(index, mesh);
}

std::string to_json(const Mesh& mesh) {
  return mesh_of(mesh);
}

std::string to_json(const Layout& layout) {
  const Mesh& mesh = layout.mesh;
  Document document;
  document.add("ckpt_layout", "1");
  document.add("mesh", mesh_of(mesh));
  if (!is_text_alone(layout)) add_files(document, layout.files);
  document.add_list("parameters", layout.parameters, [&](const Rule& rule) { return rule_of(rule, mesh); });
  if (layout.otherwise != Default::error) document.add("default", word(parsing::default_words, layout.otherwise));
  document.add_list("rename", layout.rename, rename_of);
  document.add_list("indices", layout.indices, [&](const IndexRule& index) { return index_of(index, mesh); });
  document.add_list("buckets", layout.buckets, [&](const Bucket& bucket) { return bucket_of(bucket, mesh); });
  document.add_list("tables", layout.tables, [&](const KeyedTable& table) { return to_json(table, mesh); });
  return document.text();
}

}  // namespace ckpt
