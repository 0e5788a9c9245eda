#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/protobuf.hpp"
#include "io/posix_file.hpp"

namespace ckpt::mindspore {

/// Consecutive records of one tag: a parameter, whose data may lie in slices.
struct Parameter {
  std::string tag;
  bool is_table = false;                ///< a hash table: `slices` are its whole records
  std::string type;                     ///< `tensor_type`
  std::vector<std::uint64_t> dims;      ///< of the whole tensor
  std::vector<protobuf::Range> slices;  ///< its data, in order
};

/// The message before the records of a file that ckpt-reshard wrote.
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
  struct ParameterShape {
    std::string name;
    std::vector<std::uint64_t> extents;
  };
  std::vector<ParameterShape> shapes;
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

/// Returns the cipher of an encrypted file, "AES-GCM"; empty if it is not encrypted.
std::string cipher_of(const PosixFile& file, std::uint64_t file_bytes);

/// Returns where the records end: a CRC may follow.
std::uint64_t end_of_records(const PosixFile& file, std::uint64_t file_bytes);

/// Reads everything in a file except its tensors' data. Throws input, naming the parameter, if it is damaged or
/// truncated.
Records read_records(const PosixFile& file, std::uint64_t file_bytes);

}  // namespace ckpt::mindspore
