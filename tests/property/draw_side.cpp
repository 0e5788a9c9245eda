#include <algorithm>

#include "property/generator.hpp"
#include "property/layout_text.hpp"

namespace model {

namespace {

constexpr std::uint64_t most_cards = 24;

const std::vector<Rename>& recipes() {
  static const std::vector<Rename> all{{"module.", "", "", ""},
                                       {"model/", "", "layers.", ""},
                                       {"", ".data", "", ""},
                                       {"opt/", "/m", "opt.m.", ""},
                                       {"[v]", "", "", ".exp_avg"}};
  return all;
}

class SideDrawer {
 public:
  SideDrawer(Choices& choices, const std::vector<Tensor>& tensors, const std::vector<Group>& groups,
             bool must_tell_shapes, std::set<std::string>& features)
      : choices_(choices),
        tensors_(tensors),
        groups_(groups),
        must_tell_shapes_(must_tell_shapes),
        features_(features) {}

  Side draw() {
    draw_mesh();
    for (const int counter : {0, 1}) draw_index(counter);
    layout_.keys.resize(tensors_.size(), Keys{});
    if (choices_.chance(40)) draw_buckets(choices_, layout_, tensors_, features_);
    Json rules = Json::array();
    for (std::size_t g = 0; g < groups_.size(); ++g) draw_rule(g, rules);
    if (!default_replicate_ && choices_.chance(30)) make_last_catch_all(rules);
    add_unused(rules);
    draw_rename();
    return Side{layout_, text(rules), unused_};
  }

 private:
  // --- mesh and indices

  void draw_mesh() {
    std::vector<std::string> names{"dp", "tp", "pp", "ep", "x", "node-1"};
    Mesh& mesh = layout_.mesh;
    const std::uint64_t axes = choices_.between(1, 3);
    for (std::uint64_t i = 0; i < axes; ++i) {
      const auto which = names.begin() + static_cast<std::ptrdiff_t>(choices_.below(names.size()));
      mesh.axes.push_back(*which);
      names.erase(which);
      const std::uint64_t largest = std::min<std::uint64_t>(axes == 1 ? 12 : 5, most_cards / positions(mesh));
      mesh.shape.push_back(choices_.between(1, largest));
    }
    if (choices_.chance(30)) {
      const std::uint64_t first = choices_.below(40);
      for (std::uint64_t i = 0; i < positions(mesh); ++i) mesh.cards.push_back(first + i * 3);
      choices_.shuffle(mesh.cards);
      features_.insert("cards");
    }
    static const std::vector<std::string> templates{"rank_{card}.h5", "model/card{card:04}.hdf5", "{card}",
                                                    "d.{card:02}"};
    layout_.files = choices_.pick(templates);
  }

  void draw_index(int counter) {
    std::set<std::uint64_t> numbers;
    for (const Tensor& tensor : tensors_)
      for (const NamePart& part : tensor.parts)
        if (part.counter == counter) numbers.insert(part.number);
    const std::uint64_t largest = numbers.size();
    if (numbers.empty() || *numbers.rbegin() + 1 != largest || !choices_.chance(80)) return;  // no gaps
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < layout_.mesh.axes.size(); ++axis)
      if (indexed_.count(axis) == 0) axes.push_back(axis);
    if (axes.empty()) return;
    Index index;
    index.counter = counter;
    index.axis = choices_.pick(axes);
    index.is_local = choices_.chance(60);
    const std::uint64_t p = layout_.mesh.shape[index.axis];
    index.total = largest;
    if (index.is_local && choices_.chance(20)) {
      index.first = choices_.between(1, 3);
      features_.insert("indices first");
    }
    std::vector<std::uint64_t> chunks;  // that divide into equal blocks
    for (const std::uint64_t v : {1, 2, 3})
      if (largest % (p * v) == 0) chunks.push_back(v);
    if (chunks.empty() || choices_.chance(30)) {
      for (std::uint64_t i = 0; i < p; ++i) index.counts.push_back(0);
      for (std::uint64_t i = 0; i < index.total; ++i) ++index.counts[choices_.below(p)];
      features_.insert("indices counts");
    } else {
      index.chunks = choices_.chance(30) ? chunks.front() : chunks.back();
      if (index.chunks > 1) features_.insert("indices virtual");
    }
    indexed_.insert(index.axis);
    features_.insert(index.is_local ? "indices local" : "indices global");
    if (!layout_.indices.empty()) features_.insert("indices twice");
    layout_.indices.push_back(std::move(index));
  }

  const Index* index_of(int counter) const {
    for (const Index& index : layout_.indices)
      if (index.counter == counter) return &index;
    return nullptr;
  }

  // --- rules

  void draw_rule(std::size_t g, Json& rules) {
    const Group& group = groups_[g];
    const bool is_needed =
        std::any_of(group.tensors.begin(), group.tensors.end(), [&](auto t) { return layout_.keys[t].has_value(); });
    ruled_.push_back(is_needed);
    if (!is_needed) return;
    const Tensor& first = tensors_[group.tensors.front()];
    const bool may_borrow = group.copy_of >= 0 && ruled_[static_cast<std::size_t>(group.copy_of)];
    Json rule;
    Keys keys;
    if (may_borrow && choices_.chance(70)) {
      keys = borrowed(group, first, rule);
    } else {
      if (!choices_.chance(10)) {
        KeyLimits limits;
        limits.must_tell_shapes = must_tell_shapes_;
        for (const int counter : group.counters)
          if (const Index* index = index_of(counter)) limits.taken.insert(index->axis);
        keys = draw_keys(choices_, layout_.mesh, first, limits);
      }
      rule["name"] = names(group);
      rule.update(keys_json(choices_, layout_.mesh, keys, first.shape));
    }
    for (const std::size_t t : group.tensors)
      if (layout_.keys[t]) layout_.keys[t] = keys;
    group_keys_[g] = keys;
    note_keys(keys, first);
    if (keys.is_plain() && rule.size() <= 2 && group.copy_of < 0 && choices_.chance(50)) {
      default_replicate_ = true;  // no rule says so
      features_.insert("default replicate");
      return;
    }
    const auto place = rules.begin() + static_cast<std::ptrdiff_t>(choices_.below(rules.size() + 1));
    rules.insert(place, std::move(rule));
  }

  /// A rule that is like another group's, some keys overridden.
  Keys borrowed(const Group& group, const Tensor& first, Json& rule) {
    features_.insert("like");
    const auto base = static_cast<std::size_t>(group.copy_of);
    Keys keys = group_keys_[base];
    const std::string pattern = captured(groups_[base]);
    const bool is_only =
        std::count_if(groups_.begin(), groups_.end(), [](const Group& each) { return each.copy_of >= 0; }) == 1;
    const std::string own = is_only && choices_.chance(50) ? "{p}" : pattern;
    rule["name"] = as_pattern(group.prefix) + own + as_pattern(group.suffix);
    rule["like"] = own;
    Keys over;
    if (choices_.chance(30) && !keys.split.empty()) {
      over.uneven = keys.uneven = choices_.chance(50) ? Uneven::ceil : Uneven::balanced;
      features_.insert("like overridden");
    }
    if (choices_.chance(30) && !first.shape.empty()) {
      for (std::size_t dim = 0; dim < first.shape.size(); ++dim) over.permute.push_back(dim);
      choices_.shuffle(over.permute);
      keys.permute = over.permute;
      features_.insert("like overridden");
    }
    if (choices_.chance(20)) over.first_replica = keys.first_replica = true;
    Json keys_text = keys_json(choices_, layout_.mesh, over, first.shape);
    if (over.uneven == Uneven::exact) keys_text.erase("uneven");  // it would override, too
    keys_text.erase("split");
    rule.update(keys_text);
    return keys;
  }

  /// A group's names as a pattern in which each number is `open`.
  static std::string pattern(const Group& group, const std::function<std::string(int)>& open) {
    std::string text;
    for (const auto& [literal, counter] : group.name) text += as_pattern(literal) + (counter < 0 ? "" : open(counter));
    return text;
  }
  static std::string captured(const Group& group) {
    return pattern(group, [](int counter) { return std::string(counter == 0 ? "{layer}" : "{expert}"); });
  }

  /// One of the many ways to name a group.
  Json names(const Group& group) {
    static const std::vector<std::string> open{"*", "?", "[0-9]", "{n}", "[!a-z/]"};  // numbers here have one digit
    const std::string text = pattern(group, [&](int) {
      const std::string chosen = choices_.pick(open);
      return chosen == "{n}" ? std::string("{n") + "}" : chosen;
    });
    const bool has_repeat = text.find("{n}") != text.rfind("{n}");
    if (!has_repeat && !choices_.chance(40)) return text;
    Json list = Json::array();
    for (const std::size_t t : group.tensors) list.push_back(as_pattern(logical_name(tensors_[t])));
    if (choices_.chance(30)) list.insert(list.begin(), "no such name");
    features_.insert("list of names");
    return list;
  }

  /// One rule becomes the last and matches whatever no other does.
  void make_last_catch_all(Json& rules) {
    if (rules.empty()) return;
    const std::size_t chosen = choices_.below(rules.size());
    if (rules[chosen].contains("like")) return;
    Json rule = rules[chosen];
    rule["name"] = "*";
    rules.erase(chosen);
    rules.push_back(std::move(rule));
    features_.insert("catch-all");
  }

  void add_unused(Json& rules) {
    if (rules.empty() || !choices_.chance(15)) return;  // alone it would be an error
    rules.insert(rules.begin() + static_cast<std::ptrdiff_t>(choices_.below(rules.size() + 1)),
                 Json{{"name", "nothing.like.*"}, {"split", {layout_.mesh.axes[0]}}});
    ++unused_;
    features_.insert("unused rule");
  }

  void note_keys(const Keys& keys, const Tensor& tensor) {
    const auto note = [&](bool is_there, const char* feature) {
      if (is_there) features_.insert(feature);
    };
    bool is_cut_unevenly = false;
    for (std::size_t dim = 0; dim < keys.split.size(); ++dim) {
      const auto& axes = keys.split[dim];
      note(!axes.empty(), "split");
      note(axes.size() > 1, "split over several axes");
      note(axes.size() > 1 && !std::is_sorted(axes.begin(), axes.end()), "split minor axis first");
      std::uint64_t k = 1;
      for (const std::size_t axis : axes) k *= layout_.mesh.shape[axis];
      is_cut_unevenly =
          is_cut_unevenly || (tensor.shape[dim] % k != 0 && keys.sizes.count(dim) == 0 && keys.pad.count(dim) == 0);
    }
    note(is_cut_unevenly && keys.uneven == Uneven::ceil, "uneven ceil");
    note(is_cut_unevenly && keys.uneven == Uneven::balanced, "uneven balanced");
    note(!keys.sizes.empty(), "sizes");
    note(keys.parts && !keys.parts->sizes.empty(), "parts sizes");
    note(keys.parts && keys.parts->sizes.empty(), "parts count");
    for (const auto& [dim, pad] : keys.pad) note(true, pad.edge ? "pad edge" : "pad zero");
    note(keys.flat.has_value(), "flat");
    note(keys.flat && keys.flat->multiple_of > 1, "flat multiple_of");
    note(!keys.permute.empty() && !std::is_sorted(keys.permute.begin(), keys.permute.end()), "permute");
    note(!keys.at.empty(), "at");
    note(!keys.boxes.empty(), "boxes");
    note(!keys.boxes.empty() && !keys.pad.empty(), "boxes with pad");
    note(keys.gives_shape, "shape");
    note(keys.first_replica, "replicas first");
  }

  // --- rename

  void draw_rename() {
    if (!choices_.chance(45)) return;
    std::vector<Rename> rename;
    for (const Rename& recipe : recipes())
      if (choices_.chance(30)) rename.push_back(recipe);
    choices_.shuffle(rename);
    if (rename.empty() || !reads_back(rename)) return;
    layout_.rename = std::move(rename);
    features_.insert("rename");
    if (layout_.rename.size() > 1) features_.insert("rename by several");
  }

  /// Whether reading undoes writing, for every name of every card.
  bool reads_back(const std::vector<Rename>& rename) const {
    const auto is_undone = [&](const std::string& name) {
      return read_name(rename, written_name(rename, name)) == name;
    };
    for (const Bucket& bucket : layout_.buckets)
      if (!is_undone(bucket.name)) return false;
    for (std::uint64_t position = 0; position < positions(layout_.mesh); ++position)
      for (const Tensor& tensor : tensors_)
        if (const auto name = stored_name(layout_, tensor, coordinates(layout_.mesh, position));
            name && !is_undone(*name))
          return false;
    return true;
  }

  // --- the whole

  std::string text(const Json& rules) {
    Json json{{"ckpt_layout", 1}, {"mesh", mesh_json(layout_.mesh)}};
    if (layout_.files != "rank_{card}.h5" || choices_.chance(20)) json["files"] = layout_.files;
    if (!rules.empty()) json["parameters"] = rules;
    if (default_replicate_)
      json["default"] = "replicate";
    else if (choices_.chance(20))
      json["default"] = "error";
    if (!layout_.rename.empty()) json["rename"] = rename_json(layout_.rename);
    for (const Index& index : layout_.indices) json["indices"].push_back(index_json(choices_, layout_.mesh, index));
    for (const Bucket& bucket : layout_.buckets)
      json["buckets"].push_back(bucket_json(choices_, layout_.mesh, bucket, tensors_));
    return json.dump();
  }

  Choices& choices_;
  const std::vector<Tensor>& tensors_;
  const std::vector<Group>& groups_;
  bool must_tell_shapes_;
  std::set<std::string>& features_;
  Layout layout_;
  std::set<std::size_t> indexed_;  // axes
  std::vector<bool> ruled_;        // for each group: some tensor of it is not in a bucket
  std::map<std::size_t, Keys> group_keys_;
  bool default_replicate_ = false;
  std::size_t unused_ = 0;
};

}  // namespace

Side draw_side(Choices& choices, const std::vector<Tensor>& tensors, const std::vector<Group>& groups,
               bool must_tell_shapes, std::set<std::string>& features) {
  return SideDrawer(choices, tensors, groups, must_tell_shapes, features).draw();
}

}  // namespace model
