#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "layout/language/layout.hpp"

// Layouts that are refused, and what is said of them.
namespace ckpt::fixture {

/// A layout and what its message must hold: the place ("a.json: /mesh/shape: found "…) and what is expected.
struct RefusedLayout {
  std::string text;
  std::string message;
};

inline void check_refused(const std::vector<RefusedLayout>& cases) {
  for (const auto& [text, message] : cases) {
    INFO(text.substr(0, 500));
    try {
      parse_layout(text, "a.json");
      FAIL_CHECK("no error, expected: " << message);
    } catch (const Error& error) {
      CHECK(error.kind() == Kind::layout);
      CHECK_THAT(error.what(), Catch::Matchers::Contains(message));
    }
  }
}

/// A layout on a 2 × 4 mesh of dp and tp with more top-level keys.
inline std::string with(const std::string& more) {
  return R"({"ckpt_layout": 1, "mesh": {"axes": ["dp", "tp"], "shape": [2, 4]}, )" + more + "}";
}

/// One with a rule named "w" that has these keys.
inline std::string rule(const std::string& keys) {
  return with(R"("parameters": [{"name": "w", )" + keys + "}]");
}

}  // namespace ckpt::fixture
