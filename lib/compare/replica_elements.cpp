#include "compare/replica_elements.hpp"

#include <algorithm>
#include <map>

#include "processes/gather_all.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

/// Compares two cards' parts of a parameter element by element. The process that reads the second card sends its part,
/// piece by piece, to the one that reads the first and counts.
class ElementComparison {
 public:
  ElementComparison(const ReplicatedFiles& files, const Disagreement& between)
      : files_(files), reader_(files), placement_(files.placement), between_(between) {}

  DifferingElements perform(Communicator& processes) {
    const Tensor& tensor = placement_.tensors()[between_.parameter];
    if (tensor.verbatim) return {};
    const Position odd = between_.odd.front();
    const Position right = between_.right.front();
    const auto here = static_cast<std::uint32_t>(processes.rank());
    const auto size = static_cast<std::uint32_t>(processes.size());
    const std::uint32_t judge = files_.process_of(odd, size);
    const std::uint32_t other = files_.process_of(right, size);
    for (const Interval& run : reader_.runs(between_.parameter, odd)) {
      std::vector<std::string> to_peer(static_cast<std::size_t>(processes.size()));
      agree(processes, [&] {
        if (other == here) to_peer[judge] = bytes_of(right, run);
      });
      const auto received = processes.all_to_all(std::move(to_peer));
      agree(processes, [&] {
        if (judge == here) compare(odd, run, received[other]);
      });
    }
    DifferingElements found;
    if (judge == here && differing_ != 0)
      found = {std::to_string(differing_) + " of " + std::to_string(compared_) +
                   " elements that were compared, first at " + to_string(first_) + ": " + values_,
               differing_ >= compared_ - differing_};
    return value_of(static_cast<int>(judge), found, processes);
  }

 private:
  std::string bytes_of(Position card, Interval run) {
    std::string bytes;
    reader_.for_each_region(between_.parameter, card, run, [&](const Region& region) {
      const auto read = reader_.read(between_.parameter, card, region).bytes;
      bytes.append(reinterpret_cast<const char*>(read.data()), read.size());
    });
    return bytes;
  }

  void compare(Position card, Interval run, const std::string& other) {
    const Tensor& tensor = placement_.tensors()[between_.parameter];
    const auto* theirs = reinterpret_cast<const std::byte*>(other.data());
    reader_.for_each_region(between_.parameter, card, run, [&](const Region& region) {
      const auto ours = reader_.read(between_.parameter, card, region).bytes;
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

  /// Keeps the first difference in the tensor's row-major order, whatever the stored order.
  void note(const Box& box, std::uint64_t element, const std::string& values) {
    Shape index = box.lo;
    for (std::size_t d = box.rank(); d-- > 0; element /= box[d].size()) index[d] += element % box[d].size();
    if (!values_.empty() && !std::lexicographical_compare(index.begin(), index.end(), first_.begin(), first_.end()))
      return;
    first_ = index;
    values_ = values;
  }

  const ReplicatedFiles& files_;
  ReplicaReader reader_;
  const Placement& placement_;
  const Disagreement& between_;
  std::uint64_t compared_ = 0;
  std::uint64_t differing_ = 0;
  Shape first_;
  std::string values_;
};

}  // namespace

Disagreement::Disagreement(const ShardCopies& copies) : parameter(copies.front().parameter) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Position>> groups;
  for (const ReplicaDigest& digest : copies) groups[{digest.sum.high, digest.sum.low}].push_back(digest.card);
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

DifferingElements differing_elements(const ReplicatedFiles& files, const Disagreement& between,
                                     Communicator& processes) {
  return ElementComparison(files, between).perform(processes);
}

}  // namespace ckpt
