#pragma once

#include "jobs/text_tables.hpp"

namespace ckpt {

/// Runs a job whose output is Paddle's text alone. Collective; throws as `reshard`.
Report write_text(const ReshardJob& job, TextTables& text, Stores& stores, Communicator& processes, Counters& counters);

}  // namespace ckpt
