#pragma once

#include <string>
#include <vector>

#include "store/mindspore/format.hpp"
#include "store/store.hpp"

namespace ckpt::mindspore {

/// What of a specification the format cannot hold, in words for the user. An array of a type that it has no name for is
/// an error instead: throws input.
std::vector<std::string> losses(const FileSpec& spec);

/// Throws input for names that a record could not hold.
void check_names(const std::vector<std::string>& datasets);

/// A CRC as it stands at a file's end.
std::string crc_digits(std::uint64_t sum);

/// As MindSpore writes a file: a record for each array, or for each slice of at most `slice` bytes of it, but that it
/// writes nothing for an array without elements. What MindSpore has no place for stands in front, where there is any.
NewFile form_of(const FileSpec& spec, std::uint64_t slice = slice_bytes);

}  // namespace ckpt::mindspore
