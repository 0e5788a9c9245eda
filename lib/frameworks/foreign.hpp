#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ckpt {

/// A checkpoint of a system whose files these programs do not read.
struct ForeignDirectory {
  std::string what;    ///< "a checkpoint of Orbax (JAX)"
  std::string remedy;  ///< how to get its tensors into files that are read
};

/// Recognises a system by the names in a directory; nothing for other directories.
std::optional<ForeignDirectory> foreign_directory(const std::filesystem::path& directory);

/// Recognises a prefix of file names, which is not itself a file: users of TensorFlow and PaddlePaddle name their
/// checkpoints so.
std::optional<ForeignDirectory> foreign_prefix(const std::filesystem::path& prefix);

}  // namespace ckpt
