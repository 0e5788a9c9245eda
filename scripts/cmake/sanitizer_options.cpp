// What sanitizers are told in every program that is built with them, however it is started.

#include <cstdlib>
#include <initializer_list>

extern "C" {

[[gnu::weak]] const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1";
}

[[gnu::weak]] const char* __ubsan_default_options() {
  return "print_stacktrace=1:halt_on_error=1";
}

/// Leaks are looked for in processes that run alone: what an MPI library keeps until the end, in modules that are
/// unloaded by then, cannot be told from what is lost.
[[gnu::weak]] int __lsan_is_turned_off() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(name) != nullptr) return 1;
  return 0;
}
}
