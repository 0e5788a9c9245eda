#pragma once

#include <functional>
#include <optional>
#include <string>

#include "processes/communicator.hpp"

namespace ckpt {

/// The information about its launcher that a process can see.
struct LaunchEnvironment {
  std::function<std::optional<std::string>(const char* name)> variable;
  /// This process belongs to the script of a batch job. A job submitted from within a step of another job (a training
  /// process that submits the next stage) inherits that step's variables, which do not apply to it.
  bool in_batch_script = false;
};

/// Returns the real environment.
LaunchEnvironment launch_environment();

/// Computes launched_in_parallel() for a given environment, without looking at parent processes.
bool is_parallel(const LaunchEnvironment& environment);

/// Computes place_in_job() for a given environment.
JobPlace place_in(const LaunchEnvironment& environment);

}  // namespace ckpt
