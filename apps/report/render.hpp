#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "jobs/types/reshard_job.hpp"
#include "report/output.hpp"

namespace ckpt::cli {

/// 1234567 → "1,234,567".
std::string with_commas(std::uint64_t number);

/// "1 file", "2 files".
std::string counted(std::uint64_t count, const std::string& noun);

/// The output of --dry-run: a table of what the run would do.
Lines dry_run_table(const Report& report);

/// For -v: each rule of a layout (`layout`: its name in messages) and, on one line, the parameters that it decides.
Lines rule_table(const std::string& title, const std::string& layout, const std::vector<Report::RuleUse>& rules);

/// "wrote OUTPUT: 56 files, 2.0 GiB in 1.8 s (1.19 GB/s), in the format torch"; without a rate if it took less than a
/// second.
std::string summary(const std::string& output, const Report& report);
/// As summary, for an output that only shows its source's data.
std::string view_summary(const std::string& output, const Report& report);

/// For who merges a model: how much of it is optimizer state, as names tell, and the --drop that leaves it out. Empty
/// if none is, or all.
std::string optimizer_note(const Report& report);

}  // namespace ckpt::cli
