#include "frameworks/rank_mesh.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

[[noreturn]] void refuse_ranks(const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "the files of the ranks",
              {found, expected, "are all of them there, and of one save? If so, give a layout"});
}

std::vector<std::string> names_of_axes(const std::vector<MeshAxis>& mesh) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < mesh.size(); ++i) names.push_back(name_of_axis(mesh, i));
  return names;
}

}  // namespace

std::string name_of_axis(const std::vector<MeshAxis>& mesh, std::size_t number) {
  const std::string& name = mesh.at(number).name;
  return name.empty() ? "axis" + std::to_string(number) : name;
}

RankMesh::RankMesh(const std::vector<std::vector<const Schema*>>& schemas) : ranks_(schemas.size()) {
  for (const auto& files : schemas)
    for (const Schema* schema : files)
      for (const Dataset& dataset : schema->datasets)
        if (dataset.piece && !dataset.piece->mesh.empty()) note(dataset.piece->mesh);
  check_filled();
  is_of_all_ = find_positions(schemas);
  if (is_of_all_) return;
  mesh_ = {{"card"}, {ranks_}, {}};
  positions_.clear();
  for (Position card = 0; card < ranks_; ++card) positions_.push_back(card);
}

void RankMesh::note(const std::vector<MeshAxis>& mesh) {
  std::vector<std::uint64_t>& sizes = sizes_[names_of_axes(mesh)];
  sizes.resize(mesh.size(), 0);
  for (std::size_t i = 0; i < mesh.size(); ++i) sizes[i] = std::max(sizes[i], mesh[i].size);
}

/// A mesh is never larger than the job: if it has more positions than there are files, some are missing.
void RankMesh::check_filled() const {
  for (const auto& [names, sizes] : sizes_) {
    std::uint64_t cards = 1;
    std::vector<std::string> words;
    for (std::size_t i = 0; i < names.size(); ++i) {
      cards = checked_mul(cards, sizes[i], "a mesh's number of cards");
      words.push_back(names[i] + "=" + std::to_string(sizes[i]));
    }
    if (cards > ranks_)
      refuse_ranks(std::to_string(ranks_) + " of them, with tensors over " + join(words), std::to_string(cards));
  }
}

/// Takes the mesh with the most axes for all tensors, if it has the others' axes and a position for each rank.
bool RankMesh::find_positions(const std::vector<std::vector<const Schema*>>& schemas) {
  const auto most = std::max_element(sizes_.begin(), sizes_.end(),
                                     [](const auto& a, const auto& b) { return a.first.size() < b.first.size(); });
  if (most == sizes_.end()) return false;
  mesh_ = {most->first, most->second, {}};
  if (mesh_.size() != ranks_) return false;
  for (const auto& [names, sizes] : sizes_)
    for (std::size_t i = 0; i < names.size(); ++i)
      if (const auto axis = mesh_.axis(names[i]); !axis || mesh_.shape[*axis] != sizes[i]) return false;
  std::vector<bool> is_taken(ranks_, false);
  for (const auto& files : schemas) {
    const auto position = position_of(files);
    if (!position || is_taken[*position]) return false;
    is_taken[*position] = true;
    positions_.push_back(*position);
  }
  return true;
}

std::optional<Position> RankMesh::position_of(const std::vector<const Schema*>& files) const {
  for (const Schema* schema : files)
    for (const Dataset& dataset : schema->datasets) {
      if (!dataset.piece || names_of_axes(dataset.piece->mesh) != mesh_.axes) continue;
      Position position = 0;
      for (std::size_t i = 0; i < mesh_.axes.size(); ++i)
        position = position * mesh_.shape[i] + dataset.piece->mesh[i].coordinate;
      return position;
    }
  return std::nullopt;
}

std::uint64_t RankMesh::chunks_before(const Piece& piece, std::size_t dim, std::uint64_t axis) const {
  const auto& sizes = sizes_.at(names_of_axes(piece.mesh));
  std::uint64_t chunks = 1;
  for (const std::uint64_t other : piece.split[dim])
    if (other > axis) chunks = checked_mul(chunks, sizes[other]);
  return chunks;
}

Box RankMesh::box(const Piece& piece, const Shape& shape) const {
  const auto& sizes = sizes_.at(names_of_axes(piece.mesh));
  Box box = whole(shape);
  for (std::size_t dim = 0; dim < piece.split.size(); ++dim)
    for (const std::uint64_t axis : piece.split[dim]) {
      const MeshAxis& at = piece.mesh[axis];
      if (at.split_factor != 0 && at.split_factor != chunks_before(piece, dim, axis))
        throw Error(Kind::input, "",
                    {"is cut in strides of " + std::to_string(at.split_factor) + " chunks",
                     std::to_string(chunks_before(piece, dim, axis)) + ", as the mesh's other axes make",
                     "give a layout that says how"});
      const std::uint64_t each = ceil_div(box[dim].size(), sizes[axis]);
      const std::uint64_t lo = std::min(box.hi[dim], box.lo[dim] + at.coordinate * each);
      box.set(dim, {lo, std::min(box.hi[dim], lo + each)});
    }
  return box;
}

}  // namespace ckpt
