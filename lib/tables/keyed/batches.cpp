#include "tables/keyed/batches.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace ckpt {

Batches::Batches(const std::vector<std::uint64_t>& rows_on_server, std::uint64_t rows_each)
    : each_(rows_each), rows_(rows_on_server), first_{0} {
  for (const std::uint64_t rows : rows_) first_.push_back(first_.back() + ceil_div(rows, each_));
}

Batch Batches::operator[](std::uint64_t number) const {
  const auto server =
      static_cast<Position>(std::upper_bound(first_.begin(), first_.end(), number) - first_.begin() - 1);
  const std::uint64_t first = (number - first_[server]) * each_;
  return {server, {first, std::min(rows_[server], first + each_)}};
}

std::vector<std::uint64_t> Batches::share(const Checkpoint& checkpoint, std::uint32_t process,
                                          std::uint32_t processes) const {
  std::vector<std::uint64_t> numbers;
  if (checkpoint.is_shared()) {
    const auto bound = [&](std::uint64_t p) { return count() / processes * p + count() % processes * p / processes; };
    for (std::uint64_t number = bound(process); number < bound(process + 1); ++number) numbers.push_back(number);
    return numbers;
  }
  const Owners owner_of = checkpoint.owners(processes);
  for (Position server = 0; server < rows_.size(); ++server)
    if (owner_of[server] == process)
      for (std::uint64_t number = first_[server]; number < first_[server + 1]; ++number) numbers.push_back(number);
  return numbers;
}

}  // namespace ckpt
