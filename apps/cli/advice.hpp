#pragma once

#include <string>

#include "base/error.hpp"

namespace ckpt::cli {

/// What to do, in the words of the programs' options; empty for none.
std::string words(const Advice& advice);

/// The whole message of an error: what() and what to do.
std::string message(const Error& error);

}  // namespace ckpt::cli
