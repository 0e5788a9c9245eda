#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace ckpt::safetensors {

/// What of a specification the format cannot hold, in words for the user. An array of a type that it has no name for is
/// an error instead: throws input.
std::vector<std::string> losses(const FileSpec& spec);

/// Store::create.
FileRoom write_file(const std::filesystem::path& path, const FileSpec& spec);

/// The file's bytes before its data, and where its data goes.
struct Form {
  std::string head;  ///< length and header
  FileRoom room;
};
Form form_of(const FileSpec& spec);

}  // namespace ckpt::safetensors
