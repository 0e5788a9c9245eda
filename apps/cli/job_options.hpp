#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "jobs/check.hpp"
#include "jobs/types/compare_job.hpp"
#include "jobs/types/reshard_job.hpp"

namespace ckpt::cli {

/// The environment variables that replace options in batch jobs, as far as they are set.
using Environment = std::map<std::string, std::string>;
Environment read_environment();

/// The jobs that the options describe, without layouts that are read from files. They throw usage, naming the option or
/// the variable.
ReshardJob reshard_job(const Program& program, const Options& options, const Environment& environment);
CompareJob compare_job(const Options& options, const Environment& environment);
CheckJob check_job(const Options& options, const Environment& environment);

/// How long a process may be silent: --stall-timeout, or its variable. Throws usage.
std::chrono::seconds patience_from(const Options& options, const Environment& environment);

/// Parses "dp=7,tp=8" and keeps the order. `option`: its name in errors. Throws usage.
std::vector<std::pair<std::string, std::uint64_t>> axis_sizes(const std::string& option, std::string_view text);

/// Parses --to-mesh: axes and sizes without their order.
std::map<std::string, std::uint64_t> parse_mesh(std::string_view text);

/// Parses "OLD=NEW": the captures of NEW must be in OLD, and NEW must have no wildcard. Throws usage.
Rename parse_rename(const std::string& text);

/// Parses --names MAP[#SIDE] and --size NAME=N.
MapChoice parse_map(const std::string& names, const std::vector<std::string>& sizes);

/// Parses "1e-2", or "5e-4,3e-8": relative, and absolute. Throws usage.
Tolerance parse_tolerance(const std::string& text);

}  // namespace ckpt::cli
