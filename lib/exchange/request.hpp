#pragma once

#include <string>
#include <vector>

#include "plan/planner.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// What a transfer takes of a message: its box, dense and in row-major order, and right after it the sum of what was
/// read. The next begins on a boundary of 16 bytes, so that GPUs can move it in wide words.
std::uint64_t message_bytes(const Transfer& transfer);
/// The copy from a message to the transfer's target.
StridedCopy unpacking(const Transfer& transfer);
void store_sum(const PartialSum& sum, std::byte* at);
PartialSum load_sum(const std::byte* at);

/// What a writer asks of a reader: transfers whose boxes lie, one after the other, in one message.
class RequestWriter {
 public:
  /// Where the transfer goes on the writer's side is not sent.
  void add(const Transfer& transfer);
  std::string take() { return std::move(bytes_); }

 private:
  void put(std::uint64_t value);
  std::string bytes_;
};

/// The transfers of a request; their targets are their places in the message. Throws peer when the bytes make no sense.
std::vector<Transfer> read_request(const std::string& bytes);

}  // namespace ckpt
