#pragma once

#include <cstdint>
#include <string_view>

/// The records of a zip archive and their sizes; numbers are little-endian.
/// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3
namespace ckpt::torch {

inline constexpr std::string_view local_mark = "PK\3\4";
inline constexpr std::string_view central_mark = "PK\1\2";
inline constexpr std::string_view end_mark = "PK\5\6";
inline constexpr std::string_view wide_end_mark = "PK\6\6";
inline constexpr std::string_view locator_mark = "PK\6\7";
inline constexpr std::uint64_t local_bytes = 30;
inline constexpr std::uint64_t central_bytes = 46;
inline constexpr std::uint64_t end_bytes = 22;
inline constexpr std::uint64_t wide_end_bytes = 56;
inline constexpr std::uint64_t locator_bytes = 20;

inline constexpr std::uint64_t in_wide_field =
    0xffffffff;  ///< in place of a 32-bit number: the number is in a field of its own
inline constexpr std::uint64_t wide_field_id = 1;
inline constexpr std::uint64_t encrypted_flag = 1;
inline constexpr std::uint64_t deflate_method = 8;

}  // namespace ckpt::torch
