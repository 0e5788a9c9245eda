#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "frameworks/sidecar.hpp"
#include "jobs/types/casts.hpp"
#include "jobs/types/expectation.hpp"
#include "jobs/types/selection.hpp"

namespace ckpt {

/// The contents of a Hugging Face model's directory, apart from its weights' data.
struct ModelDirectory {
  std::map<std::string, std::string> file_of;  ///< by tensor; empty: all are in one file
  std::vector<std::string> others;  ///< files that are neither weights nor their index: config.json, tokenizer

  /// Looks at a directory, or at the one that holds a file.
  static ModelDirectory at(std::filesystem::path place);

  /// Weights take the place of codes, and of the files that only describe them.
  void dequantise(const std::map<std::string, std::string>& weights_of_codes);
};

/// Reads files of a model's directory that an output is to have, too. `is_dequantised`: of an output whose weights are
/// numbers; what says how they are quantised is left out. `dtype`: what config.json is to name (config_dtype); empty:
/// as it does.
std::vector<Sidecar> copies_of(std::filesystem::path place, const std::vector<std::string>& names, bool is_dequantised,
                               const std::string& dtype);

/// The dtype of all floating-point tensors, as a config.json names it; empty if they have several, or another.
std::string config_dtype(const std::vector<Tensor>& tensors);

/// Gives the tensors the dtypes that are expected, where both are floating-point and no rule of `casts` names the
/// tensor. Scales keep theirs. Throws input if one side has 8-bit floats, which are codes, and the other numbers.
/// Returns a line for the user, or nothing.
std::string cast_as_expected(const ExpectedTensors& expected, const std::vector<CastRule>& casts,
                             const Placement& source, Selection& selection);

}  // namespace ckpt
