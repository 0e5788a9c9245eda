#pragma once

#include <cstddef>
#include <string>

#include "layout/layout.hpp"

namespace ckpt {

/// "*.wq, *.wk, *.wv, … (5 more)": a rule's patterns, at most so many.
std::string patterns_of(const Rule& rule, std::size_t most = 3);

/// How a message names a rule of a layout: `rule "*.w"`, and with its place where it has several patterns:
/// `rule "*.wq, *.wk" at /parameters/3`.
std::string rule_name(const Layout& layout, std::size_t rule);

}  // namespace ckpt
