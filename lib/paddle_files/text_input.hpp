#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace ckpt {

/// Whether a text file's name says that it is compressed.
bool is_gzip_name(std::string_view name);

/// Gives a file's text piece by piece from its beginning to its end, inflated where its name ends in .gz, and returns
/// the bytes of the file. It takes twice `piece_bytes` of memory. Throws input, naming the file, for one that is no
/// whole gzip, or that changes meanwhile.
std::uint64_t read_text(const std::filesystem::path& file, std::size_t piece_bytes,
                        const std::function<void(std::string_view)>& take);

}  // namespace ckpt
