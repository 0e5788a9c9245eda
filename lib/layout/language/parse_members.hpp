#pragma once

#include <string>
#include <vector>

#include "layout/language/layout.hpp"
#include "layout/language/parse_node.hpp"

namespace ckpt::parsing {

/// Returns the members of one bucket among `buckets` (stored names) that share a JSON value: a list of members, or an
/// object with a template for their names. Each member has a shape or a `like`, and a distinct name.
std::vector<BucketMember> parse_members(const Node& node, const Mesh& mesh, Axis axis,
                                        const std::vector<std::string>& buckets, std::size_t which);
std::string members_of(const Bucket& bucket, const Mesh& mesh);
std::string members_schema();

}  // namespace ckpt::parsing
