#include "compare/replicas.hpp"

#include "base/log.hpp"
#include "compare/missing_counts.hpp"
#include "compare/replica_elements.hpp"
#include "frameworks/flat_parameters.hpp"
#include "layout/names/literal.hpp"

namespace ckpt {

namespace {

/// The parameters whose copies must be the same; warns of those whose copies are not all compared.
std::vector<ParameterId> compared_parameters(const ReplicatedFiles& files) {
  const Placement& placement = files.placement;
  auto parameters = copied_parameters(files, Replicas::check, [](const Tensor&) { return true; });
  for (const ParameterId parameter : parameters)
    if (placement.shardings()[parameter].bucket &&
        placement.holders(parameter, placement.first_base(parameter)).size() < placement.copies(parameter))
      log::warn(
          "parameter '{}': some of its replicas lie elsewhere in their buckets, as members before it are cut unevenly; "
          "these are not compared",
          placement.tensors()[parameter].name);
  return parameters;
}

/// "*.running_mean" for "layers.3.running_mean".
std::string pattern_of_last_word(const std::string& name) {
  const std::size_t dot = name.find_last_of("./");
  return dot == std::string::npos ? literal(name) : "*" + literal(name.substr(dot));
}

/// Adapts the remedy to a checkpoint without a written layout, whose rules nobody can change. No card's copy of a part
/// of a flat parameter is the whole.
void own_copies(const Tensor& tensor, bool is_beside_flat, ReplicaExplanation& why) {
  if (is_beside_flat && tensor.shape.size() == 1) {
    why.over += ", as each card's part of one of FSDP's flat parameters beside it does";
    why.remedy.clear();
    why.advice = {Advice::What::leave_out, ""};
    return;
  }
  if (why.advice.what != Advice::What::trust_replicas) return;
  why.remedy = "if each card has its own, as of a batch norm's statistics, let the lowest card's count with --first '" +
               pattern_of_last_word(tensor.name) + "'";
}

Error error_of(const ReplicatedFiles& files, const Disagreement& between, const DifferingElements& elements,
               const std::vector<IndexRule>& counts) {
  const Checkpoint& checkpoint = files.checkpoint;
  const Placement& placement = files.placement;
  const Mesh& mesh = placement.mesh();
  const auto cards = [&](const std::vector<Position>& positions) {
    return "card" + std::string(positions.size() > 1 ? "s " : " ") + list_cards(mesh, positions);
  };
  const ArrayId array = placement.array_of(between.parameter);
  ReplicaExplanation why = explain_replicas(placement, between.parameter, between.versions, elements.are_most, counts);
  if (checkpoint.describes_itself())
    own_copies(placement.tensors()[between.parameter], hold_flat_parameters(checkpoint.files()), why);
  return Error(Kind::input, checkpoint.place(between.odd.front(), placement.arrays()[array].name),
               {"the replicas of parameter '" + placement.tensors()[between.parameter].name + "' differ" + why.over +
                    ": " + cards(between.odd) + " from " + cards(between.right) +
                    (elements.text.empty() ? "" : ", in " + elements.text),
                "the same bytes on every one", why.remedy, why.advice})
      .in_file(checkpoint.file_name(ArrayFiles(placement).file(between.odd.front(), array)))
      .of_parameter(placement.tensors()[between.parameter].name);
}

/// The differences of at most `most` parameters.
std::vector<Error> differences(const ReplicatedFiles& files, std::size_t most, Communicator& processes) {
  std::vector<Error> errors;
  if (files.extent == ReplicaCheck::trust) return errors;
  MissingCounts missing(files, processes);
  for (const ShardCopies& copies : differing_shards(files, compared_parameters(files), most, processes)) {
    const Disagreement between(copies);
    const DifferingElements elements = differing_elements(files, between, processes);
    const std::vector<Axis> axes = pattern_of(files.placement.mesh(), between.versions).axes;
    const std::vector<IndexRule>& counts = missing.of(between.parameter, axes);
    agree(processes, [&] { errors.push_back(error_of(files, between, elements, counts)); });
  }
  return errors;
}

}  // namespace

std::vector<Error> differing_replicas(const ReplicatedFiles& files, Communicator& processes) {
  return differences(files, files.placement.tensors().size(), processes);
}

void check_replicas(const ReplicatedFiles& files, Communicator& processes) {
  const auto found = differences(files, 1, processes);
  agree(processes, [&] {
    if (!found.empty()) throw Error(found.front());
  });
}

}  // namespace ckpt
