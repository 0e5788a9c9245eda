#include "exchange/device_round.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/checked.hpp"

namespace ckpt {

namespace {

/// Returns the next boundary for large objects.
std::uint64_t aligned(std::uint64_t place) {
  return round_up(place, 256);
}

StridedCopy plain(std::uint64_t bytes) {
  StridedCopy copy;
  copy.run = bytes;
  return copy;
}

/// Returns the strides of a dense array that has the region's elements in the order of their file.
Shape image_strides(const Region& region) {
  const Shape shape = region.box.shape();
  std::array<std::size_t, max_rank> order{};
  const auto begin = order.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(shape.size());
  std::iota(begin, end, std::size_t{0});
  std::stable_sort(begin, end, [&](auto a, auto b) { return region.strides[a] > region.strides[b]; });
  Shape strides(shape.size());
  std::uint64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= shape[order[i]];
  }
  return strides;
}

}  // namespace

void DeviceRound::reserve(Device& device, std::uint64_t part) {
  grow(device, host_bytes(part), device_bytes(part));
}

void DeviceRound::grow(Device& device, std::uint64_t host_bytes, std::uint64_t device_bytes) {
  const auto enlarge = [](Block& block, std::uint64_t bytes, const auto& make) {
    if (block.bytes >= bytes) return;
    block = {};  // first, so that both are never allocated at once
    block = {make(bytes), bytes};
  };
  enlarge(host_, host_bytes, [&](std::uint64_t bytes) { return device.host_memory(bytes); });
  enlarge(device_, device_bytes, [&](std::uint64_t bytes) { return device.device_memory(bytes); });
}

void DeviceRound::assign_places() {
  const std::uint64_t pieces =
      std::accumulate(plan.chunks.begin(), plan.chunks.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const ChunkInRound& chunk) { return sum + chunk.pieces.size(); });
  sent_ = aligned(plan.received.bytes);
  down_ = sent_ + aligned(plan.sent.bytes);
  sums_ = down_ + aligned(plan.chunk_bytes);
  up_ = sums_ + aligned(pieces * sizeof(PartialSum));
  next_image_ = up_ + plan.sent.bytes;
  next_sum_ = sums_;
  packing_ = {};
  assembly_ = {};
  for (std::uint64_t peer = 0; peer < plan.asked.size(); ++peer) add_packing(peer);
  for (ChunkInRound& chunk : plan.chunks) add_assembly(chunk);
  packing_at_ = aligned(next_image_);
  assembly_at_ = packing_at_ + aligned(packing_.bytes());
  end_ = assembly_at_ + assembly_.bytes();
}

/// Copies a peer's message as a whole if all its images are in the message's order already.
void DeviceRound::add_packing(std::uint64_t peer) {
  const std::uint64_t image = up_ + plan.sent.offsets[peer];
  const std::uint64_t message = sent_ + plan.sent.offsets[peer];
  bool is_in_order = true;
  CopyTable pieces;
  for (Transfer& transfer : plan.asked[peer]) {
    const Shape strides = image_strides(transfer.source);
    const StridedCopy copy =
        strided_copy(transfer.source.box.shape(), strides, transfer.target_strides, transfer.element);
    is_in_order = is_in_order && copy.depth == 0;
    pieces.add(copy, image + transfer.target_offset, message + transfer.target_offset);
    const std::uint64_t sum = transfer.target_offset + transfer.bytes();
    pieces.add(plain(sizeof(PartialSum)), image + sum, message + sum);
    transfer.target_strides = strides;
  }
  if (is_in_order)
    packing_.add(plain(plan.sent.sizes[peer]), image, message);
  else
    packing_.append(pieces);
}

void DeviceRound::add_assembly(ChunkInRound& chunk) {
  const std::uint64_t place = down_ + chunk.offset;
  for (const auto& piece : chunk.pieces) {
    const std::uint64_t message = plan.received.offsets[piece.peer] + piece.message_offset;
    assembly_.add(unpacking(piece.transfer), message, place + piece.transfer.target_offset);
    assembly_.add(plain(sizeof(PartialSum)), message + piece.transfer.bytes(), next_sum_);
    next_sum_ += sizeof(PartialSum);
  }
  for (Transfer& transfer : chunk.local) {
    const Shape strides = image_strides(transfer.source);
    assembly_.add(strided_copy(transfer.source.box.shape(), strides, transfer.target_strides, transfer.element),
                  next_image_, place + transfer.target_offset);
    transfer.target_strides = strides;
    transfer.target_offset = next_image_;
    next_image_ = round_up(next_image_ + transfer.bytes(), 16);
  }
}

void DeviceRound::read(Workload& work, std::uint64_t scratch_bytes) {
  packing_view_ = packing_.store(on_host(packing_at_), device_.data() + packing_at_);
  assembly_view_ = assembly_.store(on_host(assembly_at_), device_.data() + assembly_at_);
  read_messages(work, plan, on_host(up_), scratch_bytes, reads_);
  for (ChunkInRound& chunk : plan.chunks)
    reads_.run([this, &work, &chunk, scratch_bytes] {
      for (const Transfer& transfer : chunk.local)
        chunk.read += work.read(transfer, on_host(transfer.target_offset), thread_scratch(scratch_bytes));
    });
}

void DeviceRound::upload_and_pack(Device& device) const {
  device.upload(device_.data() + up_, on_host(up_), end_ - up_);
  device.copy(Device::Queue::up, device_.data(), packing_view_);
}

void DeviceRound::assemble_and_download(Device& device) {
  for (const ChunkInRound& chunk : plan.chunks)
    if (chunk.has_padding) device.clear(Device::Queue::down, device_.data() + down_ + chunk.offset, chunk.chunk.bytes);
  device.copy(Device::Queue::down, device_.data(), assembly_view_);
  device.download(on_host(down_), device_.data() + down_, next_sum_ - down_);
  arrived = device.mark(Device::Queue::down);
}

void DeviceRound::write(Workload& work) {
  std::uint64_t sums = sums_;
  for (const ChunkInRound& chunk : plan.chunks) {
    writes_.run([this, &work, &chunk, sums] {
      PartialSum read = chunk.read;
      const std::byte* sum = on_host(sums);
      for (std::size_t i = 0; i < chunk.pieces.size(); ++i, sum += sizeof(PartialSum)) read += load_sum(sum);
      work.write(chunk.chunk, {on_host(down_ + chunk.offset), static_cast<std::size_t>(chunk.chunk.bytes)}, read);
    });
    sums += chunk.pieces.size() * sizeof(PartialSum);
  }
}

}  // namespace ckpt
