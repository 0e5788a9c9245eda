#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "catch.hpp"
#include "sandbox/helper_process.hpp"
#include "sandbox/isolated.hpp"

// Works for children, and what becomes of them.
namespace ckpt::fixture {

using Work = std::string (*)(std::string_view argument, int fd);

inline std::string repeat(std::string_view argument, int) {
  return std::string(argument) + std::string(argument);
}

/// Every case below holds for children of this process and for those of a helper.
inline std::unique_ptr<HelperProcess> perhaps_a_helper() {
  if (!GENERATE(false, true)) return nullptr;
  auto helper = std::make_unique<HelperProcess>();
  REQUIRE(HelperProcess::current() == helper.get());
  return helper;
}

inline std::optional<std::string> done(Work work, const std::string& argument = "",
                                       const IsolationLimits& limits = {}) {
  return isolated({work, argument, -1, "HDF5", limits});
}

struct Refusal {
  Kind kind;
  std::string message;
};

inline Refusal refusal(Work work, const std::string& argument = "", const IsolationLimits& limits = {}) {
  try {
    done(work, argument, limits);
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  FAIL("no Error");
  std::abort();
}

inline std::string die_of(std::string_view signal, int) {
  std::raise(std::stoi(std::string(signal)));
  std::abort();
}

inline std::string wait_for_ever(std::string_view, int) {
  for (;;) ::pause();
}

}  // namespace ckpt::fixture
