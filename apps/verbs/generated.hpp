#pragma once

#include <string>
#include <vector>

#include "verbs/verbs.hpp"

namespace ckpt::cli {

/// The manual pages, in the macros of man(7): of ckpt, and of one verb.
std::string overview_page(const std::vector<Command>& all);
std::string verb_page(const Command& command);

/// What completes command lines of ckpt, and of the links to it, in a shell: bash, zsh or fish. Throws usage for
/// another.
std::string completion(const std::string& shell, const std::vector<Command>& all);

}  // namespace ckpt::cli
