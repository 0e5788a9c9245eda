#include "jobs/reshard_plan.hpp"

#include "layout/change_layout.hpp"
#include "output/output_format.hpp"
#include "output/target_files.hpp"

namespace ckpt {

ReshardSides resolve_sides(const ReshardJob& job, Stores& stores, Communicator& processes) {
  ReshardSides sides{Checkpoint::open(job.source, stores.reading(), processes), {}, {}, nullptr, {}};
  agree(processes, [&] {
    const Wishes wishes(job.names);
  const ExpectedTensors expected(job.expectation, stores.reading(), processes);
    sides.source = resolve(sides.checkpoint, [&](const std::string& name) { return wishes.is_kept(name); });
    sides.selection = select(job.names, sides.source.placement);
    const Layout layout = without_left_out(job.names, sides.source, sides.selection,
                                           target_layout(job.target, sides.checkpoint.layout()));
    if (!job.target.layout)
    refuse_deviations(expected.of(sides.selection, sides.source, job.names), sides.checkpoint.layout().origin);
      for (std::string& warning : padding_warnings(sides.checkpoint.layout(), layout))
        sides.source.warnings.push_back(std::move(warning));
    const Format& format = output_format(
        job.format, job.output.is_single_file ? job.output.path.string() : layout.files.entries().front().path.text());
    sides.store = &stores.named(format.name);
    sides.target = resolve_target(with_ending(layout, format), sides.selection.tensors);
  });
  return sides;
}

MovePlan::MovePlan(const ReshardSides& sides, ExchangeKind kind, ReplicaCheck replicas, const Communicator& processes)
    : readers(sides.source.placement,
              kind == ExchangeKind::direct ? Owners{}
                                           : sides.checkpoint.owners(static_cast<std::uint32_t>(processes.size())),
              replicas == ReplicaCheck::full),
      planner(sides.source.placement, sides.target.placement, sides.selection.source_of, readers),
      writers(assign_writers(sides.target.placement, static_cast<std::uint32_t>(processes.size()))) {
  for (Position card = 0; card < writers.size(); ++card)
    if (writers[card] == static_cast<std::uint32_t>(processes.rank())) cards.push_back(card);
}

}  // namespace ckpt
