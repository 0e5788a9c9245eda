#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/logical_view.hpp"
#include "inspect/survey.hpp"
#include "inspect/table_view.hpp"
#include "report/output.hpp"

namespace ckpt::cli {

/// Everything that ckpt-inspect shows.
struct Inspection {
  std::string path;
  Survey survey;
  std::optional<Placement> placement = {};     ///< with a layout
  std::vector<LogicalParameter> logical = {};  ///< with a layout; else empty
  bool with_boxes = false;                     ///< parameters were asked for by name: show which card holds which box
  std::vector<TableView> tables = {};          ///< with a layout that has tables
};

/// Renders tables, with lines of at most `width` characters if there is a width.
Lines inspection_text(const Inspection& inspection, std::optional<std::size_t> width);

std::string inspection_json(const Inspection& inspection);

}  // namespace ckpt::cli
