#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "draft/evidence.hpp"
#include "draft/question.hpp"

namespace ckpt::drafting {

/// The sizes of the parts of a dimension of which the first card stores the first slices of each: `whole` and `piece`
/// identify the slices of the logical dimension and of those that it stores. Nothing where it stores one run only, or
/// what it stores is not there.
std::optional<std::vector<std::uint64_t>> parts_of(const std::vector<std::uint64_t>& whole,
                                                   const std::vector<std::uint64_t>& piece);

/// The same, for a dimension of a parameter whose logical shape and elements the reference has: slices are told by
/// their first few elements.
std::optional<std::vector<std::uint64_t>> parts_in_data(const Question& question, std::size_t dim, CardData& cards,
                                                        WholeTensors& reference);

}  // namespace ckpt::drafting
