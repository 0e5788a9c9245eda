#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "layout/placement.hpp"

namespace ckpt {

/// What a model's tensors are to be: names, logical shapes and dtypes, and their data where it is a checkpoint.
class Reference {
 public:
  /// A checkpoint that holds some of the tensors: of an index, one for each of its files.
  struct Part {
    Checkpoint checkpoint;
    Placement placement;
  };
  /// Where a tensor's data is.
  struct Place {
    std::size_t part = 0;
    ParameterId parameter = 0;
  };

  /// Reads a checkpoint of any format (a directory or a file that carries its layout, or a file that holds everything
  /// whole), a safetensors index with its files beside it, or JSON (`parse_reference`): its content tells which, as
  /// process 0 sees it. Collective. Throws layout for JSON that is none of these, input for what contradicts itself or
  /// cannot be read.
  static Reference load(const std::filesystem::path& path, SourceStore& store, Communicator& processes);

  /// Of tensors without data, in any order.
  Reference(std::string origin, std::vector<Tensor> tensors);

  /// What messages call it.
  const std::string& origin() const noexcept { return origin_; }
  /// Sorted by name.
  const std::vector<Tensor>& tensors() const noexcept { return tensors_; }
  /// The number of the tensor of this name, or nothing.
  std::optional<std::size_t> find(const std::string& name) const;

  bool has_data() const noexcept { return !parts_.empty(); }
  const std::vector<Part>& parts() const noexcept { return parts_; }
  /// Of a tensor by its number, where there is data.
  Place place(std::size_t tensor) const { return places_[tensor]; }

 private:
  static Reference of(std::string origin, std::vector<Part> parts);

  std::string origin_;
  std::vector<Tensor> tensors_;
  std::vector<Part> parts_;
  std::vector<Place> places_;  // parallel to tensors_ where there are parts
};

}  // namespace ckpt
