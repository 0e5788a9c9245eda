#include "layout/placement/shape_check.hpp"

#include "layout/names/rule_use.hpp"

namespace ckpt {

void ShapeCheck::add(const Decision& decision) {
  parameters_.push_back({decision.likes, decision.keys.shape.has_value(), decision.keys.flat.has_value()});
}

void ShapeCheck::add_member() {
  parameters_.emplace_back();
}

std::vector<std::string> ShapeCheck::check(const Placement& placement, Kind kind) const {
  std::vector<std::string> warnings;
  for (ParameterId parameter = 0; parameter < parameters_.size(); ++parameter) {
    const Borrower& mine = parameters_[parameter];
    const Tensor& tensor = placement.tensors()[parameter];
    if (tensor.shape.empty()) continue;
    const auto where = [&] { return describe(placement.layout(), tensor.name, placement.shardings()[parameter].rule); };
    for (const std::string& name : mine.likes) {
      const auto other = placement.find(name);
      if (!other) continue;
      const Tensor& liked = placement.tensors()[*other];
      if (liked.shape == tensor.shape) break;
      const std::string found = "its logical shape is " + to_string(tensor.shape);
      const std::string expected = to_string(liked.shape) + " as '" + name + "' has, which it is to be \"like\"";
      if (!mine.gives_shape && !parameters_[*other].gives_shape)
        throw Error(
            kind, where(),
            {found, expected,
             "one of the two rules is wrong; a parameter that is to have another shape says \"shape\", or has a "
             "rule of its own"});
      if (mine.is_flat && mine.gives_shape && liked.shape.size() == tensor.shape.size())
        warnings.push_back(where() + ": " + found + " by \"shape\", and that of '" + name +
                           "', which it is to be \"like\", is " + to_string(liked.shape) +
                           ": is one of the two rules wrong?");
      break;
    }
  }
  return warnings;
}

}  // namespace ckpt
