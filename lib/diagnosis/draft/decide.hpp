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
};

/// Decides each question: by the reference if it has the parameter; else by what the pieces show, and by parameters
/// with similar names (a moment and its weight).
Decisions decide(const Mesh& mesh, const std::vector<Question>& questions, CardData& cards, WholeTensors* reference);

/// Removes from `at` what a layout's `indices` imply.
void leave_implied(Keys& keys, const At& implied);

}  // namespace ckpt::drafting
