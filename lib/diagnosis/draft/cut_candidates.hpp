#pragma once

#include <vector>

#include "diagnosis/draft/question.hpp"

namespace ckpt::drafting {

/// The ways of cutting that are tried, family by family: a later one only if no candidate of an earlier one fits.
enum class Family {
  split,    ///< or, over no axes, replicated
  pad,      ///< split, with padding at the end
  parts,    ///< split, each of several parts separately
  permute,  ///< split, and stored with its dimensions in another order
  first,    ///< whole on every card, with copies that differ
  flat,     ///< the remainder of a split, flattened and cut
};
inline constexpr Family families[] = {Family::split,   Family::pad,   Family::parts,
                                      Family::permute, Family::first, Family::flat};

/// The candidates of a family that cut a parameter over all of these axes and no others. `known_parts`: sizes of parts
/// to try, by the size of the dimension that they add up to. The library decides which candidates fit (Trial).
std::vector<Keys> candidates(Family family, const Question& question, const std::vector<Axis>& axes,
                             const std::vector<std::vector<std::uint64_t>>& known_parts);

/// All sets of the axes longer than 1, smaller sets first.
std::vector<std::vector<Axis>> sets_of_axes(const Mesh& mesh);

}  // namespace ckpt::drafting
