#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/advice.hpp"

namespace ckpt::drafting {

/// What the bytes leave open about some parameters, for the user to complete.
struct Open {
  std::string found;                    ///< the findings: "different pieces of [16, 4] on each tp=4"
  std::vector<std::string> candidates;  ///< keys that would fit, as JSON; empty if none is known
  std::string needed;                   ///< what would decide: "the whole tensors"
  Advice advice = {};                   ///< how to give it
  bool is_usually_fused = false;        ///< by its name (usual_parts); the user must not overlook it

  friend auto operator<=>(const Open&, const Open&) = default;
};

/// By name: the logical one if it is known, else the stored one.
using OpenNames = std::map<std::string, Open>;

}  // namespace ckpt::drafting
