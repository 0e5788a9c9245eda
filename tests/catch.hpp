#pragma once

// Catch2 2 (Debian 12) is one header; Catch2 3 (Debian 13) has a folder of them. Tests include this one. Not
// catch_all.hpp: it declares a matcher of ranges, Contains, which any string fits better than version 2's Contains,
// declared here again.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_tostring.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <catch2/matchers/catch_matchers_vector.hpp>

using Catch::Approx;

namespace Catch::Matchers {
inline auto Contains(const std::string& text) {
  return ContainsSubstring(text);
}
}  // namespace Catch::Matchers
#else
#include <catch2/catch.hpp>
#endif
