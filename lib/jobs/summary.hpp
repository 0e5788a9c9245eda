#pragma once

#include <cstdint>
#include <vector>

#include "jobs/reshard_plan.hpp"
#include "output/views.hpp"
#include "plan/planner.hpp"

namespace ckpt {

/// Reports what both sides of a job show: cards, files, parameters, rules.
void describe(const ReshardSides& sides, Report& report);

/// Everything that a job is going to move: parameters by regions, tables by keys.
struct PlannedMoves {
  const Planner& planner;
  const Readers& readers;
  const WriteShares& shares;
  const TablePlan& tables;
  const AveragedFiles* averaged = nullptr;
};

/// Reports the figures of a plan: bytes to read, bytes to write, bytes that change card, and the busiest process.
void summarise(const PlannedMoves& moves, Report& report);

/// How many bytes of the target's data a process writes.
std::uint64_t bytes_written_by(std::uint32_t process, const WriteShares& shares, const Placement& target);

/// How many bytes of texts that are in no catalog all files get while they are made.
std::uint64_t text_bytes_written(const Checkpoint& source, const Planner& planner, const Store& store);

/// Reports what a dry run shows, and throws the errors that making the files would cause. `views`: what output files
/// without data show; nothing moves then.
void preview(const ReshardSides& sides, const MovePlan& plan, const ReshardJob& job, const Views* views,
             Report& report);

/// Reports the work of all processes together, and of each phase the slowest process's seconds. Collective.
void add_up(const Traffic& traffic, Communicator& processes, Report& report);

/// Each rule of a placement's layout with the parameters that it decided.
std::vector<Report::RuleUse> rule_use(const Placement& placement);

}  // namespace ckpt
