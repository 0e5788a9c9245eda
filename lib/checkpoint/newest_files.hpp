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
  std::string path;  ///< the template with a name in the place of `*`, in which {card} stands for the card's number
  std::string said;  ///< a line for the user where there were several, with what is passed over; else empty
};

/// Chooses among the files of each card (their names, by position) the newest that all cards have: by epoch and step,
/// which MindSpore writes at the end ("-1_10"), as numbers. `text` is the template; `others`: files of other endings
/// beside them, which are no candidates. Throws input, naming the candidates, where the cards have none in common, and
/// where one of them is not the newest of each card: another is as new or newer, or of another series of names.
NewestName newest_name(const std::string& text, const Mesh& mesh, const std::vector<std::vector<std::string>>& names,
                       const std::vector<std::vector<std::string>>& others = {});

/// The layout with the files found that its templates leave open by `*`, in a checkpoint's directory; a name that ends
/// in .ckpt stands for one in .safetensors, too, where there is none. Collective; throws input, the same on every
/// process.
Layout with_newest_files(Layout layout, const std::filesystem::path& directory, Communicator& processes);

}  // namespace ckpt
