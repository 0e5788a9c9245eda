#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "store/posix_file.hpp"

namespace ckpt {

/// Whether a text file's name says that it is compressed.
bool is_gzip_name(std::string_view name);

/// Gives a file's text piece by piece from its beginning to its end, inflated where its name ends in .gz, and returns
/// what the file is. It takes twice `piece_bytes` of memory. Throws input, naming the file, for one that is no
/// whole gzip, or that changes meanwhile.
PosixFile::Status read_text(const std::filesystem::path& file, std::size_t piece_bytes,
                            const std::function<void(std::string_view)>& take);

/// The same from a byte of the file on, of a compressed one from 0, until `take` gives false. Whether the file changes
/// is not looked at.
void read_text_from(const std::filesystem::path& file, std::uint64_t byte, std::size_t piece_bytes,
                    const std::function<bool(std::string_view)>& take);

}  // namespace ckpt
