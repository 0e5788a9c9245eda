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
  std::map<std::string, std::string> followed;  ///< decided by nothing but the name that it follows
};

/// Decides each question, by the reference where it has the parameter; else by what the pieces show, and by the
/// parameter that a name follows (moments). `questions` are those of `layout`, of which the mesh counts.
Decisions decide(const Layout& layout, const std::vector<Question>& questions, CardData& cards,
                 WholeTensors* reference);

}  // namespace ckpt::drafting
