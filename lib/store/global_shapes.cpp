#include "store/global_shapes.hpp"

#include <algorithm>
#include <vector>

#include "base/json.hpp"

namespace ckpt {

std::string global_shapes_text(const FileSpec& spec) {
  std::vector<const FileSpec::Array*> arrays;
  for (const FileSpec::Array& array : spec.arrays)
    if (array.global_shape) arrays.push_back(&array);
  if (arrays.empty()) return "";
  std::sort(arrays.begin(), arrays.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  std::string text;
  for (const FileSpec::Array* array : arrays) {  // one by one: there may be very many
    text += text.empty() ? '{' : ',';
    text += nlohmann::json(array->name.str()).dump() + ":[";
    for (std::size_t d = 0; d < array->global_shape->size(); ++d)
      text += (d == 0 ? "" : ",") + std::to_string((*array->global_shape)[d]);
    text += ']';
  }
  text += '}';
  return text;
}

GlobalShapes parse_global_shapes(const std::string& text, const std::string& origin) {
  GlobalShapes shapes;
  if (text.empty()) return shapes;
  const auto declared = parse_json(text, origin, {Kind::input, "shapes of tensors", "", 2, text.size()});
  const auto refuse = [&] {
    throw Error(Kind::input, origin, {"no shapes of tensors", "what these programs wrote", ""});
  };
  if (!declared.is_object()) refuse();
  for (const auto& [name, list] : declared.items()) {
    if (!list.is_array()) refuse();
    Shape& shape = shapes[name];
    for (const auto& extent : list) {
      if (!extent.is_number_unsigned()) refuse();
      shape.push_back(extent.get<std::uint64_t>());
    }
  }
  return shapes;
}

}  // namespace ckpt
