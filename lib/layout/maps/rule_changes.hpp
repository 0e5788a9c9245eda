#pragma once

#include <string>
#include <vector>

#include "layout/maps/name_map.hpp"

namespace ckpt {

/// A rule with one mistake less, or more: a word of its shapes is in another place.
struct RuleChange {
  MapRule rule;
  std::string text;  ///< the tensor, or the two tensors, that it has instead
};

/// The one-word changes of a rule that leave it a bijection: two axes side by side exchanged, an axis on the other side
/// of its bracket, or within all of its pieces (groups in place of a concatenation, and back), two pieces, two
/// dimensions, or two tensors of one side exchanged. Whether their shapes fit is not known before the map is applied.
std::vector<RuleChange> one_word_changes(const NameMap& map, std::size_t rule);

}  // namespace ckpt
