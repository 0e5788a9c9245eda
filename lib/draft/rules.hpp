#pragma once

#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace ckpt::drafting {

/// How one parameter is to be stored.
struct Decided {
  std::string name;  ///< logical
  Keys keys;
  Extents shape;  ///< logical, as far as it is known; else empty
};

/// The fewest rules that come to mind which say just this of these names, and nothing of the open ones: names that
/// differ in numbers are one pattern, what is cut alike is one rule, and what follows other names is `like` them.
/// `layout` has the mesh and everything but the rules.
std::vector<Rule> write_rules(const std::vector<Decided>& decided, const std::vector<std::string>& open,
                              const Layout& layout);

}  // namespace ckpt::drafting
