#pragma once

#include <map>
#include <string>
#include <vector>

#include "diagnosis/draft/evidence.hpp"
#include "diagnosis/draft/facts.hpp"
#include "diagnosis/draft/open.hpp"
#include "layout/language/layout.hpp"

namespace ckpt::drafting {

/// The numbers in names that no axis explains.
struct NumbersLeft {
  OpenNames open;                    ///< names with a number that remains unexplained
  std::vector<Pattern> unexplained;  ///< patterns of these numbers, in stored names and the reference's
  /// By name: the entries of `indices` that are as likely as a cut, if no whole tensors show what its number counts.
  std::map<std::string, std::vector<std::string>> may_count;
};

/// Adds to a layout the entries of `indices` that the names prove, or the data if several entries fit the names.
/// `reference` may be null.
NumbersLeft number_names(Layout& layout, const std::vector<NameFacts>& facts, CardData& cards, WholeTensors* reference);

}  // namespace ckpt::drafting
