#pragma once

#include <string>

#include "base/error.hpp"

namespace ckpt::cli {

/// What to do, in the words of the programs' options; empty for none.
std::string words(const Advice& advice);

/// What to do about an error: its remedy, and its advice in words; empty for none.
std::string remedy(const Error& error);

/// The whole message of an error: what() and what to do.
std::string message(const Error& error);
/// The message without advice that this program has no options for.
std::string message(const Error& error, const std::string& program);

}  // namespace ckpt::cli
