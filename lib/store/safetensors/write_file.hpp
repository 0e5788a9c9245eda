#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"

namespace ckpt::safetensors {

/// What of a specification the format cannot hold, in words for the user. An array of a type that it has no name for is
/// an error instead: throws input.
std::vector<std::string> losses(const FileSpec& spec);

/// Throws input for names that a header could not hold, or that have a meaning of their own in it.
void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups);

/// Length and header, then data. Throws input where the header would be longer than readers take.
NewFile form_of(const FileSpec& spec);

}  // namespace ckpt::safetensors
