#pragma once

#include <cstdint>
#include <vector>

#include "jobs/reshard_plan.hpp"
#include "output/views.hpp"
#include "plan/planner.hpp"

namespace ckpt {

/// What a job has, as both sides tell it: cards, files, parameters, rules.
void describe(const ReshardSides& sides, Report& report);

/// All that a job is going to move: parameters by regions, tables by keys.
struct PlannedMoves {
  const Planner& planner;
  const Readers& readers;
  const WriteShares& shares;
  const TablePlan& tables;
};

/// What a plan will move, in figures: bytes to read, to write, that change card, and the busiest process.
void summarise(const PlannedMoves& moves, Report& report);

/// Data of the target that a process writes.
std::uint64_t bytes_written_by(std::uint32_t process, const WriteShares& shares, const Placement& target);

/// All that a dry run tells, and the errors that making the files would end in. `views`: what they show, where they
/// have no data; then nothing moves.
void look_ahead(const ReshardSides& sides, const MovePlan& plan, const ReshardJob& job, const Views* views,
                Report& report);

/// What all processes have done together, and the seconds of the slowest of each. Collective.
void add_up(const Traffic& traffic, Communicator& processes, Report& report);

/// Each rule of a placement's layout with the parameters that it decided.
std::vector<Report::RuleUse> rule_use(const Placement& placement);

}  // namespace ckpt
