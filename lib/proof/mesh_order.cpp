#include "proof/mesh_order.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/buffer.hpp"
#include "base/text.hpp"
#include "processes/gather_all.hpp"
#include "proof/compared_runs.hpp"
#include "proof/replica_pattern.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_axes = 6;  // whose orders are tried

/// The axes whose coordinate decides what a card holds; none where that is not so simple.
std::vector<Axis> deciding_axes(const Placement& placement, ParameterId parameter) {
  const Spread& spread = placement.spreads()[parameter];
  if (spread.bucket || spread.flat || spread.boxes || placement.tensors()[parameter].verbatim) return {};
  std::set<Axis> axes;
  for (const auto& of_dim : spread.axes) axes.insert(of_dim.begin(), of_dim.end());
  for (const auto& [axis, coordinates] : placement.arrays()[placement.array_of(parameter)].at) axes.insert(axis);
  return {axes.begin(), axes.end()};
}

/// What a card stores under a name, whichever parameter that is there.
struct StoredSum {
  Position card = 0;
  PartialSum sum;

  static auto fields(auto& self) { return std::tie(self.card, self.sum); }
};

class StoredSums {
 public:
  StoredSums(const ReplicatedFiles& files, ParameterId parameter) : files_(files), placement_(files.placement) {
    const std::string& name = placement_.arrays()[placement_.array_of(parameter)].name;
    for (ArrayId array = 0; array < placement_.arrays().size(); ++array)
      if (placement_.arrays()[array].name == name) arrays_.push_back(array);
  }

  /// Nothing where the card stores nothing of that name.
  std::optional<StoredSum> of(Position card) {
    for (const ArrayId array : arrays_)
      if (placement_.holds(card, array) && files_.reader.dataset(card, array)) return StoredSum{card, sum(array, card)};
    return std::nullopt;
  }

 private:
  PartialSum sum(ArrayId array, Position card) {
    const ParameterId parameter = placement_.arrays()[array].members.front();
    const std::uint64_t element = placement_.tensors()[parameter].dtype.size;
    PartialSum sum;
    for (const Interval& run : compared_runs(placement_, parameter, card, false, element)) {
      const Region region{Box{{0}, {run.size()}}, run.lo, {1}, false};
      const Transfer transfer{card, array, parameter, element, region, 0, {1}};
      const std::uint64_t bytes = transfer.bytes();
      if (room_.size() < 2 * bytes) room_ = Buffer(std::max(2 * bytes, 2 * compared_block_bytes));
      const auto scratch = std::span(room_.data() + bytes, static_cast<std::size_t>(room_.size() - bytes));
      files_.reader.read(transfer, room_.data(), scratch);
      sum += sum_of(room_.first(bytes), run.lo * element);
    }
    return sum;
  }

  const ReplicatedFiles& files_;
  const Placement& placement_;
  std::vector<ArrayId> arrays_;
  Buffer room_;
};

}  // namespace

std::string fitting_mesh(const ReplicatedFiles& files, ParameterId parameter, Communicator& processes) {
  const Mesh& mesh = files.placement.mesh();
  const auto axes = deciding_axes(files.placement, parameter);
  if (axes.empty() || mesh.axes.size() > most_axes || mesh.axes.size() < 2) return "";
  std::vector<StoredSum> mine;
  agree(processes, [&] {
    StoredSums sums(files, parameter);
    const auto size = static_cast<std::uint32_t>(processes.size());
    for (Position card = 0; card < mesh.size(); ++card)
      if (files.process_of(card, size) == static_cast<std::uint32_t>(processes.rank()))
        if (const auto sum = sums.of(card)) mine.push_back(*sum);
  });
  std::vector<CardVersion> versions;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> known;
  for (const auto& theirs : gather_all(mine, processes))
    for (const StoredSum& stored : theirs)
      versions.push_back(
          {stored.card, known.try_emplace({stored.sum.high, stored.sum.low}, known.size()).first->second});
  if (versions.size() != mesh.size() || known.size() < 2) return "";
  const auto orders = fitting_orders(mesh, axes, versions);
  if (orders.empty()) return "";
  std::vector<std::string> names;
  std::vector<std::uint64_t> shape;
  for (const Axis axis : orders.front()) {
    names.push_back("\"" + mesh.axes[axis] + "\"");
    shape.push_back(mesh.shape[axis]);
  }
  return "\"axes\": [" + join(names) + "], \"shape\": " + format_list(shape);
}

}  // namespace ckpt
