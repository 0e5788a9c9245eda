#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/boxed_optional.hpp"
#include "base/error.hpp"
#include "io/posix_file.hpp"
#include "tensor/box.hpp"

/// TensorFlow's checkpoints of the second form, "tensor bundles": PREFIX.index, which says everything, and data files
/// PREFIX.data-00000-of-00004, which are nothing but data.
/// https://github.com/tensorflow/tensorflow, tensorflow/core/util/tensor_bundle, protobuf/tensor_bundle.proto
namespace ckpt::tensorflow {

inline constexpr std::string_view index_ending = ".index";

std::string data_name(const std::string& prefix, std::uint64_t shard, std::uint64_t shards);

/// Returns the prefix of a data file's name; nothing for other names.
std::optional<std::string> prefix_of_data(const std::string& name);

/// A piece of a tensor, the whole of it if it is not partitioned: a run of bytes of a data file.
struct BundlePiece {
  Box box;
  std::uint32_t file = 0;  ///< index into Bundle::files
  std::uint32_t slot = 0;  ///< number of pieces of the same tensor before it in that file
  Interval place;
  std::uint32_t crc = 0;  ///< CRC-32C of its bytes
};

struct BundleTensor {
  std::string name;
  std::uint32_t type = 0;  ///< TensorFlow's number
  Shape shape;
  std::vector<BundlePiece> pieces;
  /// The reason why nobody can read it; then it has one piece without elements.
  BoxedOptional<Error> refusal = {};
};

/// The contents of an index.
struct Bundle {
  std::vector<std::string> files;     ///< names of the data files that hold something, by shard
  std::vector<BundleTensor> tensors;  ///< sorted by name

  bool is_consistent() const noexcept;  ///< all numbers of files are below files.size()
};

/// Reads an index. `prefix`: the one of its name. Throws input for a table that is damaged, no bundle's, or of the
/// first form; and, naming the tensor, for entries that contradict each other. What cannot be read is kept with the
/// reason (`refusal`).
Bundle read_index(const PosixFile& file, std::uint64_t file_bytes, const std::string& prefix);

// ---- Writing

/// A tensor's piece in one of the data files of a bundle that is being written.
struct WrittenPiece {
  std::string name;
  std::uint32_t type = 0;
  Shape shape;  ///< of the whole tensor
  Box box;
  Interval place;
  std::uint32_t crc = 0;

  bool is_consistent() const noexcept { return box.is_consistent() && box.rank() == shape.size(); }
};

/// Returns the index of data files with these pieces, by shard. Throws input if a name occurs twice.
std::string index_of(const std::vector<std::vector<WrittenPiece>>& files);

}  // namespace ckpt::tensorflow
