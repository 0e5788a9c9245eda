#pragma once

#include <string>
#include <vector>

#include "draft/evidence.hpp"
#include "draft/facts.hpp"
#include "draft/open.hpp"
#include "layout/layout.hpp"

namespace ckpt::drafting {

/// Adds to a layout the entries of `indices` that the names prove, and where several would do the data. Names with a
/// number that remains unexplained are open. `reference` may be null.
OpenNames number_names(Layout& layout, const std::vector<NameFacts>& facts, CardData& cards, WholeTensors* reference);

}  // namespace ckpt::drafting
