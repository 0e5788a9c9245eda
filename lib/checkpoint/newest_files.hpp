#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// Which of the names that a card's files have is meant, where a layout's template has `*` for a name:
/// "rank_{card}/*.ckpt".
struct NewestName {
  std::string path;     ///< the template with a name in the place of `*`, in which {card} stands for the card's number
  std::string said;     ///< a line for the user where there were several; else empty
  std::string warning;  ///< where only some of the cards have a newer one
};

/// Chooses among the files of each card (their names, by position) the newest that all cards have: by epoch and step,
/// which MindSpore writes at the end ("-1_10"), as numbers. `text` is the template. Throws input where they have none
/// in common, or where names do not tell which is the newest.
NewestName newest_name(const std::string& text, const Mesh& mesh, const std::vector<std::vector<std::string>>& names);

/// The layout with the files found that its templates leave open by `*`, in a checkpoint's directory; a name that ends
/// in .ckpt stands for one in .safetensors, too, where there is none. Collective; throws input, the same on every
/// process.
Layout with_newest_files(Layout layout, const std::filesystem::path& directory, Communicator& processes);

}  // namespace ckpt
