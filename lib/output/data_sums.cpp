#include "output/data_sums.hpp"

#include <algorithm>

#include "io/crc.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

void DataSums::add(FileNumber file, ArrayId array, Interval bytes, std::span<const std::byte> written) {
  const Part part{bytes, crc32c.of(written)};
  const std::lock_guard lock(mutex_);
  parts_[{file, array}].push_back(part);
}

void DataSums::send_to_owners(const std::function<std::uint32_t(FileNumber)>& owner_of, Communicator& processes) {
  if (processes.size() == 1) return;
  std::vector<std::vector<Noted>> to_peer(static_cast<std::size_t>(processes.size()));
  for (const auto& [place, parts] : parts_)
    for (const Part& part : parts) to_peer[owner_of(place.first)].push_back({place.first, place.second, part});
  parts_.clear();
  for (const auto& theirs : exchange_values(std::move(to_peer), processes))
    for (const Noted& noted : theirs) parts_[{noted.file, noted.array}].push_back(noted.part);
}

std::uint32_t DataSums::of(FileNumber file, ArrayId array, std::uint64_t bytes,
                           const std::function<std::uint32_t(Interval part)>& read) const {
  std::vector<Part> parts;
  if (const auto found = parts_.find({file, array}); found != parts_.end()) parts = found->second;
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.bytes.lo < b.bytes.lo; });
  parts.push_back({{bytes, bytes}, 0});
  std::uint32_t sum = 0;
  std::uint64_t end = 0;
  for (const Part& part : parts) {
    if (part.bytes.lo > end) sum = crc32c.joined(sum, read({end, part.bytes.lo}), part.bytes.lo - end);
    sum = crc32c.joined(sum, part.sum, part.bytes.size());
    end = part.bytes.hi;
  }
  return sum;
}

}  // namespace ckpt
