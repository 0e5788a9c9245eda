#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "layout/mesh.hpp"
#include "layout/placement.hpp"
#include "store/catalog.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// What an axis of a file's mesh is called: by its number where it has no name.
std::string name_of_axis(const std::vector<MeshAxis>& mesh, std::size_t number);

/// The mesh that a job's ranks make up, by what their files say of the tensors in them, and where on it each rank is.
class RankMesh {
 public:
  /// The schemas of each rank's files. A mesh of the one axis "card" where they speak of none, or of several that no
  /// one mesh stands for. Throws input where the ranks do not fill a mesh.
  explicit RankMesh(const std::vector<std::vector<const Schema*>>& schemas);

  const Mesh& mesh() const noexcept { return mesh_; }
  Position position(std::size_t rank) const { return positions_[rank]; }

  /// Whether all tensors are cut over axes of the mesh; else each piece is a box by itself.
  bool is_of_all() const noexcept { return is_of_all_; }

  /// What a file holds of a tensor that is cut over a mesh: along each dimension axis by axis, each by `ceil`. Throws
  /// input for strides that its axes do not make.
  Box box(const Piece& piece, const Extents& shape) const;

  /// How many chunks of a dimension the axes to the right of one make.
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
