#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "layout/language/mesh.hpp"
#include "layout/placement/placement.hpp"
#include "store/catalog.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// The name of an axis of a file's mesh; its number if it has no name.
std::string name_of_axis(const std::vector<MeshAxis>& mesh, std::size_t number);

/// The mesh of a job's ranks, and each rank's position on it, from what their files say about their tensors.
class RankMesh {
 public:
  /// Takes the schemas of each rank's files. The mesh has the one axis "card" if they mention no mesh, or several that
  /// no one mesh covers. Throws input if the ranks do not fill a mesh.
  explicit RankMesh(const std::vector<std::vector<const Schema*>>& schemas);

  const Mesh& mesh() const noexcept { return mesh_; }
  Position position(std::size_t rank) const { return positions_[rank]; }

  /// Whether all tensors are cut over axes of the mesh; else each piece is a box of its own.
  bool is_of_all() const noexcept { return is_of_all_; }

  /// The part that a file holds of a tensor cut over a mesh: along each dimension axis by axis, each by `ceil`. Throws
  /// input if its strides do not follow from its axes.
  Box box(const Piece& piece, const Shape& shape) const;

  /// How many chunks the axes to the right of one cut a dimension into.
  std::uint64_t chunks_before(const Piece& piece, std::size_t dim, std::uint64_t axis) const;

 private:
  using Names = std::vector<std::string>;

  void note(const std::vector<MeshAxis>& mesh);
  bool find_positions(const std::vector<std::vector<const Schema*>>& schemas);
  std::optional<Position> position_of(const std::vector<const Schema*>& files) const;
  void check_filled() const;

  std::uint64_t ranks_;
  Mesh mesh_;
  bool is_of_all_ = false;
  std::map<Names, std::vector<std::uint64_t>> sizes_;  // of each mesh, by the names of its axes
  std::vector<Position> positions_;
};

}  // namespace ckpt
