#pragma once

#include <cstdint>
#include <string_view>

// A checkpoint is one protobuf message, Checkpoint, and so a sequence of records, each a parameter or a slice of one:
// https://gitee.com/mindspore/mindspore/blob/master/mindspore/ccsrc/utils/checkpoint.proto
namespace ckpt::mindspore {

enum CheckpointField : std::uint64_t {
  record_field = 1,
  /// The field that ckpt-reshard adds before all records: MindSpore skips unknown fields.
  own_field = 10001,
};

enum RecordField : std::uint64_t { tag_field = 1, tensor_field = 2, table_field = 3 };

enum TensorField : std::uint64_t { dims_field = 1, type_field = 2, content_field = 3 };

/// The fields of the message `own_field`.
enum OwnField : std::uint64_t {
  own_file_bytes = 1,  ///< size of the whole file: detects a file that was truncated between two records
  own_layout = 2,
  own_manifest = 3,
  own_attribute = 4,  ///< own_name and own_text, once for each attribute
  own_shape = 5,      ///< own_name and own_extents: a logical shape
};
enum OwnPartField : std::uint64_t { own_name = 1, own_text = 2, own_extents = 2 };

/// The size of the slices into which MindSpore cuts a tensor's data.
inline constexpr std::uint64_t slice_bytes = 512U << 20;

/// The end of a file with `crc_check=True`: these letters, then the CRC-32 of everything before them as a number of 10
/// bytes, big-endian.
inline constexpr std::string_view crc_mark = "crc_num";
inline constexpr std::uint64_t crc_bytes = 17;

}  // namespace ckpt::mindspore
