#include "jobs/summary.hpp"

#include <algorithm>
#include <set>

#include "checkpoint/averaged_files.hpp"
#include "checkpoint/manifest.hpp"
#include "layout/names/rule_name.hpp"
#include "layout/tables/paddle_tables.hpp"
#include "output/file_specs.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

void describe(const ReshardSides& sides, Report& report) {
  const Placement& source = sides.source.placement;
  const Placement& target = sides.target.placement;
  report.source_cards = source.mesh().size();
  report.target_cards = target.mesh().size();
  report.source_files = sides.checkpoint.files().size() - sides.checkpoint.missing().size();
  report.target_files = target.layout().files.count(target.mesh()) + text_file_names(target.layout()).size();
  report.parameters = target.tensors().size();
  report.cast_parameters = count_cast(sides.selection, source);
  for (const Tensor& tensor : target.tensors()) report.tensor_bytes += tensor.bytes();
  const std::vector<ManifestTable> told = manifest_tables(sides.tables, {}, false);
  for (const TableMove& move : sides.tables.moves) {
    if (move.layer != 0) continue;
    const StoredTable& table = move.table;
    const auto of = std::find_if(told.begin(), told.end(), [&](const auto& each) { return each.name == table.name; });
    const bool has_unread_keys = move.range && move.census.keys.bytes == 0;
    report.tables.push_back({table.name, table.row_bytes(), of->rows, has_unread_keys, false, of->kept, of->layers});
  }
  report.source_layout = source.layout().origin;
  report.target_layout = target.layout().origin;
  report.source_rules = rule_use(source);
  report.target_rules = rule_use(target);
}

void summarise(const PlannedMoves& moves, Report& report) {
  const auto& [planner, all_readers, shares, tables, all_read] = moves;
  const auto& readers = all_readers;  // no lambda captures a structured binding
  const AveragedFiles* const averaged = all_read;
  const Placement& source = planner.source();
  const Placement& target = planner.target();
  std::vector<std::uint64_t> busy(shares.processes(), 0);
  const std::set<ArrayId> not_by_regions = table_arrays(tables);
  for (const TableMove& move : tables.moves) {
    report.bytes_to_read += move.table.total_rows() * move.table.row_bytes();
    report.bytes_changing_card += move.census.changing * move.table.row_bytes();
  }
  for (Position card = 0; card < target.mesh().size(); ++card)
    for (const std::uint32_t writer : shares.writers(card))
      for (ArrayId array = 0; array < target.arrays().size(); ++array) {
        const Interval elements = shares.of(writer, card, array);
        if (elements.empty()) continue;
        const std::uint64_t bytes = elements.size() * target.arrays()[array].dtype.size;
        report.bytes_to_write += bytes;
        busy[writer] += bytes;
        if (not_by_regions.contains(array)) continue;
        planner.for_each_transfer({card, array, elements, bytes}, writer, [&](const Transfer& transfer) {
          const std::uint64_t moved = transfer.bytes();
          const std::uint64_t read =
              averaged != nullptr ? moved / transfer.element * averaged->bytes_of_element(transfer.parameter) : moved;
          report.bytes_to_read += read;
          busy[readers.is_shared() ? writer : readers.owner(transfer.card)] += read;
          if (source.mesh().card(transfer.card) != target.mesh().card(card)) report.bytes_changing_card += moved;
        });
      }
  const auto busiest = std::max_element(busy.begin(), busy.end());
  report.busiest_process = static_cast<std::uint64_t>(busiest - busy.begin());
  report.busiest_process_bytes = *busiest;
}

void preview(const ReshardSides& sides, const MovePlan& plan, const ReshardJob& job, const Views* views,
             Report& report) {
  const Placement& target = sides.target.placement;
  const ArrayFiles where(target);
  const NewName new_name = new_name_of(job.names);
  const SourceTrees trees(sides.checkpoint, target, *sides.store, job.keeps_trees, new_name);
  const std::string manifest =
      job.output.is_single_file ? provisional_manifest(target, FingerprintPlace::manifest, {}, sides.history) : "";
  const HeldTexts held =
      sides.store->traits().streams_texts ? HeldTexts() : blank_texts(long_texts(sides.checkpoint, plan.planner));
  FileSpecs specs(sides.checkpoint, plan.planner, where, manifest, trees, sides.dropped, new_name,
                  sides.store->index() != nullptr, held);
  warn_of_losses(specs, *sides.store);
  if (views == nullptr && where.table().count() != 0)
    sides.store->form(*specs.of(0, {}));  // reports now what no file can hold
  if (views == nullptr)
    return summarise({plan.planner, plan.readers, plan.shares, sides.tables, sides.checkpoint.averaged()}, report);
  for (FileNumber file = 0; file < where.table().count(); ++file) views->shown(file, *specs.of(file, {}));
}

std::uint64_t bytes_written_by(std::uint32_t process, const WriteShares& shares, const Placement& target) {
  std::uint64_t total = 0;
  for (const Position card : shares.written_by(process))
    for (ArrayId array = 0; array < target.arrays().size(); ++array)
      total += shares.of(process, card, array).size() * target.arrays()[array].dtype.size;
  return total;
}

std::uint64_t text_bytes_written(const Checkpoint& source, const Planner& planner, const Store& store) {
  constexpr std::uint64_t reference = 16;  // to each text, in a file that streams them
  constexpr std::uint64_t length = 8;      // of each, in a value
  const Placement& target = planner.target();
  const ArrayFiles where(target);
  std::uint64_t bytes = 0;
  for (const ArrayTexts& each : long_texts(source, planner)) {
    const LongTexts& texts = *each.dataset->texts;
    const std::uint64_t count = numel(texts.shape);
    std::set<FileNumber> files;
    for (Position card = 0; card < target.mesh().size(); ++card)
      if (target.holds(card, each.array)) files.insert(where.file(card, each.array));
    bytes += files.size() *
             (store.traits().streams_texts ? texts.stored_bytes + count * reference : texts.bytes - count * length);
  }
  return bytes;
}

void add_up(const Traffic& traffic, Communicator& processes, Report& report) {
  report.bytes_read = processes.sum(traffic.bytes_read);
  report.bytes_exchanged = processes.sum(traffic.bytes_exchanged);
  report.bytes_written = processes.sum(traffic.bytes_written);
  report.bytes_cloned = processes.sum(traffic.bytes_cloned);
  if (processes.size() > 1) {
    report.messages = gather_all(processes.sent(), processes);
    for (int rank = 0; rank < processes.size(); ++rank) report.hosts.push_back(processes.host_of(rank));
  }
  double total = 0;
  for (const auto& [phase, seconds] : report.seconds)
    if (phase != "read" && phase != "check" && phase != "write" && phase != "exchange") total += seconds;
  report.seconds["total"] = total;
  for (auto& [phase, seconds] : report.seconds)
    seconds = double(processes.maximum(static_cast<std::uint64_t>(seconds * 1e9))) * 1e-9;
}

std::vector<Report::RuleUse> rule_use(const Placement& placement) {
  std::vector<Report::RuleUse> use;
  for (const Rule& rule : placement.layout().parameters)
    use.push_back({patterns_of(rule), {}, "/parameters/" + std::to_string(use.size())});
  for (const Bucket& bucket : placement.layout().buckets) use.push_back({"bucket " + bucket.name, {}});
  use.push_back({"(tables)", {}});
  use.push_back({"(default)", {}});
  for (ParameterId parameter = 0; parameter < placement.tensors().size(); ++parameter) {
    const Sharding& spread = placement.shardings()[parameter];
    std::size_t index = use.size() - 1;
    if (spread.rule) index = *spread.rule;
    if (placement.layout().table_arrays.contains(placement.tensors()[parameter].name)) index = use.size() - 2;
    if (spread.bucket) index = placement.layout().parameters.size() + *spread.bucket;
    use[index].parameters.push_back(placement.tensors()[parameter].name);
  }
  for (const std::size_t last : {use.size() - 1, use.size() - 2})
    if (use[last].parameters.empty()) use.erase(use.begin() + static_cast<std::ptrdiff_t>(last));
  return use;
}

}  // namespace ckpt
