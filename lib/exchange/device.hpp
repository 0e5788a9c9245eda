#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exchange/device_copy.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// A GPU as an exchange uses it: memory, and queues of work that it performs asynchronously. A call adds work to a
/// queue and returns; a queue's work is done in order, and that of different queues at the same time. Errors are thrown
/// as io (memory, the device) or peer (links), by the call at fault or a later one. One thread makes all calls.
class Device {
 public:
  /// Work to the device, between devices, and from the device.
  enum class Queue : std::uint8_t { up, link, down };

  class Memory {
   public:
    virtual ~Memory() = default;
    virtual std::byte* data() const noexcept = 0;  ///< on a 256-byte boundary
  };

  /// A point in a queue.
  class Mark {
   public:
    virtual ~Mark() = default;
    virtual bool is_reached() = 0;  ///< never waits
  };

  virtual ~Device() = default;

  /// Host memory that the device accesses directly.
  virtual std::unique_ptr<Memory> host_memory(std::uint64_t bytes) = 0;
  virtual std::unique_ptr<Memory> device_memory(std::uint64_t bytes) = 0;

  virtual void upload(std::byte* device, const std::byte* host, std::uint64_t bytes) = 0;    // in Queue::up
  virtual void download(std::byte* host, const std::byte* device, std::uint64_t bytes) = 0;  // in Queue::down
  virtual void clear(Queue queue, std::byte* device, std::uint64_t bytes) = 0;
  /// `table` and its copies are in the device's memory.
  virtual void copy(Queue queue, std::byte* base, const CopyTableView& table) = 0;
  /// Makes all work that is added to `later` from now on wait for all work that is in `earlier` now.
  virtual void follow(Queue later, Queue earlier) = 0;
  virtual std::unique_ptr<Mark> mark(Queue queue) = 0;

  /// Returns the data that the first process sends to the others, so that their devices can be linked.
  virtual std::string invitation() = 0;
  // Each of these functions starts an operation with the other processes' devices. Until is_linked() returns true,
  // nothing else is asked of the links, and nothing is added after the operation.
  virtual void connect(const std::string& invitation) = 0;
  using Messages = std::vector<Communicator::Message>;
  virtual void exchange(const Messages& sends, const Messages& receives) = 0;  // in Queue::link
  virtual void disconnect() = 0;
  virtual bool is_linked() = 0;  ///< never waits

  /// Aborts all work in progress after a process has failed, so that memory can be freed. No call may follow.
  virtual void abort() noexcept = 0;
};

}  // namespace ckpt
