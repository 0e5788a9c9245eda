#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ckpt {

/// What a process can see of the launcher that started it.
struct LaunchEnvironment {
  std::function<std::optional<std::string>(const char* name)> variable;
  /// This process belongs to the script of a batch job. A job submitted from within a step of another (a training
  /// process that submits the next stage) inherits that step's variables, which say nothing about it.
  bool in_batch_script = false;
};

/// The real one.
LaunchEnvironment launch_environment();

/// launched_in_parallel() over a given environment, without what is above this process.
bool is_parallel(const LaunchEnvironment& environment);

/// place_in_job() over a given environment.
std::string place_in(const LaunchEnvironment& environment);

}  // namespace ckpt
