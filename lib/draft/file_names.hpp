#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/mesh.hpp"

namespace ckpt::drafting {

/// What the names of a checkpoint's files say of its cards.
struct FileNames {
  std::string files;  ///< the template, as `files` of a layout has it
  Mesh mesh;          ///< the given one, with the ids of the cards; else of an axis for each number that varies
};

/// Reads the numbers in the names: one that varies is the card's id (or the coordinate on an axis of that size, along
/// the others of which the cards share a file), several are coordinates. `given`: the axes and their sizes. Throws
/// input, saying what was found, where the names are of more than one form or do not give the mesh's number of cards.
FileNames read_file_names(const std::vector<std::string>& names, const std::optional<Mesh>& given);

}  // namespace ckpt::drafting
