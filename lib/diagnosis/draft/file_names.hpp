#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/language/mesh.hpp"

namespace ckpt::drafting {

/// What the names of a checkpoint's files say about its cards.
struct FileNames {
  std::string files;  ///< the template, for `files` of a layout
  Mesh mesh;          ///< the given one, with the cards' ids; else with an axis for each number that varies
};

/// Reads the numbers in the names. A single number that varies is the card's id, or the coordinate on an axis of that
/// size, if the cards share files along the other axes; several are coordinates. `given`: the axes and their sizes.
/// Throws input, reporting what was found, if the names have several forms or do not fit the mesh's number of cards.
FileNames read_file_names(const std::vector<std::string>& names, const std::optional<Mesh>& given);

}  // namespace ckpt::drafting
