#pragma once

#include <map>
#include <string>
#include <vector>

#include "draft/evidence.hpp"
#include "draft/open.hpp"
#include "draft/questions.hpp"
#include "draft/rules.hpp"

namespace ckpt::drafting {

/// What has been found out of each parameter, and what is to be said of it.
struct Decisions {
  std::map<std::string, Keys> keys;  ///< by logical name
  OpenNames open;
  std::vector<std::string> followed;  ///< decided by nothing but a name like theirs
};

/// Decides each question, by the reference where it has the parameter; else by what the pieces show, and by parameters
/// with names like its own (a moment and its weight).
Decisions decide(const Mesh& mesh, const std::vector<Question>& questions, CardData& cards, WholeTensors* reference);

/// Takes out of `at` what a layout's `indices` say already.
void leave_implied(Keys& keys, const At& implied);

}  // namespace ckpt::drafting
