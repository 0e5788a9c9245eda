#include "jobs/complete_output.hpp"

#include <algorithm>
#include <optional>

#include "jobs/compare.hpp"

namespace ckpt {

namespace {

const std::vector<Attribute>& root_attributes(const Checkpoint& checkpoint) {
  static const std::vector<Attribute> none;
  return checkpoint.files().empty() || !checkpoint.files().front().schema
             ? none
             : checkpoint.files().front().schema->attributes;
}

/// The name of an attribute (step, epoch) that both have in one type, with different values; empty if there is none.
/// Values that another format holds in another type are not compared.
std::string different_attribute(const Checkpoint& source, const Checkpoint& standing) {
  const std::vector<Attribute>& found = root_attributes(standing);
  for (const Attribute& wanted : root_attributes(source)) {
    const auto same_name = std::ranges::find_if(found, [&](const Attribute& each) { return each.name == wanted.name; });
    if (same_name != found.end() && same_name->value.dtype == wanted.value.dtype && same_name->value != wanted.value)
      return wanted.name;
  }
  return "";
}

/// What differs without a look at the data.
std::string different_form(const ReshardSides& sides, const Checkpoint& standing) {
  const Placement& target = sides.target.placement;
  // Files of a directory with an index have the format of their data; the index shows the directory's own.
  for (const FileCatalog& file : standing.files())
    if (sides.store->index() == nullptr && file.schema && file.schema->format != sides.store->name())
      return "it is of the format " + file.schema->format;
  if (to_json(standing.layout()) != to_json(target.layout())) return "it has another layout";
  if (const std::string name = different_attribute(sides.checkpoint, standing); !name.empty())
    return "its attribute " + name + " has another value";
  const Placement found = resolve(standing).placement;
  const bool are_alike =
      std::ranges::equal(found.tensors(), target.tensors(), [](const Tensor& ours, const Tensor& theirs) {
        return ours.name == theirs.name && ours.dtype == theirs.dtype && ours.shape == theirs.shape;
      });
  return are_alike ? "" : "it holds other parameters";
}

std::vector<std::filesystem::path> models_of(const ReshardJob& job) {
  if (job.average.empty() || !job.expectation) return {};
  return {job.expectation->reference};
}

}  // namespace

std::string difference_from(const ReshardJob& job, const ReshardSides& sides, Stores& stores, Communicator& processes,
                            Counters& counters) {
  if (!sides.tables.moves.empty() || !job.deltas.empty() || job.is_view)
    return "only outputs without tables and views are compared";
  try {
    const Checkpoint standing = Checkpoint::open(
        with_threads({job.output.path, std::nullopt}, job.resources, processes), stores.reading(), processes);
    std::string why;
    agree(processes, [&] { why = different_form(sides, standing); });
    if (!why.empty()) return why;
    CheckpointPlace source = job.source;
    source.manifest = sides.checkpoint.manifest();
    const CompareJob comparison{.a = std::move(source),
                                .b = {job.output.path, std::nullopt, 0, standing.manifest()},
                                .average = job.average,
                                .names = job.names,
                                .replicas = ReplicaCheck::trust,
                                .dequantised = job.dequantised,
                                .is_rounded = true,
                                .resources = job.resources,
                                .first_copies = job.first_copies,
                                .map = job.average.empty() ? MapChoice() : job.map,
                                .models = models_of(job),
                                .is_like_model = job.target.is_like_expected,
                                .is_explained = false};
    const CompareReport found = compare(comparison, stores, processes, counters);
    for (const Difference& difference : found.differences)
      if (difference.what != Difference::What::only_in_a)  // the output has all that the job writes (different_form)
        return "it holds other elements of " + difference.parameter;
    return "";
  } catch (const Error& error) {
    // Another job may replace the output meanwhile: then it is no longer this job's.
    if (error.kind() >= Kind::peer) throw;  // the job itself ends
    return error.what();
  }
}

}  // namespace ckpt
