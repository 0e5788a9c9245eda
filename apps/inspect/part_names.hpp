#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ckpt::cli {

/// Names for the parts of a fused tensor: those in its own name, if there are as many ("attn.qkv.weight": q, k, v;
/// "gate_up_proj": gate, up; "w13": w1, w3), else "part 0", "part 1" and so on.
std::vector<std::string> part_names(const std::string& tensor, std::size_t count);

}  // namespace ckpt::cli
