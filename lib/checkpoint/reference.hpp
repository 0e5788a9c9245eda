#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// What a model's tensors are to be: names, logical shapes and dtypes, and their data if it comes from a checkpoint.
class Reference {
 public:
  /// A checkpoint that holds some of the tensors; an index has one for each of its files.
  struct Part {
    Checkpoint checkpoint;
    Placement placement;
  };
  /// The place of a tensor's data.
  struct Place {
    std::size_t part = 0;
    ParameterId parameter = 0;
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

  bool has_data() const noexcept { return !parts_.empty(); }
  const std::vector<Part>& parts() const noexcept { return parts_; }
  /// The place of a tensor's data, by the tensor's number; only if there is data.
  Place place(std::size_t tensor) const { return places_[tensor]; }

 private:
  static Reference of(std::string origin, std::vector<Part> parts);

  std::string origin_;
  std::vector<Tensor> tensors_;
  std::vector<Part> parts_;
  std::vector<Place> places_;  // parallel to tensors_ where there are parts
};

}  // namespace ckpt
