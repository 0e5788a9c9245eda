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

#include "io/posix_stream.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Sends a new file into a stream, from its first byte to its last. Threads bring its data in any order: an early one
/// waits for its turn, so that only the threads' own buffers are kept. Threads that take chunks in the file's order,
/// and work on the earliest of them without waiting for others, never deadlock.
class Pipe {
 public:
  explicit Pipe(PosixStream stream) : stream_(std::move(stream)) {}

  const std::string& name() const noexcept { return stream_.name(); }

  /// Starts the file; writes nothing yet. Throws input if an array's parts are in another order in the file, or data
  /// occurs twice: then there is no order to wait for.
  void begin(const NewFile& file);
  /// Replaces bytes that are not data before they are written.
  void set(std::uint64_t offset, std::string_view bytes);
  /// Writes data, and everything before it, when its turn comes. Throws io, or the error given to `stop`.
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Makes all waiting and later calls throw this error.
  void stop(std::exception_ptr why) noexcept;
  /// Writes the rest. Until then the file's last byte is missing, so that nobody takes a failed job's file for
  /// complete. With `sync`, waits until a file is on the storage.
  void finish(bool sync);

 private:
  std::uint64_t next_data() const;
  void fill(std::uint64_t to);
  void put(std::span<const std::byte> bytes);
  void send(std::span<const std::byte> bytes);

  PosixStream stream_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable turn_;
  std::vector<Interval> data_;  // by place
  std::vector<FileSegment> segments_;
  std::uint64_t bytes_ = 0;
  std::uint64_t at_ = 0;       // place of the next byte
  std::size_t past_data_ = 0;  // how many intervals of data are before it
  std::size_t past_segments_ = 0;
  std::vector<std::byte> small_;  // pieces that are written together

  std::mutex stopping_;
  std::exception_ptr why_;  // set once, before this is true
  std::atomic<bool> is_stopped_{false};
};

}  // namespace ckpt
