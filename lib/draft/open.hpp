#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/advice.hpp"

namespace ckpt::drafting {

/// What the bytes leave open of some parameters, for the user to complete.
struct Open {
  std::string found;                    ///< what is there: "different pieces of [16, 4] on each tp=4"
  std::vector<std::string> candidates;  ///< keys that would fit, as JSON; none where none is known
  std::string needed;                   ///< what would decide: "the whole tensors"
  Advice advice = {};                   ///< how to give it

  friend auto operator<=>(const Open&, const Open&) = default;
};

/// By name: logical where it is known, else stored.
using OpenNames = std::map<std::string, Open>;

}  // namespace ckpt::drafting
