#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/posix_stream.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A new file that goes from its first byte to its last into a stream. Threads bring its data in any order: one that is
/// early waits for its turn, so that nothing is kept but what they have in their hands. Whoever takes chunks in the
/// file's order, and works on the earliest of them without waiting for others, never stands still.
class Pipe {
 public:
  explicit Pipe(PosixStream stream) : stream_(std::move(stream)) {}

  const std::string& name() const noexcept { return stream_.name(); }

  /// Which file it is; nothing is written yet. Throws input where an array's parts lie in another order in the file, or
  /// data twice: then there is no order to wait for.
  void begin(const NewFile& file);
  /// Puts other bytes in the place of some that are no data, before they are written.
  void set(std::uint64_t offset, std::string_view bytes);
  /// Writes data, and what lies before it, when its turn has come. Throws io, or what `stop` was given.
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Whoever waits, and whoever comes, gets this error.
  void stop(std::exception_ptr why) noexcept;
  /// Writes the rest. Until then the file's last byte is missing: a failed job leaves none that could be taken for
  /// whole. With `sync`, waits until a file is on the storage.
  void finish(bool sync);

 private:
  std::uint64_t next_data() const;
  void fill(std::uint64_t to);
  void put(std::span<const std::byte> bytes);
  void send(std::span<const std::byte> bytes);

  PosixStream stream_;
  std::mutex mutex_;  // for what follows
  std::condition_variable turn_;
  std::vector<Interval> data_;  // by place
  std::vector<Passage> passages_;
  std::uint64_t bytes_ = 0;
  std::uint64_t at_ = 0;       // what comes next
  std::size_t past_data_ = 0;  // how many intervals of data are before it
  std::size_t past_passages_ = 0;
  std::vector<std::byte> small_;  // pieces that are written together

  std::mutex stopping_;
  std::exception_ptr why_;  // set once, before this is true
  std::atomic<bool> is_stopped_{false};
};

}  // namespace ckpt
