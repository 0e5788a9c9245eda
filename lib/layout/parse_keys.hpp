#pragma once

#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "layout/parse_node.hpp"
#include "tensor/extents.hpp"

namespace ckpt::parsing {

/// Parts that one dimension may be fused from: far above any model, far below what would exhaust memory.
inline constexpr std::uint64_t max_parts = std::uint64_t{1} << 20;

/// Reads the keys that say what a card stores, out of a rule or a bucket's member (whose own keys the caller has
/// checked), and checks them one against another. `borrows`: a `like` stands beside them, so that keys not here may
/// come from another rule.
Keys parse_keys(const Node& node, const Mesh& mesh, bool borrows);

struct ParsedAt {
  At at;
  At last;  ///< as Keys::at_last
};
ParsedAt parse_at(const Node& node, const Mesh& mesh);

Boxes parse_boxes(const Node& node);
std::vector<std::uint64_t> parse_grid(const Node& node);
/// What `boxes` must satisfy by itself, for the shape that stands beside it.
void check_boxes(const Node& rule, const Keys& keys, const Mesh& mesh);
std::vector<std::uint64_t> parse_shape(const Node& node);

}  // namespace ckpt::parsing
