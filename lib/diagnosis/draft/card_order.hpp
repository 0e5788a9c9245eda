#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/draft/evidence.hpp"
#include "diagnosis/draft/questions.hpp"

namespace ckpt::drafting {

/// Orders of the cards on a mesh that a parameter's data proves: for each position, the number (among the ids in
/// ascending order) of the card that holds its data. `questions` have the cards in the order of their ids. Searches for
/// a parameter that is cut over all axes; returns no order if there is none.
std::vector<std::vector<std::uint64_t>> card_orders(const Mesh& mesh, const std::vector<Question>& questions,
                                                    CardData& cards, WholeTensors& whole);

}  // namespace ckpt::drafting
