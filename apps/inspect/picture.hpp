#pragma once

#include <string>
#include <vector>

#include "inspect/panel.hpp"
#include "report/result_file.hpp"

namespace ckpt::cli {

/// What stands above a picture: its title, and lines below that.
struct PictureHeading {
  std::string title;
  std::vector<std::string> lines;
};

/// What --picture writes.
const ResultKind& picture_kind();

/// The panels, one below the other, as an SVG document: text, rectangles and patterns, without scripts or anything from
/// outside. The same panels give the same text. Its size is bounded, whatever the number of cards and parameters: of
/// many pieces the first and last are drawn, more of them where the picture is of one panel.
std::string picture_svg(const PictureHeading& heading, const std::vector<Panel>& panels);

}  // namespace ckpt::cli
