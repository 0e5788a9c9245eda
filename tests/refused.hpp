#pragma once

#include <string>

#include "base/error.hpp"
#include "catch.hpp"

namespace ckpt::fixture {

/// What `work` throws as an Error, whose kind must be `kind`; "" where it throws nothing.
template <class Work>
std::string refused(Work&& work, Kind kind = Kind::input) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "";
}

}  // namespace ckpt::fixture
