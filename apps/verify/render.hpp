#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "jobs/check.hpp"
#include "jobs/types/compare_job.hpp"
#include "report/output.hpp"

namespace ckpt::cli {

/// Two checkpoints as the user named them.
struct ComparedPaths {
  std::string a;
  std::string b;
};

/// The differences as a table, with lines of at most `width` characters if there is a width; and the outcome.
Lines comparison_text(const ComparedPaths& paths, const CompareReport& comparison, std::optional<std::size_t> width);

std::string comparison_json(const ComparedPaths& paths, const CompareReport& comparison,
                            const std::optional<Tolerance>& tolerance);

/// The damage as a table, and the outcome.
Lines integrity_text(const std::string& path, const Integrity& integrity, std::optional<std::size_t> width);

std::string integrity_json(const std::string& path, const Integrity& integrity);

}  // namespace ckpt::cli
