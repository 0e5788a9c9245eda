#include "plan/readers.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace ckpt {

std::vector<std::uint32_t> in_blocks(const std::vector<std::uint64_t>& sizes, std::uint32_t processes) {
  double total = 0;
  for (const std::uint64_t size : sizes) total += double(size);
  std::vector<std::uint32_t> process_of(sizes.size());
  double before = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    process_of[i] = std::min(processes - 1, static_cast<std::uint32_t>(before / std::max(total, 1.0) * processes));
    before += double(sizes[i]);
  }
  return process_of;
}

Readers::Readers(const Placement& source, Owners owners, bool replicas_are_equal, std::vector<std::uint32_t> hosts)
    : source_(source), owners_(std::move(owners)), hosts_(std::move(hosts)), replicas_are_equal_(replicas_are_equal) {
  std::vector<std::uint64_t> of_card(source.mesh().size(), 0);
  // Which process reads a file may matter only if it does not affect the bytes.
  const bool by_process = replicas_are_equal && !owners_.empty();
  std::vector<std::uint64_t> of_process(by_process ? *std::max_element(owners_.begin(), owners_.end()) + 1 : 1, 0);
  const auto load = [&](Position card) -> std::uint64_t& { return of_process[by_process ? owners_[card] : 0]; };
  choices_.resize(source.tensors().size());
  is_lowest_.resize(source.tensors().size());
  for (ParameterId parameter = 0; parameter < source.tensors().size(); ++parameter) {
    const ArrayId array = source.array_of(parameter);
    const bool is_replicated = source.copies(parameter) > 1;
    const bool is_lowest = is_lowest_[parameter] = source.shardings()[parameter].replicas == Replicas::first;
    source.for_each_first(parameter, [&](Position first) {
      if (!source.holds(first, array)) return;
      Position best = first;
      if (is_replicated && is_lowest) {
        best = source.counted_card(parameter, first);
      } else if (is_replicated) {
        const auto holders = source.holders(parameter, first);
        best = *std::min_element(holders.begin(), holders.end(), [&](Position a, Position b) {
          return std::tuple(load(a), of_card[a], a) < std::tuple(load(b), of_card[b], b);
        });
      }
      if (is_replicated) {
        choices_[parameter].push_back({first, best});
      }
      const std::uint64_t bytes = source.stored_bytes(array, best);
      of_card[best] += bytes;
      load(best) += bytes;
    });
    std::sort(choices_[parameter].begin(), choices_[parameter].end(),
              [](const Choice& a, const Choice& b) { return a.first < b.first; });
  }
}

Position Readers::choose(ParameterId parameter, Position first, std::uint32_t writer) const {
  const auto& choices = choices_[parameter];
  if (choices.empty() || writer == any_writer) return first;
  const auto found = std::lower_bound(choices.begin(), choices.end(), first,
                                      [](const Choice& a, Position key) { return a.first < key; });
  if (!replicas_are_equal_ || owners_.empty() || is_lowest_[parameter]) return found->chosen;
  const auto holders = source_.holders(parameter, first);
  for (const Position holder : holders)
    if (owners_[holder] == writer) return holder;
  if (hosts_.empty() || hosts_[owners_[found->chosen]] == hosts_[writer]) return found->chosen;
  std::vector<Position> near;
  std::ranges::copy_if(holders, std::back_inserter(near),
                       [&](Position holder) { return hosts_[owners_[holder]] == hosts_[writer]; });
  return near.empty() ? found->chosen : near[(parameter + writer) % near.size()];
}

}  // namespace ckpt
