#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ckpt::tensorflow {

/// Decompresses a block in snappy's raw format. Throws input if the block contradicts itself, or becomes larger than
/// `most_bytes`. https://github.com/google/snappy, format_description.txt
std::string unpacked_snappy(std::string_view packed, std::uint64_t most_bytes);

}  // namespace ckpt::tensorflow
