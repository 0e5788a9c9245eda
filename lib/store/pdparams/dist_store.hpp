#pragma once

#include <memory>

#include "store/store.hpp"

namespace ckpt {

namespace pdparams {

/// The name in Format::name, and that of the metadata.
inline constexpr const char* dist_format = "paddle_dist";
inline constexpr const char* dist_index = "0.metadata";

}  // namespace pdparams

/// Directories as paddle.distributed.save_state_dict writes them. Their files are those of paddle_store.
std::unique_ptr<Store> paddle_dist_store();

}  // namespace ckpt
