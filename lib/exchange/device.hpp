#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exchange/device_copy.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// A GPU as an exchange uses it: memory, and queues of work that it does by itself. A call puts work into a queue and
/// returns; a queue's work is done in its order, different queues' at the same time. Errors are thrown as io (memory,
/// the device) or peer (links), by the call at fault or a later one. One thread makes all calls.
class Device {
 public:
  /// To the device, between devices, from the device.
  enum class Queue : std::uint8_t { up, link, down };

  class Memory {
   public:
    virtual ~Memory() = default;
    virtual std::byte* data() const noexcept = 0;  ///< on a boundary of 256 bytes
  };

  /// A point in a queue.
  class Mark {
   public:
    virtual ~Mark() = default;
    virtual bool is_reached() = 0;  ///< never waits
  };

  virtual ~Device() = default;

  /// Memory of the host that the device reads and writes by itself.
  virtual std::unique_ptr<Memory> host_memory(std::uint64_t bytes) = 0;
  virtual std::unique_ptr<Memory> device_memory(std::uint64_t bytes) = 0;

  virtual void upload(std::byte* device, const std::byte* host, std::uint64_t bytes) = 0;    // in Queue::up
  virtual void download(std::byte* host, const std::byte* device, std::uint64_t bytes) = 0;  // in Queue::down
  virtual void clear(Queue queue, std::byte* device, std::uint64_t bytes) = 0;
  /// `table` and its copies are in the device's memory.
  virtual void copy(Queue queue, std::byte* base, const CopyTableView& table) = 0;
  /// What is put into `later` from now on begins when all that is in `earlier` now is done.
  virtual void follow(Queue later, Queue earlier) = 0;
  virtual std::unique_ptr<Mark> mark(Queue queue) = 0;

  /// What the first process sends to the others, so that their devices can be linked.
  virtual std::string invitation() = 0;
  // Each of these begins something with the other processes' devices; nothing else is asked of the links, and nothing
  // put after it, before is_linked() says so.
  virtual void connect(const std::string& invitation) = 0;
  using Messages = std::vector<Communicator::Message>;
  virtual void exchange(const Messages& sends, const Messages& receives) = 0;  // in Queue::link
  virtual void disconnect() = 0;
  virtual bool is_linked() = 0;  ///< never waits

  /// Ends whatever is under way, where a process has failed, so that memory may go. Nothing may be asked afterwards.
  virtual void abort() noexcept = 0;
};

}  // namespace ckpt
