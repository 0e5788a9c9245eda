#pragma once

#include <string>
#include <vector>

#include "layout/language/layout.hpp"

namespace ckpt::drafting {

/// How one parameter is to be stored.
struct ParameterRule {
  std::string name;  ///< logical
  Keys keys;
  Shape shape;  ///< logical, if it is known; else empty
};

/// Few rules that cover exactly these names, and none of the open ones: names that differ in numbers share a pattern,
/// names that are cut alike share a rule, and names that follow others are `like` them. `layout` has the mesh and
/// everything but the rules.
std::vector<Rule> write_rules(const std::vector<ParameterRule>& decided, const std::vector<std::string>& open,
                              const Layout& layout);

}  // namespace ckpt::drafting
