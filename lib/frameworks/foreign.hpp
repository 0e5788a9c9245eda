#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ckpt {

/// A checkpoint of a system whose files these programs do not read.
struct ForeignDirectory {
  std::string what;    ///< "a checkpoint of Orbax (JAX)"
  std::string remedy;  ///< how its tensors get into files that are read
};

/// Told by the names in a directory, and by the first bytes of a file where two systems share names; nothing where no
/// system is recognised.
std::optional<ForeignDirectory> foreign_directory(const std::filesystem::path& directory);

/// Recognises a prefix of file names, which does not exist itself, as users of TensorFlow and PaddlePaddle name their
/// checkpoints.
std::optional<ForeignDirectory> foreign_prefix(const std::filesystem::path& prefix);

/// A checkpoint of PaddlePaddle, by its marks alone: its pieces have the ending of torch's.
std::optional<ForeignDirectory> paddle_directory(const std::filesystem::path& directory);

}  // namespace ckpt
