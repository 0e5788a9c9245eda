#include "diagnosis/plain_copies.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "compare/replica_digests.hpp"
#include "frameworks/flat_parameters.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// The first card's dataset of a parameter, or null.
const Dataset* first_dataset(const ReplicatedFiles& files, ParameterId parameter) {
  const Placement& placement = files.placement;
  return files.checkpoint.find(placement.first_base(parameter), placement.arrays()[placement.array_of(parameter)].name);
}

/// FSDP1 with use_orig_params saves, beside a flat parameter, each rank's part of every parameter in it as a vector.
void refuse_parts_of_flat(const std::set<std::string>& names, const ReplicatedFiles& files) {
  const Placement& placement = files.placement;
  for (const std::string& name : names) {
    const Tensor& tensor = placement.tensors()[*placement.find(name)];
    if (tensor.shape.size() != 1) continue;
    throw Error(Kind::input, placement.layout().origin,
                {"'" + name +
                     "' stands beside flat parameters of FSDP's LOCAL_STATE_DICT, a vector of one value on "
                     "each card, so that it may be whole or each card's part of it",
                 "values that tell the one from the other",
                 "where it is whole, say so with --first " + shell_word(name),
                 {Advice::What::leave_out, ""}})
        .of_parameter(name);
  }
}

/// Parameters that count as copies on each card for no other reason than their equal shapes.
std::vector<ParameterId> plain_parameters(const ReplicatedFiles& files) {
  const Placement& placement = files.placement;
  const auto has_piece = [&](ParameterId parameter) {
    const Dataset* const dataset = first_dataset(files, parameter);
    return dataset != nullptr && dataset->piece.has_value();
  };
  bool is_any_piece = hold_flat_parameters(files.checkpoint.files());
  for (ParameterId p = 0; p < placement.tensors().size() && !is_any_piece; ++p) is_any_piece = has_piece(p);
  if (!is_any_piece) return {};
  auto parameters = copied_parameters(files, Replicas::check, [](const Tensor& tensor) {
    return !tensor.verbatim && !tensor.shape.empty() && volume(tensor.shape) > 1;
  });
  std::erase_if(parameters, [&](ParameterId p) {
    return placement.copies(p) < placement.mesh().size() || first_dataset(files, p) == nullptr || has_piece(p);
  });
  return parameters;
}

bool is_of_one_value(ReplicaReader& reader, const Placement& placement, ParameterId parameter) {
  const std::uint64_t element = placement.tensors()[parameter].dtype.size;
  const Position card = placement.first_base(parameter);
  std::vector<std::byte> first;
  bool is_one = true;
  for (const Interval& run : reader.runs(parameter, card))
    reader.for_each_region(parameter, card, run, [&](const Region& region) {
      const auto bytes = reader.read(parameter, card, region).bytes;
      if (first.empty() && bytes.size() >= element) first.assign(bytes.begin(), bytes.begin() + element);
      for (std::uint64_t at = 0; is_one && at + element <= bytes.size(); at += element)
        is_one = std::equal(first.begin(), first.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    });
  return is_one;
}

}  // namespace

std::vector<std::string> warnings_of_plain_copies(const ReplicatedFiles& files, Communicator& processes) {
  if (files.extent == ReplicaCheck::trust) return {};
  const Placement& placement = files.placement;
  std::vector<std::string> mine;
  agree(processes, [&] {
    ReplicaReader reader(files);
    for (const ParameterId parameter : plain_parameters(files))
      if (files.process_of(placement.first_base(parameter), static_cast<std::uint32_t>(processes.size())) ==
              static_cast<std::uint32_t>(processes.rank()) &&
          is_of_one_value(reader, placement, parameter))
        mine.push_back(placement.tensors()[parameter].name);
  });
  std::set<std::string> names;
  for (const auto& theirs : gather_all(mine, processes)) names.insert(theirs.begin(), theirs.end());
  if (names.empty()) return {};
  agree(processes, [&] {
    if (hold_flat_parameters(files.checkpoint.files())) refuse_parts_of_flat(names, files);
  });
  return {placement.layout().origin +
          ": plain tensors beside sharded ones are taken as whole, the same on each card; "
          "all of one value are " +
          join({names.begin(), names.end()}) +
          ", so that it cannot be seen whether they are parts: compare their shapes (--expect)"};
}

}  // namespace ckpt
