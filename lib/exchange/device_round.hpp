#pragma once

#include <cstdint>
#include <memory>

#include "base/workers.hpp"
#include "exchange/copy_table.hpp"
#include "exchange/device.hpp"
#include "exchange/rounds.hpp"

namespace ckpt {

/// One round on its way through a device: its plan, the places of its bytes, and the copies to be made there. Places
/// are bytes from the start of the device's block,
///
/// messages received | messages sent | chunks, sums of pieces | images of what is read, tables of copies
///
/// of which the host's block has the last two. An image is a piece as it was read: dense, in the order of its file, so
/// that the host goes through file and image sequentially, and the device does the rest.
class DeviceRound {
 public:
  explicit DeviceRound(Workers& workers) : reads_(workers), writes_(workers) {}

  /// The sizes of the blocks for a round whose chunks, and messages in either direction, take `part` bytes each:
  /// including images of what is read for peers and for this process, and half a part for tables.
  static constexpr std::uint64_t host_bytes(std::uint64_t part) { return 3 * part + part / 2; }
  static constexpr std::uint64_t device_bytes(std::uint64_t part) { return 5 * part + part / 2; }

  /// Reserves memory for such a round, so that none is allocated later unless a chunk is larger than it should be.
  void reserve(Device& device, std::uint64_t part);
  /// Assigns a place to everything in the plan. From then on the plan's transfers refer to their images.
  void assign_places();
  bool has_room() const noexcept { return end_ - down_ <= host_.bytes && end_ <= device_.bytes; }
  /// Allocates more memory if there is too little. A driver may wait for all work on the device while it does so.
  void make_room(Device& device) { grow(device, end_ - down_, end_); }
  /// Starts reading all images.
  void read(Workload& work, std::uint64_t scratch_bytes);
  void upload_and_pack(Device& device) const;
  std::byte* received() const noexcept { return device_.data(); }
  std::byte* sent() const noexcept { return device_.data() + sent_; }
  /// Afterwards `arrived` is reached once the chunks are in the host's memory.
  void assemble_and_download(Device& device);
  /// Starts writing all chunks.
  void write(Workload& work);
  void wait_for_reads() { reads_.wait(); }
  void wait_for_writes() { writes_.wait(); }

  RoundPlan plan;
  std::unique_ptr<Device::Mark> arrived;

 private:
  struct Block {
    std::unique_ptr<Device::Memory> memory;
    std::uint64_t bytes = 0;
    std::byte* data() const noexcept { return memory->data(); }
  };

  void add_packing(std::uint64_t peer);
  void add_assembly(ChunkInRound& chunk);
  void grow(Device& device, std::uint64_t host_bytes, std::uint64_t device_bytes);
  std::byte* on_host(std::uint64_t place) const noexcept { return host_.data() + (place - down_); }

  Block host_;
  Block device_;
  std::uint64_t sent_ = 0;
  std::uint64_t down_ = 0;  ///< chunks, then sums
  std::uint64_t sums_ = 0;
  std::uint64_t up_ = 0;  ///< images, those of messages first; then tables
  std::uint64_t end_ = 0;
  std::uint64_t next_image_ = 0;  ///< used during layout
  std::uint64_t next_sum_ = 0;
  std::uint64_t packing_at_ = 0;
  std::uint64_t assembly_at_ = 0;
  CopyTable packing_;
  CopyTable assembly_;
  CopyTableView packing_view_;
  CopyTableView assembly_view_;
  TaskGroup reads_;  // destroyed first: tasks use everything above
  TaskGroup writes_;
};

}  // namespace ckpt
