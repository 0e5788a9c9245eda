#pragma once

#include <optional>

#include "jobs/reshard.hpp"

namespace ckpt {

/// Runs a job whose output's tables are Paddle's text: lines of text go to other files as they are, rows of datasets
/// become lines. Nothing where the output is something else. Collective; throws as `reshard`.
std::optional<Report> reshard_text(const ReshardJob& job, Stores& stores, Communicator& processes, Counters& counters);

}  // namespace ckpt
