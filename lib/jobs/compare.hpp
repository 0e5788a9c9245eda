#pragma once

#include "jobs/types/compare_job.hpp"
#include "processes/communicator.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// Compares names, dtypes, shapes, and every element of every copy that B holds, without padding. Collective; the
/// result is the same on every process, and for any number of them. Throws as `reshard` does.
CompareReport compare(const CompareJob& job, Stores& stores, Communicator& processes, Counters& counters);

}  // namespace ckpt
