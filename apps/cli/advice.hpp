#pragma once

#include <string>

#include "base/error.hpp"
#include "cli/manual.hpp"

namespace ckpt::cli {

/// The advice in terms of the programs' options; empty if there is none.
std::string words(const Advice& advice);

/// An error's remedy, followed by its advice in words; empty if it has neither.
std::string remedy(const Error& error);

/// The whole message of an error: what(), remedy and advice.
std::string message(const Error& error);
/// The message, without advice for which this program has no options.
std::string message(const Error& error, const Manual& program);

}  // namespace ckpt::cli
