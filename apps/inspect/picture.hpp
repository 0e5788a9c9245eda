#pragma once

#include <string>
#include <vector>

#include "inspect/panel.hpp"
#include "report/result_file.hpp"

namespace ckpt::cli {

/// A picture's title, and the lines below it.
struct PictureHeading {
  std::string title;
  std::vector<std::string> lines;
};

/// The kind of file that --picture writes.
const ResultKind& picture_kind();

/// The panels, one below the other, as an SVG document of text, rectangles and patterns, without scripts or anything
/// external. The same panels give the same text. Its size is bounded, whatever the number of cards and parameters: if
/// there are many pieces, only the first and last are drawn, more of them in a picture of one panel.
std::string picture_svg(const PictureHeading& heading, const std::vector<Panel>& panels);

}  // namespace ckpt::cli
