#pragma once

#include "jobs/job_output.hpp"
#include "tables/phase/text_tables.hpp"

namespace ckpt {

/// Runs a job whose output consists of Paddle's text alone. Collective; throws as `reshard`.
Report write_text(const ReshardJob& job, TextTables& text, JobOutput& output, Stores& stores, Communicator& processes,
                  Counters& counters);

}  // namespace ckpt
