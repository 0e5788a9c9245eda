#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/protobuf.hpp"
#include "store/posix_file.hpp"

namespace ckpt::mindspore {

/// Consecutive records of one tag: a parameter, whose data may lie in slices.
struct Parameter {
  std::string tag;
  bool is_table = false;                ///< a hash table: `slices` are its records whole
  std::string type;                     ///< `tensor_type`
  std::vector<std::uint64_t> dims;      ///< of the whole tensor
  std::vector<protobuf::Range> slices;  ///< its data, in order
};

/// What stands in front of the records, where these programs wrote the file.
struct OwnHeader {
  bool is_there = false;
  std::uint64_t file_bytes = 0;
  std::string layout;
  std::string manifest;
  struct Text {
    std::string name;
    std::string text;
  };
  std::vector<Text> attributes;
  struct Shape {
    std::string name;
    std::vector<std::uint64_t> extents;
  };
  std::vector<Shape> shapes;
};

struct Records {
  OwnHeader header;
  std::vector<Parameter> parameters;  ///< in the file's order
};

/// How a file begins.
enum class Beginning {
  checkpoint,
  encrypted,
  other,
};
Beginning beginning_of(const PosixFile& file, std::uint64_t file_bytes);

/// "AES-GCM": what a file is encrypted with; empty where it is not.
std::string cipher_of(const PosixFile& file, std::uint64_t file_bytes);

/// Where the records end: behind them there may be a CRC.
std::uint64_t end_of_records(const PosixFile& file, std::uint64_t file_bytes);

/// All that a file says but its tensors' data. Throws input, naming the parameter, for what is damaged, or cut off.
Records read_records(const PosixFile& file, std::uint64_t file_bytes);

}  // namespace ckpt::mindspore
