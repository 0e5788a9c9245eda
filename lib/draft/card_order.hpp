#pragma once

#include <cstdint>
#include <vector>

#include "draft/evidence.hpp"
#include "draft/questions.hpp"

namespace ckpt::drafting {

/// Orders of the cards on a mesh that the data of a parameter proves: for each position the number (among the ids in
/// ascending order) of the card that holds what belongs there. `questions` are asked with the cards in the order of
/// their ids. Looks for a parameter that is cut over all axes; none where there is none.
std::vector<std::vector<std::uint64_t>> card_orders(const Mesh& mesh, const std::vector<Question>& questions,
                                                    CardData& cards, WholeTensors& whole);

}  // namespace ckpt::drafting
