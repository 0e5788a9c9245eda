#pragma once

#include <string>

#include "jobs/reshard_plan.hpp"

namespace ckpt {

/// Why an output that exists already is not what a job would write, in words; empty if it is: then it has the layout,
/// format, names and dtypes that the job would write, and every element is the source's. A batch job that was ended
/// after it had published, and starts again, must not fail. Collective; throws as `compare` does.
std::string difference_from(const ReshardJob& job, const ReshardSides& sides, Stores& stores, Communicator& processes,
                            Counters& counters);

}  // namespace ckpt
