#include "diagnosis/pieces.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "compare/compared_runs.hpp"

namespace ckpt {

namespace {

/// Whether sampling a parameter costs decoding much more data.
bool is_costly(const ReplicatedFiles& files, ParameterId parameter) {
  if (files.extent == ReplicaCheck::full) return false;
  const Placement& placement = files.placement;
  const std::string& stored = placement.arrays()[placement.array_of(parameter)].name;
  const Dataset* dataset = files.checkpoint.find(placement.first_base(parameter), stored);
  return dataset != nullptr && dataset->chunk_bytes > compared_block_bytes;
}

bool is_searched(const ReplicatedFiles& files, ParameterId parameter) {
  const Spread& spread = files.placement.spreads()[parameter];
  return files.is_taken[parameter] && !spread.bucket && !spread.boxes &&
         !files.placement.tensors()[parameter].verbatim && !is_costly(files, parameter);
}

/// The axes over which these are split, and counted if there are several; no number of a global count is in two cards'
/// files.
std::vector<Spreading> spreadings(const Placement& placement, const std::vector<ParameterId>& parameters) {
  std::set<Spreading> over;
  const auto add = [&](const std::vector<Axis>& axes, std::optional<std::uint64_t> entry) {
    for (const Axis axis : axes)
      if (placement.mesh().shape[axis] > 1) over.insert({axis, entry});
  };
  for (const auto& of_dim : placement.spreads()[parameters.front()].axes) add(of_dim, {});
  const auto& entries = placement.layout().indices;
  for (std::uint64_t entry = 0; parameters.size() > 1 && entry < entries.size(); ++entry)
    if (entries[entry].numbering == Numbering::local &&
        entries[entry].in.matches(placement.tensors()[parameters.front()].name))
      add(entries[entry].axes, entry);
  return {over.begin(), over.end()};
}

}  // namespace

std::vector<Pieces> pieces_of(const ReplicatedFiles& files) {
  const Placement& placement = files.placement;
  std::map<std::string_view, std::vector<ParameterId>> by_name;
  for (ParameterId parameter = 0; parameter < placement.tensors().size(); ++parameter)
    if (is_searched(files, parameter))
      by_name[placement.arrays()[placement.array_of(parameter)].name].push_back(parameter);
  std::vector<Pieces> all;
  for (auto& [name, parameters] : by_name)
    if (auto over = spreadings(placement, parameters); !over.empty())
      all.push_back({std::move(parameters), std::move(over)});
  return all;
}

std::vector<PieceHolder> holders_of(const Placement& placement, const Pieces& pieces) {
  std::vector<PieceHolder> holders;
  for (const ParameterId parameter : pieces.parameters)
    placement.for_each_first(parameter, [&](Position card) { holders.push_back({card, parameter}); });
  std::sort(holders.begin(), holders.end(), [](const PieceHolder& a, const PieceHolder& b) { return a.card < b.card; });
  return holders;
}

}  // namespace ckpt
