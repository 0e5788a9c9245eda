#pragma once

#include <cstdint>
#include <string_view>

namespace ckpt::drafting {

/// The number of equal parts of which a dimension is usually fused under such a name: 3 for Q, K and V, 2 for gate and
/// up; 0 if the name says nothing. A name proves nothing: this only chooses what a draft lists first.
std::uint64_t usual_parts(std::string_view name);

}  // namespace ckpt::drafting
