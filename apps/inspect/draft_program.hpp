#pragma once

#include <string>
#include <vector>

#include "cli/expect_options.hpp"
#include "layout/language/mesh.hpp"
#include "processes/communicator.hpp"

namespace ckpt::cli {

/// The arguments of --draft.
struct DraftOptions {
  std::string path;
  std::string mesh;  ///< as written; may be empty
  ExpectOptions expectation;
  std::string tolerance;             ///< as written; may be empty
  std::vector<std::string> unfused;  ///< globs
  std::vector<std::string> allow_external;
  std::vector<std::string> number_types;
};

/// Parses "dp=2,tp=4", major axis first. Throws usage.
Mesh parse_axes(const std::string& text);

/// Prints a layout of the checkpoint on standard output, and what remains open on standard error. Returns the exit
/// status: 0 if the layout is complete, 1 if something is open. Collective.
int run_draft(const DraftOptions& options, Communicator& processes);

}  // namespace ckpt::cli
