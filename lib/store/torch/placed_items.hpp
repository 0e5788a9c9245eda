#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "store/catalog.hpp"
#include "store/pickle/pickle.hpp"

/// The metadata of torch_checkpointing (metadata.pkl), which say how its items' tensors are placed on ranks.
namespace ckpt::torch {

/// A tensor, on some ranks of a job.
struct PlacedTensor {
  std::string name;                  ///< the keys of its tree, joined by dots
  Shape shape;                       ///< of the whole tensor
  Piece piece;                       ///< without the coordinates of a rank
  std::vector<std::uint64_t> ranks;  ///< with a mesh: those of its positions, in row-major order
};

/// A part of a job's state, of which each rank has a file.
struct PlacedItem {
  std::vector<std::string> files;  ///< of safetensors, by rank; empty where there is none
  std::vector<PlacedTensor> tensors;

  bool is_consistent() const;  ///< axes of pieces are those of their meshes, and a mesh has as many positions as ranks
};

/// Returns a rank's piece of a tensor, or nothing.
std::optional<Piece> piece_of_rank(const PlacedTensor& tensor, std::uint64_t rank);

/// Whether a file begins as this metadata does.
bool begins_as_placed_items(const std::filesystem::path& file);

/// Parses metadata of version 2.0; nothing in it is executed. Throws input.
/// https://pypi.org/project/torch_checkpointing/0.1.1, distributed_metadata.py, dtensor_metadata.py,
/// default_metadata.py
std::vector<PlacedItem> parse_placed_items(const Pickle& pickle);

/// Reads such a file, in a child process. Throws input, naming the file.
std::vector<PlacedItem> read_placed_items(const std::filesystem::path& file);

}  // namespace ckpt::torch
