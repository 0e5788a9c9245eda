#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/source_reader.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// A model's expected tensors: names, logical shapes, dtypes, and their data if it comes from a checkpoint.
class Reference {
 public:
  /// The checkpoint with the tensors' data. Its parameters have the tensors' numbers.
  struct Data {
    Checkpoint checkpoint;
    Placement placement;
  };

  /// Reads a checkpoint of any format (a directory or file that carries its layout, or a file that holds everything
  /// whole), a safetensors index with its files beside it, or JSON (`parse_reference`); process 0 tells them apart by
  /// content. Collective. Throws layout for JSON that is none of these, input for data that contradicts itself or
  /// cannot be read.
  static Reference load(const std::filesystem::path& path, SourceStore& store, Communicator& processes);

  /// A reference of tensors without data, in any order.
  Reference(std::string origin, std::vector<Tensor> tensors);

  /// Its name in messages.
  const std::string& origin() const noexcept { return origin_; }
  /// Sorted by name.
  const std::vector<Tensor>& tensors() const noexcept { return tensors_; }
  /// The number of the tensor of this name, or nothing.
  std::optional<std::size_t> find(const std::string& name) const;

  /// Null for tensors without data.
  const Data* data() const noexcept { return data_ ? &*data_ : nullptr; }
  /// Makes its quantised weights numbers (`Checkpoint::dequantise`, which throws). It must have data.
  void dequantise(const Dequantisation& how);

 private:
  Reference(std::string origin, Data data);

  std::string origin_;
  std::vector<Tensor> tensors_;
  std::optional<Data> data_;
};

/// Reads the data of a reference's tensors, on a process that sees its files. The reference and the store must outlive
/// it.
class ReferenceReader {
 public:
  /// `window_bytes`, `most_open`: as in SourceReader.
  ReferenceReader(const Reference& reference, SourceStore& store, std::uint64_t window_bytes, std::size_t most_open);

  /// Reads the elements of a box of a tensor (by its number) in row-major order: as many bytes as `out` has. Throws
  /// input if they cannot be read.
  void read(std::size_t tensor, const Box& box, std::span<std::byte> out);

 private:
  SourceReader reader_;
  Buffer scratch_;
};

}  // namespace ckpt
