#include <algorithm>

#include "property/generator.hpp"

namespace model {

namespace {

constexpr std::uint64_t most_elements = 1500;
constexpr std::uint64_t most_numbers = 6;  // layers, experts: one digit each

class CaseDrawer {
 public:
  explicit CaseDrawer(Choices& choices) : choices_(choices) {}

  Case draw() {
    const std::uint64_t groups = choices_.between(1, 4);
    for (std::uint64_t i = 0; i < groups; ++i) {
      draw_group();
      if (choices_.chance(30)) copy_group();
    }
    case_.carries_shapes = choices_.chance(20);
    case_.source = draw_side(choices_, case_.tensors, groups_, !case_.carries_shapes, case_.features);
    case_.target = draw_side(choices_, case_.tensors, groups_, false, case_.features);
    case_.shares_holdings = choices_.chance(50);
    if (choices_.chance(50)) draw_absent();
    case_.chunk_bytes = choices_.pick(std::vector<std::uint64_t>{1 << 20, 1, 7, 16, 64, 200, 1000});
    if (choices_.chance(40))
      for (std::uint64_t i = 0; i < positions(case_.source.layout.mesh); ++i)
        case_.owners.push_back(static_cast<std::uint32_t>(choices_.below(3)));
    note();
    return std::move(case_);
  }

 private:
  void draw_group() {
    Group group;
    const std::string leaf(1, static_cast<char>('a' + groups_.size()));
    static const std::vector<std::string> words{"w", "emb/tok table.", "b-", "norm.\xce\xb3", "a[0]*?{x}", "x].}"};
    const std::uint64_t kind = choices_.below(6);
    if (kind < 3) {
      group.name = {{choices_.pick(words) + leaf, -1}};
    } else if (kind < 5) {
      group.name = {{"layers.", 0}, {"." + leaf, -1}};
    } else {
      group.name = {{"layers.", 0}, {".experts.", 1}, {"." + leaf, -1}};
    }
    std::vector<std::vector<NamePart>> names{{}};
    for (const auto& [text, counter] : group.name) {
      std::vector<std::vector<NamePart>> longer;
      if (counter >= 0) group.counters.insert(counter);
      const std::uint64_t numbers = counter < 0 ? 1 : choices_.between(1, counter == 0 ? most_numbers : 4);
      for (const auto& name : names)
        for (std::uint64_t number = 0; number < numbers; ++number) {
          longer.push_back(name);
          longer.back().push_back({text, counter, number});
        }
      names = std::move(longer);
    }
    for (std::size_t i = names.size(); i-- > 0;)  // not every layer has everything
      if (names.size() > 1 && choices_.chance(10)) names.erase(names.begin() + static_cast<std::ptrdiff_t>(i));
    const Numbers shape = draw_shape();
    const std::uint64_t element_bytes = draw_element_bytes();
    for (auto& name : names) add(group, {std::move(name), shape, element_bytes});
    groups_.push_back(std::move(group));
  }

  /// An optimizer's state of the last group.
  void copy_group() {
    Group copy = groups_.back();
    if (copy.copy_of >= 0) return;
    copy.copy_of = static_cast<std::ptrdiff_t>(groups_.size()) - 1;
    if (choices_.chance(50))
      copy.prefix = "opt.m.";
    else
      copy.suffix = ".exp_avg";
    copy.name.front().first = copy.prefix + copy.name.front().first;
    copy.name.back().first += copy.suffix;
    copy.tensors.clear();
    const std::uint64_t element_bytes = draw_element_bytes();
    for (const std::size_t t : groups_.back().tensors) {
      Tensor tensor = case_.tensors[t];
      tensor.element_bytes = element_bytes;
      tensor.parts.front().text = copy.prefix + tensor.parts.front().text;
      tensor.parts.back().text += copy.suffix;
      add(copy, std::move(tensor));
    }
    groups_.push_back(std::move(copy));
  }

  void add(Group& group, Tensor tensor) {
    group.tensors.push_back(case_.tensors.size());
    case_.tensors.push_back(std::move(tensor));
  }

  Numbers draw_shape() {
    if (!groups_.empty() && choices_.chance(20)) return case_.tensors[choices_.below(case_.tensors.size())].shape;
    static const std::vector<std::uint64_t> ranks{1, 2, 2, 3, 3, 4, 0};
    static const std::vector<std::uint64_t> handy{1, 2, 3, 4, 6, 8, 12};
    Numbers shape(choices_.pick(ranks));
    for (auto& extent : shape)
      extent = choices_.chance(40) ? choices_.pick(handy) : choices_.chance(4) ? 0 : choices_.between(1, 14);
    while (element_count(shape) > most_elements) *std::max_element(shape.begin(), shape.end()) /= 2;
    return shape;
  }

  std::uint64_t draw_element_bytes() {
    static const std::vector<std::uint64_t> sizes{4, 2, 4, 8, 1, 16, 3};
    return choices_.pick(sizes);
  }

  // --- empty shards that the source's files leave out

  void draw_absent() {
    const Layout& layout = case_.source.layout;
    for (std::size_t t = 0; t < case_.tensors.size(); ++t) {
      if (!layout.keys[t] || !is_known(t)) continue;
      std::vector<std::pair<std::uint64_t, std::string>> empty;
      std::uint64_t holders = 0;
      for (std::uint64_t position = 0; position < positions(layout.mesh); ++position) {
        const Numbers here = coordinates(layout.mesh, position);
        const auto name = stored_name(layout, case_.tensors[t], here);
        if (!name || !is_held(*layout.keys[t], layout.mesh, here)) continue;
        ++holders;
        if (piece(layout, case_.tensors[t], t, *layout.keys[t], here).cells.empty() && choices_.chance(60))
          empty.emplace_back(position, *name);
      }
      if (empty.size() == holders) empty.pop_back();  // some file must tell of it
      case_.absent.insert(empty.begin(), empty.end());
    }
  }

  /// Whether the tensor's shape is known without its empty shards.
  bool is_known(std::size_t t) const {
    const Layout& layout = case_.source.layout;
    const Keys& keys = *layout.keys[t];
    const Tensor& tensor = case_.tensors[t];
    if (keys.gives_shape || case_.carries_shapes || !keys.boxes.empty()) return true;
    if (element_count(tensor.shape) == 0) return false;
    for (std::size_t dim = 0; dim < keys.split.size(); ++dim) {
      if (keys.sizes.count(dim) != 0 || keys.pad.count(dim) != 0 || keys.split[dim].empty()) continue;
      const bool has_parts = keys.parts && keys.parts->dim == dim;
      if (has_parts && !keys.parts->sizes.empty()) continue;
      return false;
    }
    return true;
  }

  void note() {
    auto& features = case_.features;
    for (const Tensor& tensor : case_.tensors) {
      features.insert("rank " + std::to_string(tensor.shape.size()));
      features.insert(std::to_string(tensor.element_bytes) + " bytes");
      if (element_count(tensor.shape) == 0) features.insert("empty tensor");
    }
    if (!case_.absent.empty()) features.insert("absent empty shard");
    if (case_.carries_shapes) features.insert("carried shapes");
    if (!case_.owners.empty()) features.insert("owners");
    for (const Side* side : {&case_.source, &case_.target})
      features.insert(std::to_string(side->layout.mesh.axes.size()) + " axes");
  }

  Choices& choices_;
  Case case_;
  std::vector<Group> groups_;
};

}  // namespace

Case draw_case(Choices& choices) {
  return CaseDrawer(choices).draw();
}

std::string dtype_name(std::uint64_t element_bytes) {
  return "opaque" + std::to_string(element_bytes);
}

}  // namespace model
