#pragma once

#include <string>
#include <vector>

#include "layout/language/layout.hpp"
#include "layout/language/parse_node.hpp"
#include "tensor/extents.hpp"

namespace ckpt::parsing {

/// Limit on the parts of one fused dimension: far above any model, far below what would exhaust memory.
inline constexpr std::uint64_t max_parts = std::uint64_t{1} << 20;

/// Reads the keys that say what a card stores from a rule or a bucket's member (whose own keys the caller has checked),
/// and checks them against one another. `borrows`: a `like` accompanies them, so that missing keys may come from
/// another rule.
Keys parse_keys(const Node& node, const Mesh& mesh, bool borrows);

struct ParsedAt {
  At at;
  At last;  ///< see Keys::at_last
};
ParsedAt parse_at(const Node& node, const Mesh& mesh);

Boxes parse_boxes(const Node& node);
std::vector<std::uint64_t> parse_grid(const Node& node);
/// Checks `boxes` in itself, and for the shape that accompanies it.
void check_boxes(const Node& rule, const Keys& keys, const Mesh& mesh);
std::vector<std::uint64_t> parse_shape(const Node& node);

}  // namespace ckpt::parsing
