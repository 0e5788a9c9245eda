#pragma once

#include <map>
#include <string>
#include <vector>

#include "diagnosis/draft/evidence.hpp"
#include "diagnosis/draft/open.hpp"
#include "diagnosis/draft/questions.hpp"
#include "diagnosis/draft/rules.hpp"

namespace ckpt::drafting {

/// What is known about each parameter, and what to report.
struct Decisions {
  std::map<std::string, Keys> keys;  ///< by logical name
  OpenNames open;
  std::vector<std::string> followed;  ///< decided only by a similar name
  /// Pieces that do not divide evenly, and are the same by "ceil" and by "balanced", between which nothing else
  /// decides.
  std::vector<std::string> either_uneven;
};

/// Decides each question: by the reference if it has the parameter; else by what the pieces show, and by parameters
/// with similar names (a moment and its weight). Shapes alone do not show whether a dimension that is cut is fused, so
/// that each of its parts is cut by itself: what only they decide is left open, unless its name is among `unfused`.
Decisions decide(const Mesh& mesh, const std::vector<Question>& questions, CardData& cards, WholeTensors* reference,
                 const std::vector<Pattern>& unfused = {});

/// Removes from `at` what a layout's `indices` imply.
void leave_implied(Keys& keys, const At& implied);

}  // namespace ckpt::drafting
