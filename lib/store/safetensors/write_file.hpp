#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"

namespace ckpt::safetensors {

/// Lists what the format cannot hold of a specification, in words for the user. Throws input for an array of a type
/// that it has no name for.
std::vector<std::string> losses(const FileSpec& spec);

/// Throws input for names that a header cannot hold, or to which it gives a special meaning.
void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups);

/// Lays out length, header and data. Throws input if the header is too long for readers.
NewFile form_of(const FileSpec& spec);

}  // namespace ckpt::safetensors
