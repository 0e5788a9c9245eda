#include "store/mindspore/crc.hpp"

#include "io/crc.hpp"

namespace ckpt::mindspore {

std::uint64_t crc_of(const PosixFile& file, std::uint64_t bytes) {
  return ckpt::crc_of(file, Interval{0, bytes});
}

}  // namespace ckpt::mindspore
