#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "layout/language/layout.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// The name that is chosen for the `*` in a layout's template, such as "rank_{card}/*.ckpt".
struct NewestName {
  std::string path;  ///< the template with the name for `*`, in which {card} stands for the card's number
  std::string said;  ///< a line for the user if there were several: what is passed over; else empty
};

/// Chooses among each card's files (`names`, by position) the newest that all cards have. Compares epoch and step,
/// which MindSpore writes at the end of names ("-1_10"), as numbers. `text`: the template; `others`: files with other
/// endings beside them, which never count. Throws input, naming the candidates, if the cards have no name in
/// common, or if a card has another file that is as new or newer, or belongs to another series of names.
NewestName newest_name(const std::string& text, const Mesh& mesh, const std::vector<std::vector<std::string>>& names,
                       const std::vector<std::vector<std::string>>& others = {});

/// Fills in the names that the layout's templates leave open with `*`, from a checkpoint's directory. A name that ends
/// in .ckpt also stands for one in .safetensors where there is no .ckpt. Collective; throws input, the same on every
/// process.
Layout with_newest_files(Layout layout, const std::filesystem::path& directory, Communicator& processes);

}  // namespace ckpt
