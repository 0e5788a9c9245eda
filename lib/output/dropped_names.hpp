#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace ckpt {

/// The names that the source has for something of the output; nothing: none is known.
using SourceNames = std::function<std::vector<std::string>(const std::string& name)>;

/// An error that names parameters as the output does, for a job's user: an advice to leave them out has the source's
/// names, as those are what --drop takes.
Error dropping_sources(const Error& error, const SourceNames& names_of);

/// Runs `work`, which only looks at the output: an Error that it throws becomes as above.
template <class Work>
decltype(auto) with_source_names(const SourceNames& names_of, Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw dropping_sources(error, names_of);
  }
}

}  // namespace ckpt
