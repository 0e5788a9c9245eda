#include "store/global_shapes.hpp"

#include <vector>

#include "base/json.hpp"

namespace ckpt {

std::string global_shapes_text(const FileSpec& spec) {
  nlohmann::json shapes = nlohmann::json::object();
  for (const FileSpec::Array& array : spec.arrays)
    if (array.global_shape)
      shapes[array.name] = std::vector<std::uint64_t>(array.global_shape->begin(), array.global_shape->end());
  return shapes.empty() ? "" : shapes.dump();
}

GlobalShapes parse_global_shapes(const std::string& text, const std::string& origin) {
  GlobalShapes shapes;
  if (text.empty()) return shapes;
  const auto declared = parse_json(text, origin, {Kind::input, "shapes of tensors", "", 2, text.size()});
  const auto refuse = [&] {
    throw Error(Kind::input, origin, {"no shapes of tensors", "expected what these programs wrote", ""});
  };
  if (!declared.is_object()) refuse();
  for (const auto& [name, list] : declared.items()) {
    if (!list.is_array()) refuse();
    Extents& shape = shapes[name];
    for (const auto& extent : list) {
      if (!extent.is_number_unsigned()) refuse();
      shape.push_back(extent.get<std::uint64_t>());
    }
  }
  return shapes;
}

}  // namespace ckpt
