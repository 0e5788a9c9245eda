#include "proof/replicas.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/buffer.hpp"
#include "base/log.hpp"
#include "base/workers.hpp"
#include "processes/gather_all.hpp"
#include "proof/compared_runs.hpp"
#include "proof/replica_pattern.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

/// What one card's copy of a parameter's shard came to.
struct Digest {
  std::uint64_t parameter;
  Position first;
  Position card;
  PartialSum sum;

  static auto fields(auto& self) { return std::tie(self.parameter, self.first, self.card, self.sum); }
};

class Comparison {
 public:
  explicit Comparison(const ReplicatedFiles& files)
      : checkpoint_(files.checkpoint),
        placement_(files.placement),
        reader_(files.reader),
        is_full_(files.extent == ReplicaCheck::full) {
    for (ParameterId parameter = 0; parameter < placement_.tensors().size(); ++parameter)
      if (files.is_taken[parameter] && placement_.spreads()[parameter].replicas == Replicas::check &&
          placement_.replica_bases(parameter).size() > 1)
        add(parameter);
  }

  /// Digests of all that `is_mine` says this process reads.
  std::vector<Digest> digests(const std::function<bool(Position card)>& is_mine, unsigned threads) {
    std::vector<Digest> result;
    std::mutex mutex;
    Workers workers(threads);
    TaskGroup tasks(workers);
    for (const ParameterId parameter : parameters_)
      placement_.for_each_first(parameter, [&](Position first) {
        for (const Position card : placement_.holders(parameter, first)) {
          if (!is_mine(card)) continue;
          tasks.run([this, parameter, first, card, &mutex, &result] {
            const Digest digest = of_card(parameter, first, card);
            const std::lock_guard lock(mutex);
            result.push_back(digest);
          });
        }
      });
    tasks.wait();
    return result;
  }

  /// The first of the digests that do not agree with one that they should, with all that belong to it.
  static std::vector<Digest> first_difference(std::vector<Digest> digests) {
    std::sort(digests.begin(), digests.end(), [](const Digest& a, const Digest& b) {
      return std::tuple(a.parameter, a.first, a.card) < std::tuple(b.parameter, b.first, b.card);
    });
    const auto belong = [](const Digest& a, const Digest& b) {
      return a.parameter == b.parameter && a.first == b.first;
    };
    const auto found = std::adjacent_find(digests.begin(), digests.end(), [&](const Digest& a, const Digest& b) {
      return belong(a, b) && !(a.sum == b.sum);
    });
    if (found == digests.end()) return {};
    std::erase_if(digests, [digest = *found, &belong](const Digest& other) { return !belong(other, digest); });
    return digests;
  }

  /// The stored runs of a card's part of a parameter that are compared: all, or spread-out samples of it.
  std::vector<Interval> runs(ParameterId parameter, Position card) const {
    return compared_runs(placement_, parameter, card, is_full_, placement_.tensors()[parameter].dtype.size);
  }

  template <class Visit>
  void for_each_region(ParameterId parameter, Position card, Interval run, Visit&& visit) const {
    placement_.for_each_region_of(parameter, card, run, [&](ParameterId, const Region& region) {
      if (!region.fill) visit(region);
    });
  }

  struct Read {
    PartialSum sum;
    std::span<const std::byte> bytes;  ///< in row-major order; until this thread's next call
  };
  Read read(ParameterId parameter, Position card, const Region& region) {
    thread_local Buffer room;
    const std::uint64_t element = placement_.tensors()[parameter].dtype.size;
    const Transfer transfer{card, placement_.array_of(parameter),       parameter, element, region,
                            0,    row_major_strides(region.box.shape())};
    const std::uint64_t bytes = transfer.bytes();
    if (room.size() < 2 * bytes) room = Buffer(std::max(2 * bytes, 2 * compared_block_bytes));
    const auto scratch = std::span(room.data() + bytes, static_cast<std::size_t>(room.size() - bytes));
    const Gathered gathered = reader_.read(transfer, room.data(), scratch, KeySets::both);
    return {gathered.sum, room.first(bytes)};
  }

 private:
  void add(ParameterId parameter) {
    parameters_.push_back(parameter);
    const Position first = placement_.replica_bases(parameter).front();
    if (placement_.holders(parameter, first).size() < placement_.replica_bases(parameter).size())
      spdlog::warn(
          "parameter '{}': some of its replicas lie elsewhere in their buckets, as members before it are cut unevenly; "
          "these are not compared",
          placement_.tensors()[parameter].name);
  }

  Digest of_card(ParameterId parameter, Position first, Position card) {
    PartialSum sum;
    if (placement_.tensors()[parameter].verbatim) {
      if (const Dataset* dataset = checkpoint_.find(card, placement_.arrays()[placement_.array_of(parameter)].name))
        sum = sum_of(std::as_bytes(std::span(dataset->verbatim->bytes)), 0);
    } else {
      for (const Interval& run : runs(parameter, card))
        for_each_region(parameter, card, run, [&](const Region& region) { sum += read(parameter, card, region).sum; });
    }
    return {parameter, first, card, sum};
  }

  const Checkpoint& checkpoint_;
  const Placement& placement_;
  SourceReader& reader_;
  bool is_full_;
  std::vector<ParameterId> parameters_;
};

/// The cards of a difference: those that disagree with most of them. The commonest sum is taken for right, so that the
/// one odd card is named, and not the others.
struct Disagreement {
  explicit Disagreement(const std::vector<Digest>& digests)
      : parameter(static_cast<ParameterId>(digests.front().parameter)) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Position>> groups;
    for (const Digest& digest : digests) groups[{digest.sum.high, digest.sum.low}].push_back(digest.card);
    const auto most = std::max_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.second.size(), b.second.front()) < std::tuple(b.second.size(), a.second.front());
    });
    right = most->second;
    for (const auto& group : groups) {
      if (&group != &*most) odd.insert(odd.end(), group.second.begin(), group.second.end());
      for (const Position card : group.second) versions.push_back({card, group.second.front()});
    }
    std::sort(odd.begin(), odd.end());
  }

  ParameterId parameter;
  std::vector<Position> odd;
  std::vector<Position> right;
  std::vector<CardVersion> versions;  // of all cards
};

/// What two cards hold of a parameter, where they differ.
struct DifferingElements {
  std::string text;  ///< "3 of 64 elements that were compared, first at [0, 5]: 0.5 on card 3, 0.25 on card 0"
  bool are_most = false;

  static auto fields(auto& self) { return std::tie(self.text, self.are_most); }
};

/// Element by element, what two cards hold of a parameter. The process that reads the second card sends it, piece by
/// piece, to the one that reads the first and counts.
class ElementComparison {
 public:
  ElementComparison(Comparison& comparison, const Placement& placement, const Disagreement& between)
      : comparison_(comparison), placement_(placement), between_(between) {}

  /// Collective; the same on every process.
  DifferingElements perform(const std::function<std::uint32_t(Position)>& reader_of, Communicator& processes) {
    const Tensor& tensor = placement_.tensors()[between_.parameter];
    if (tensor.verbatim) return {};
    const Position odd = between_.odd.front();
    const Position right = between_.right.front();
    const auto here = static_cast<std::uint32_t>(processes.rank());
    const std::uint32_t judge = reader_of(odd);
    for (const Interval& run : comparison_.runs(between_.parameter, odd)) {
      std::vector<std::string> to_peer(static_cast<std::size_t>(processes.size()));
      agree(processes, [&] {
        if (reader_of(right) == here) to_peer[judge] = bytes_of(right, run);
      });
      const auto received = processes.all_to_all(std::move(to_peer));
      agree(processes, [&] {
        if (judge == here) compare(odd, run, received[reader_of(right)]);
      });
    }
    DifferingElements found;
    if (judge == here && differing_ != 0)
      found = {std::to_string(differing_) + " of " + std::to_string(compared_) +
                   " elements that were compared, first at " + to_string(first_) + ": " + values_,
               differing_ >= compared_ - differing_};
    return wire::unpacked<DifferingElements>(processes.broadcast(wire::packed(found), static_cast<int>(judge)));
  }

 private:
  std::string bytes_of(Position card, Interval run) {
    std::string bytes;
    comparison_.for_each_region(between_.parameter, card, run, [&](const Region& region) {
      const auto read = comparison_.read(between_.parameter, card, region).bytes;
      bytes.append(reinterpret_cast<const char*>(read.data()), read.size());
    });
    return bytes;
  }

  void compare(Position card, Interval run, const std::string& other) {
    const Tensor& tensor = placement_.tensors()[between_.parameter];
    const auto* theirs = reinterpret_cast<const std::byte*>(other.data());
    comparison_.for_each_region(between_.parameter, card, run, [&](const Region& region) {
      const auto ours = comparison_.read(between_.parameter, card, region).bytes;
      for (std::uint64_t i = 0; i * tensor.dtype.size < ours.size(); ++i, theirs += tensor.dtype.size) {
        const std::byte* mine = ours.data() + i * tensor.dtype.size;
        if (std::equal(mine, mine + tensor.dtype.size, theirs)) continue;
        ++differing_;
        note(region.box, i,
             element_text(tensor.dtype, mine) + " on card " + std::to_string(placement_.mesh().card(card)) + ", " +
                 element_text(tensor.dtype, theirs) + " on card " +
                 std::to_string(placement_.mesh().card(between_.right.front())));
      }
      compared_ += ours.size() / tensor.dtype.size;
    });
  }

  /// Keeps the first in row-major order of the tensor, whatever the order in which they are stored.
  void note(const Box& box, std::uint64_t element, const std::string& values) {
    Extents index = box.lo;
    for (std::size_t d = box.rank(); d-- > 0; element /= box[d].size()) index[d] += element % box[d].size();
    if (!values_.empty() && !std::lexicographical_compare(index.begin(), index.end(), first_.begin(), first_.end()))
      return;
    first_ = index;
    values_ = values;
  }

  Comparison& comparison_;
  const Placement& placement_;
  const Disagreement& between_;
  std::uint64_t compared_ = 0;
  std::uint64_t differing_ = 0;
  Extents first_;
  std::string values_;
};

[[noreturn]] void refuse(const Checkpoint& checkpoint, const Placement& placement, const Disagreement& between,
                         const DifferingElements& elements) {
  const Mesh& mesh = placement.mesh();
  const auto cards = [&](const std::vector<Position>& positions) {
    return "card" + std::string(positions.size() > 1 ? "s " : " ") + list_cards(mesh, positions);
  };
  const ArrayId array = placement.array_of(between.parameter);
  const ReplicaExplanation why = explain_replicas(placement, between.parameter, between.versions, elements.are_most);
  throw Error(Kind::input, checkpoint.place(between.odd.front(), placement.arrays()[array].name),
              {"the replicas of parameter '" + placement.tensors()[between.parameter].name + "' differ" + why.over +
                   ": " + cards(between.odd) + " from " + cards(between.right) +
                   (elements.text.empty() ? "" : ", in " + elements.text),
               "expected the same bytes on every one", why.remedy, why.advice})
      .in_file(checkpoint.file_name(ArrayFiles(placement).file(between.odd.front(), array)))
      .of_parameter(placement.tensors()[between.parameter].name);
}

}  // namespace

void check_replicas(const ReplicatedFiles& files, Communicator& processes) {
  if (files.extent == ReplicaCheck::trust) return;
  const auto size = static_cast<std::uint32_t>(processes.size());
  const auto rank = static_cast<std::uint32_t>(processes.rank());
  const auto reader_of = [&](Position card) {
    return files.owners.empty() ? static_cast<std::uint32_t>(card % size) : files.owners[card];
  };
  Comparison comparison(files);
  std::vector<Digest> mine;
  agree(processes,
        [&] { mine = comparison.digests([&](Position card) { return reader_of(card) == rank; }, files.threads); });
  // Those that belong together meet at one process.
  std::vector<std::vector<Digest>> to_peer(size);
  for (const Digest& digest : mine) to_peer[digest.first % size].push_back(digest);
  std::vector<Digest> together;
  for (const auto& theirs : give_each(std::move(to_peer), processes))
    together.insert(together.end(), theirs.begin(), theirs.end());
  // And the first difference of each at all.
  std::vector<Digest> differing;
  for (const auto& theirs : gather_all(Comparison::first_difference(std::move(together)), processes))
    differing.insert(differing.end(), theirs.begin(), theirs.end());
  differing = Comparison::first_difference(std::move(differing));
  if (differing.empty()) return;
  const Disagreement between(differing);
  const DifferingElements elements =
      ElementComparison(comparison, files.placement, between).perform(reader_of, processes);
  agree(processes, [&] { refuse(files.checkpoint, files.placement, between, elements); });
}

}  // namespace ckpt
