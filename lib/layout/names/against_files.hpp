#pragma once

#include "base/error.hpp"

namespace ckpt {

/// Runs `work`, which compares a layout with files. An error in the layout there means that it contradicts the files:
/// an error of kind layout becomes one of kind input.
template <class Work>
decltype(auto) against_files(Work&& work) {
  try {
    return work();
  } catch (Error& error) {
    if (error.kind() == Kind::layout) error.of_kind(Kind::input);
    throw;
  }
}

}  // namespace ckpt
