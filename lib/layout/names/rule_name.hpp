#pragma once

#include <cstddef>
#include <string>

#include "layout/language/layout.hpp"

namespace ckpt {

/// Returns "*.wq, *.wk, *.wv, … (5 more)": at most `most` of a rule's patterns.
std::string patterns_of(const Rule& rule, std::size_t most = 3);

/// Returns how messages name a rule of a layout: `rule "*.w"`, and with its place if it has several patterns: `rule
/// "*.wq, *.wk" at /parameters/3`.
std::string rule_name(const Layout& layout, std::size_t rule);

}  // namespace ckpt
