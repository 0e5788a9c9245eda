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
  bool has_given_layout = false;               ///< the layout was given with an option: show its rules
  std::string framework = {};                  ///< whose directory it is, if that is known
  std::vector<std::string> open = {};          ///< for a picture: the parameters that the layout has no rule for
  bool may_be_drafted = true;                  ///< files without a layout: nothing is known that no draft could solve
  bool with_all = false;                       ///< everything was asked for, however much it is
};

/// "[512, 4096] on 0-63": the shapes in which files store a parameter, and which files; for a single file its shape.
std::string stored_text(const StoredParameter& parameter, const Survey& survey);

/// Whether there are more parameters than fit a screen, so that they are summed up first.
bool is_summed_up(const Inspection& inspection);

/// Renders the answers to first questions: format, cards, step, dtypes, optimizer state, prefixes. `with_rows` adds the
/// parameters; those that differ only in numbers share a row.
Lines overview_text(const Inspection& inspection, bool with_rows, std::optional<std::size_t> width);

/// Renders tables, with lines of at most `width` characters if there is a width. Without one, or `with_all`, each
/// parameter has a row.
Lines inspection_text(const Inspection& inspection, std::optional<std::size_t> width);

std::string inspection_json(const Inspection& inspection);

}  // namespace ckpt::cli
