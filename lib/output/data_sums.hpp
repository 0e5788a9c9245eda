#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "layout/names/file_table.hpp"
#include "processes/communicator.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// The CRC-32C of each array's bytes in a format whose index has them (DirectoryIndex::has_sums), put together from
/// those of its chunks, in whatever order and by whatever processes these are written.
class DataSums {
 public:
  /// Notes a part of an array that was written. Threads may call it at once.
  void add(FileNumber file, ArrayId array, Interval bytes, std::span<const std::byte> written);

  /// Sends what each process has noted to the files' owners. Collective.
  void send_to_owners(const std::function<std::uint32_t(FileNumber)>& owner_of, Communicator& processes);

  /// Returns the sum of an array of `bytes` bytes. `read(part)` returns the sum of a part that no process has noted: an
  /// earlier run wrote it.
  std::uint32_t of(FileNumber file, ArrayId array, std::uint64_t bytes,
                   const std::function<std::uint32_t(Interval part)>& read) const;

 private:
  struct Part {
    Interval bytes;
    std::uint32_t sum = 0;
  };
  struct Noted {
    FileNumber file = 0;
    ArrayId array = 0;
    Part part;
  };

  std::mutex mutex_;
  std::map<std::pair<FileNumber, ArrayId>, std::vector<Part>> parts_;
};

}  // namespace ckpt
