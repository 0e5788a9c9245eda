#pragma once

#include <string>
#include <vector>

#include "store/mindspore/format.hpp"
#include "store/store.hpp"

namespace ckpt::mindspore {

/// Lists what the format cannot hold of a specification, in words for the user. Throws input for an array of a type
/// that it has no name for.
std::vector<std::string> losses(const FileSpec& spec);

/// Throws input for names that a record cannot hold.
void check_names(const std::vector<std::string>& datasets);

/// Formats a CRC as it appears at a file's end.
std::string crc_digits(std::uint64_t sum);

/// Lays out a file as MindSpore writes it: a record for each array, or for each slice of at most `slice` bytes. An
/// array without elements has no record. A message before the records holds what MindSpore has no field for, if there
/// is any.
NewFile form_of(const FileSpec& spec, std::uint64_t slice = slice_bytes);

}  // namespace ckpt::mindspore
