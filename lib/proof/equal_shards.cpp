#include "proof/equal_shards.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "base/buffer.hpp"
#include "base/text.hpp"
#include "base/workers.hpp"
#include "layout/name_groups.hpp"
#include "processes/gather_all.hpp"
#include "proof/compared_runs.hpp"

namespace ckpt {

namespace {

/// How much is read of a shard: one block, or what replicas are compared by.
enum class Portion { probe, samples, all };

/// What was read of one card's shard.
struct ShardDigest {
  ParameterId parameter = 0;
  Position card = 0;
  PartialSum sum;
  bool is_constant = true;  ///< one value, in each run for itself

  static auto fields(auto& self) { return std::tie(self.parameter, self.card, self.sum, self.is_constant); }
};

/// The axes that split a parameter, ascending.
std::vector<Axis> split_axes(const Placement& placement, ParameterId parameter) {
  std::set<Axis> axes;
  for (const auto& of_dim : placement.spreads()[parameter].axes)
    for (const Axis axis : of_dim)
      if (placement.mesh().shape[axis] > 1) axes.insert(axis);
  return {axes.begin(), axes.end()};
}

bool is_one_value(std::span<const std::byte> bytes, std::uint64_t element) {
  return std::memcmp(bytes.data(), bytes.data() + element, bytes.size() - element) == 0;
}

class ShardReader {
 public:
  explicit ShardReader(const ReplicatedFiles& files) : files_(files), placement_(files.placement) {}

  /// Nothing where the card stores nothing.
  std::optional<ShardDigest> digest(ParameterId parameter, Position card, Portion portion) {
    const ArrayId array = placement_.array_of(parameter);
    const std::uint64_t element = placement_.tensors()[parameter].dtype.size;
    if (!files_.reader.dataset(card, array)) return std::nullopt;
    auto runs = compared_runs(placement_, parameter, card, portion == Portion::all, element);
    if (runs.empty()) return std::nullopt;
    if (portion == Portion::probe) runs = {runs[runs.size() / 2]};
    ShardDigest digest{parameter, card, {}, true};
    for (const Interval& run : runs) {
      const auto bytes = read(array, parameter, card, run);
      digest.sum += sum_of(bytes, run.lo * element);
      digest.is_constant = digest.is_constant && is_one_value(bytes, element);
    }
    return digest;
  }

 private:
  /// Valid until this thread's next call.
  std::span<const std::byte> read(ArrayId array, ParameterId parameter, Position card, Interval run) {
    thread_local Buffer room;
    const std::uint64_t element = placement_.tensors()[parameter].dtype.size;
    const Region region{Box{{0}, {run.size()}}, run.lo, {1}, false};  // of the stored array, whatever it is cut from
    const Transfer transfer{card, array, parameter, element, region, 0, {1}};
    const std::uint64_t bytes = transfer.bytes();
    if (room.size() < 2 * bytes) room = Buffer(std::max(2 * bytes, 2 * compared_block_bytes));
    files_.reader.read(transfer, room.data(),
                       std::span(room.data() + bytes, static_cast<std::size_t>(room.size() - bytes)));
    return room.first(bytes);
  }

  const ReplicatedFiles& files_;
  const Placement& placement_;
};

/// Parameters with the axes along which they may be alike.
using Suspects = std::map<ParameterId, std::vector<Axis>>;

class ShardSearch {
 public:
  ShardSearch(const ReplicatedFiles& files, Communicator& processes)
      : files_(files), placement_(files.placement), processes_(processes), reader_(files) {}

  std::vector<EqualShards> run() {
    const Portion portion = files_.extent == ReplicaCheck::full ? Portion::all : Portion::samples;
    std::vector<EqualShards> found;
    for (auto& [parameter, axes] : confirmed(confirmed(all(), Portion::probe), portion))
      found.push_back({parameter, std::move(axes)});
    return found;
  }

 private:
  Suspects all() const {
    Suspects suspects;
    for (ParameterId parameter = 0; parameter < placement_.tensors().size(); ++parameter) {
      const Spread& spread = placement_.spreads()[parameter];
      if (!files_.is_taken[parameter] || spread.bucket || spread.boxes || placement_.tensors()[parameter].verbatim)
        continue;
      if (auto axes = split_axes(placement_, parameter); !axes.empty() && !is_costly(parameter))
        suspects.emplace(parameter, std::move(axes));
    }
    return suspects;
  }

  /// Whether a sample of it costs the decoding of much more.
  bool is_costly(ParameterId parameter) const {
    if (files_.extent == ReplicaCheck::full) return false;
    const std::string& stored = placement_.arrays()[placement_.array_of(parameter)].name;
    const Dataset* dataset = files_.checkpoint.find(placement_.first_base(parameter), stored);
    return dataset != nullptr && dataset->chunk_bytes > compared_block_bytes;
  }

  /// The cards of a suspect that are read: the first copy's, or for a probe the first one and its next along each axis.
  std::vector<Position> cards(ParameterId parameter, const std::vector<Axis>& axes, Portion portion) const {
    std::vector<Position> cards;
    if (portion != Portion::probe) {
      placement_.for_each_first(parameter, [&](Position card) { cards.push_back(card); });
      return cards;
    }
    cards.push_back(placement_.first_base(parameter));
    for (const Axis axis : axes) cards.push_back(cards.front() + placement_.mesh().stride(axis));
    return cards;
  }

  /// Those that still are suspect once so much has been read of them. Each is judged by one process.
  Suspects confirmed(const Suspects& suspects, Portion portion) {
    const auto size = static_cast<std::uint32_t>(processes_.size());
    std::vector<std::vector<ShardDigest>> to_peer(size);
    agree(processes_, [&] {
      for (const ShardDigest& digest : digests(suspects, portion)) to_peer[digest.parameter % size].push_back(digest);
    });
    std::map<ParameterId, std::map<Position, ShardDigest>> by_card;
    for (const auto& theirs : give_each(std::move(to_peer), processes_))
      for (const ShardDigest& digest : theirs) by_card[digest.parameter].emplace(digest.card, digest);
    Suspects mine;
    for (const auto& [parameter, read] : by_card) {
      const bool is_constant =
          std::all_of(read.begin(), read.end(), [](const auto& e) { return e.second.is_constant; });
      std::vector<Axis> alike;
      for (const Axis axis : suspects.at(parameter))
        if (is_alike(parameter, axis, read, portion)) alike.push_back(axis);
      if (!alike.empty() && (portion == Portion::probe || !is_constant)) mine.emplace(parameter, std::move(alike));
    }
    Suspects together;
    for (auto& theirs : gather_all(mine, processes_)) together.merge(theirs);
    return together;
  }

  /// Whether each card that was read holds what the one with coordinate 0 on the axis does.
  bool is_alike(ParameterId parameter, Axis axis, const std::map<Position, ShardDigest>& read, Portion portion) const {
    const Mesh& mesh = placement_.mesh();
    const auto all = cards(parameter, {axis}, portion);
    return std::all_of(all.begin(), all.end(), [&](Position card) {
      const auto mine = read.find(card);
      const auto first = read.find(card - mesh.coordinate(card, axis) * mesh.stride(axis));
      return mine != read.end() && first != read.end() && mine->second.sum == first->second.sum;
    });
  }

  std::vector<ShardDigest> digests(const Suspects& suspects, Portion portion) {
    const auto size = static_cast<std::uint32_t>(processes_.size());
    const auto rank = static_cast<std::uint32_t>(processes_.rank());
    std::vector<ShardDigest> result;
    std::mutex mutex;
    Workers workers(files_.threads);
    TaskGroup tasks(workers);
    for (const auto& [parameter, axes] : suspects)
      for (const Position card : cards(parameter, axes, portion)) {
        if (files_.process_of(card, size) != rank) continue;
        tasks.run([this, parameter = parameter, card, portion, &mutex, &result] {
          const auto digest = reader_.digest(parameter, card, portion);
          const std::lock_guard lock(mutex);
          if (digest) result.push_back(*digest);
        });
      }
    tasks.wait();
    return result;
  }

  const ReplicatedFiles& files_;
  const Placement& placement_;
  Communicator& processes_;
  ShardReader reader_;
};

/// A parameter's `split` as the layout would say it without some axes.
std::string split_without(const Placement& placement, ParameterId parameter, const std::vector<Axis>& left_out) {
  const auto word = [&](Axis axis) { return "\"" + placement.mesh().axes[axis] + "\""; };
  std::vector<std::string> dims;
  std::size_t said = 0;  // up to the last dimension that is split
  for (const auto& axes : placement.spreads()[parameter].axes) {
    std::vector<std::string> kept;
    for (const Axis axis : axes)
      if (std::find(left_out.begin(), left_out.end(), axis) == left_out.end()) kept.push_back(word(axis));
    dims.push_back(kept.empty() ? "null" : kept.size() == 1 ? kept.front() : "[" + join(kept) + "]");
    if (!axes.empty()) said = dims.size();
  }
  dims.resize(said);
  return "\"split\": [" + join(dims) + "]";
}

}  // namespace

std::vector<std::string> describe_equal_shards(const Placement& placement, const std::vector<EqualShards>& found) {
  std::map<std::pair<std::vector<Axis>, std::string>, std::vector<std::string>> splits;  // by axes and what to write
  for (const auto& [parameter, axes] : found)
    splits[{axes, split_without(placement, parameter, axes)}].push_back(placement.tensors()[parameter].name);
  std::vector<std::string> warnings;
  for (const auto& [split, names] : splits) {
    const auto& [axes, instead] = split;
    std::vector<std::string> words;
    for (const Axis axis : axes) words.push_back(placement.mesh().axes[axis]);
    const std::string over = join(words);
    const bool is_one = names.size() == 1;
    warnings.push_back(
        placement.layout().origin + " splits " +
        (is_one ? "parameter '" + names.front() + "'"
                : std::to_string(names.size()) + " parameters (" + join(describe_groups(group_names(names))) + ")") +
        " over " + over + ", but all cards along " + over + " hold the same shard: if " +
        (is_one ? "it is" : "they are") + " replicated, write " + instead);
  }
  return warnings;
}

std::vector<std::string> find_equal_shards(const ReplicatedFiles& files, Communicator& processes) {
  if (files.extent == ReplicaCheck::trust) return {};
  return describe_equal_shards(files.placement, ShardSearch(files, processes).run());
}

}  // namespace ckpt
