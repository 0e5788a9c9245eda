#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diagnosis/draft/evidence.hpp"
#include "diagnosis/draft/question.hpp"

namespace ckpt::drafting {

/// The sizes of a dimension's parts, if the first card stores the first slices of each part. `whole` and `piece`
/// identify the slices of the logical dimension and those that the card stores. Nothing if it stores only one run, or
/// slices that `whole` lacks.
std::optional<std::vector<std::uint64_t>> parts_of(const std::vector<std::uint64_t>& whole,
                                                   const std::vector<std::uint64_t>& piece);

/// As parts_of, for a dimension of a parameter whose logical shape and elements the reference has: slices are
/// identified by their first few elements.
std::optional<std::vector<std::uint64_t>> parts_in_data(const Question& question, std::size_t dim, CardData& cards,
                                                        WholeTensors& reference);

}  // namespace ckpt::drafting
