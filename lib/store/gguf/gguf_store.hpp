#pragma once

#include <memory>

#include "store/store.hpp"

namespace ckpt {

/// Models of llama.cpp (GGUF, versions 2 and 3), which are only read. Tensors in blocks that share a scale (Q8_0) are
/// listed, and cannot be read; so that a model of F32, F16 or BF16 can be compared with what it was made from.
/// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
std::unique_ptr<Store> gguf_store();

}  // namespace ckpt
