#pragma once

#include <vector>

#include "draft/attempt.hpp"

namespace ckpt::drafting {

/// Takes open names of one-dimensional arrays for buckets, where the data of the whole tensors that no card stores by
/// themselves is found in them: which members, in which order, how each is cut, how they are aligned and padded. What
/// the library does not resolve to the very places where the members were found stays open.
void find_buckets(Attempt& attempt, const std::vector<NameFacts>& facts, CardData& cards, WholeTensors& whole);

}  // namespace ckpt::drafting
