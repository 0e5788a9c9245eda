#pragma once

#include <array>

#include "exchange/device.hpp"
#include "exchange/nccl/handles.hpp"

namespace ckpt {

/// A CUDA device, linked with the other processes' devices by NCCL. Its communicator is non-blocking: no call waits for
/// a peer that may be gone.
class NcclDevice final : public Device {
 public:
  /// `rank`: this process among `size`; `gpu`: its device among those that it sees. `threads` threads prepare host
  /// memory.
  NcclDevice(int gpu, int rank, int size, unsigned threads);
  NcclDevice(const NcclDevice&) = delete;
  NcclDevice& operator=(const NcclDevice&) = delete;
  NcclDevice(NcclDevice&&) = delete;
  NcclDevice& operator=(NcclDevice&&) = delete;
  ~NcclDevice() override;

  std::unique_ptr<Memory> host_memory(std::uint64_t bytes) override;
  std::unique_ptr<Memory> device_memory(std::uint64_t bytes) override;
  void upload(std::byte* device, const std::byte* host, std::uint64_t bytes) override;
  void download(std::byte* host, const std::byte* device, std::uint64_t bytes) override;
  void clear(Queue queue, std::byte* device, std::uint64_t bytes) override;
  void copy(Queue queue, std::byte* base, const CopyTableView& table) override;
  void follow(Queue later, Queue earlier) override;
  std::unique_ptr<Mark> mark(Queue queue) override;
  std::string invitation() override;
  void connect(const std::string& invitation) override;
  void exchange(const Messages& sends, const Messages& receives) override;
  void disconnect() override;
  bool is_linked() override;
  void abort() noexcept override;

 private:
  class EventMark;

  cudaStream_t stream(Queue queue) const noexcept { return streams_[static_cast<std::size_t>(queue)].get(); }

  int gpu_;
  int rank_;
  int size_;
  unsigned threads_;
  unsigned blocks_ = 1;  ///< blocks of the copy kernel, as many as the device runs at a time
  NcclComm comm_;
  bool is_finalized_ = false;
  std::array<Stream, 3> streams_;
  std::array<Event, 3> ends_;  ///< ends of the queues when `follow` was last called
};

}  // namespace ckpt
