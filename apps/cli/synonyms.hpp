#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt::cli {

/// The options of these programs that an option word of other programs (torch, huggingface-cli, safetensors, cp, rsync,
/// Slurm, jq) may mean, the likeliest first: "--exclude" → {"--drop"}. Letters' case, and _ for -, make no difference.
std::vector<std::string_view> options_like(std::string_view word);

/// The name of a floating-point type that --cast knows, from torch's, NumPy's or JAX's in any case: "torch.bfloat16",
/// "BF16" and "half" are "bf16", "bf16" and "f16". Any other word as it is.
std::string dtype_word(std::string_view word);

}  // namespace ckpt::cli
