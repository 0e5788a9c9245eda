#pragma once

#include <filesystem>

#include "frameworks/dist_files.hpp"
#include "store/pickle/pickle.hpp"

/// The metadata of paddle.distributed.save_state_dict, which say where the pieces of tensors are.
namespace ckpt {

/// Parses the pickle; nothing in it is executed. Throws input, naming the tensor, for contradictions: pieces outside
/// their tensor or in no file, and files elsewhere.
/// https://github.com/PaddlePaddle/Paddle, python/paddle/distributed/flex_checkpoint/dcp/metadata.py
DistMetadata parse_paddle_metadata(const torch::Pickle& pickle);

/// Reads a file of metadata, in a child process. Throws input, naming the file.
DistMetadata read_paddle_metadata(const std::filesystem::path& file);

}  // namespace ckpt
