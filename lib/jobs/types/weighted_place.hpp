#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace ckpt {

/// A checkpoint that is averaged with others.
struct WeightedPlace {
  double weight = 1;
  std::string weight_text = {};  ///< as the user wrote it
  std::string layout = {};       ///< the file of its layout; empty: none is named
  CheckpointPlace place = {};
};

/// Leaves nothing to average where one checkpoint with the weight 1 is its own average.
inline void drop_own_average(std::vector<WeightedPlace>& places) {
  if (places.size() == 1 && places.front().weight == 1) places.clear();
}

}  // namespace ckpt
