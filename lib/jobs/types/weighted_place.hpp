#pragma once

#include <string>

#include "checkpoint/checkpoint.hpp"

namespace ckpt {

/// A checkpoint that is averaged with others.
struct WeightedPlace {
  double weight = 1;
  std::string weight_text = {};  ///< as the user wrote it
  std::string layout = {};       ///< the file of its layout; empty: none is named
  CheckpointPlace place = {};
};

}  // namespace ckpt
