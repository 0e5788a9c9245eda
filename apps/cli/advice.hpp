#pragma once

#include <string>

#include "base/error.hpp"

namespace ckpt::cli {

/// The advice in terms of the programs' options; empty if there is none. `layout`: the option for SRC's layout.
std::string words(const Advice& advice, const std::string& layout = "--layout");

/// An error's remedy, followed by its advice in words; empty if it has neither.
std::string remedy(const Error& error);

/// The whole message of an error: what(), remedy and advice.
std::string message(const Error& error);
/// The message, without advice for which this program has no options.
std::string message(const Error& error, const std::string& program);

}  // namespace ckpt::cli
