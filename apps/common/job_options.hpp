#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/options.hpp"
#include "engine/job.hpp"

namespace ckpt::cli {

/// The environment variables that stand in for options in batch jobs, as far as they are set.
using Environment = std::map<std::string, std::string>;
Environment read_environment();

/// The job that the options say, but for the layouts. Throws usage, naming the option or the variable.
Job job_from(const Program& program, const Options& options, const Environment& environment);

/// "dp=7,tp=8". Throws usage.
std::map<std::string, std::uint64_t> parse_mesh(std::string_view text);

/// "OLD=NEW": the captures of NEW must be in OLD, and it must have no wildcard. Throws usage.
Rename parse_rename(const std::string& text);

}  // namespace ckpt::cli
