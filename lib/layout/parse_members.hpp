#pragma once

#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "layout/parse_node.hpp"

namespace ckpt::parsing {

/// The members of a bucket that stands for each of `buckets` (its stored names), as they are in one of them: a list of
/// members, or an object that names them by a template. Each has a shape or a `like`, and a name of its own.
std::vector<BucketMember> parse_members(const Node& node, const Mesh& mesh, Axis axis,
                                        const std::vector<std::string>& buckets, std::size_t which);

}  // namespace ckpt::parsing
