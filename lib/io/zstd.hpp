#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

/// Zstandard (RFC 8878). In a build without libzstd, unpacking throws an input error that says so.
namespace ckpt {

/// Whether this build has libzstd.
bool has_zstd() noexcept;

/// Unpacks frames that hold exactly out.size() bytes. Throws input if they are damaged, or hold more or less.
void unpack_zstd(std::span<const std::byte> packed, std::span<std::byte> out);
/// The same with frames that come in pieces: `next` returns the next piece, which is empty at the end.
void unpack_zstd(const std::function<std::span<const std::byte>()>& next, std::span<std::byte> out);

/// Unpacks frames that need not say how much they hold. Throws input if they are damaged, or hold more than `most`
/// bytes.
std::string unpacked_zstd(std::string_view packed, std::uint64_t most);

}  // namespace ckpt
