#include "layout/layout.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace ckpt {

void Keys::override_with(const Keys& over) {
  const auto take = [](auto& mine, const auto& theirs) {
    if (theirs) mine = theirs;
  };
  take(split, over.split);
  take(uneven, over.uneven);
  take(sizes, over.sizes);
  take(parts, over.parts);
  take(pad, over.pad);
  take(flat, over.flat);
  take(shape, over.shape);
  take(permute, over.permute);
  take(at, over.at);
  take(replicas, over.replicas);
}

Layout single_card() {
  Layout layout;
  layout.origin = "the layout of a single file";
  layout.mesh = Mesh{{"card"}, {1}, {}};
  layout.otherwise = Default::replicate;
  return layout;
}

Layout on_mesh(const Layout& layout, const std::map<std::string, std::uint64_t>& sizes, const std::string& origin) {
  Layout changed = layout;
  changed.mesh.cards.clear();
  for (const auto& [name, size] : sizes) {
    const auto axis = layout.mesh.axis(name);
    if (!axis)
      throw Error(
          Kind::usage, origin,
          {"found the axis \"" + name + "\"", "expected one of " + layout.origin + ": " + join(layout.mesh.axes), ""});
    if (size == 0)
      throw Error(Kind::usage, origin, {"found size 0 for the axis \"" + name + "\"", "expected 1 at least", ""});
    changed.mesh.shape[*axis] = size;
  }
  // What depends on the sizes (files, at, sizes, counts, totals) is checked again by the one who knows how.
  return parse_layout(to_json(changed), origin);
}

}  // namespace ckpt
