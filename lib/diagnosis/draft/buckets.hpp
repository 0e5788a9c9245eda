#pragma once

#include <vector>

#include "diagnosis/draft/attempt.hpp"

namespace ckpt::drafting {

/// Takes open names of one-dimensional arrays for buckets, if they contain the data of whole tensors that no card
/// stores separately: determines which members, in which order, how each is cut, and how they are aligned and padded. A
/// name stays open unless the library resolves its members to exactly the places where they were found.
void find_buckets(Attempt& attempt, const std::vector<NameFacts>& facts, CardData& cards, WholeTensors& whole);

}  // namespace ckpt::drafting
