#pragma once

#include <string>
#include <vector>

#include "base/wire.hpp"
#include "plan/planner.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// Returns the bytes of a transfer in a message: its box, dense and in row-major order, followed by the sum of what was
/// read. The next transfer begins on a 16-byte boundary, so that GPUs can move it in wide words.
std::uint64_t message_bytes(const Transfer& transfer);
/// Returns the copy from a message to the transfer's target.
StridedCopy unpacking(const Transfer& transfer);
void store_sum(const PartialSum& sum, std::byte* at);
PartialSum load_sum(const std::byte* at);

/// Builds a writer's request to a reader: transfers whose boxes are contiguous in one message.
class RequestWriter {
 public:
  /// Does not send the transfer's place on the writer's side.
  void add(const Transfer& transfer);
  std::string take() { return out_.take(); }

 private:
  wire::Writer out_;
};

/// Returns the transfers of a request; their targets are their places in the message. Throws input if the bytes are
/// invalid.
std::vector<Transfer> read_request(const std::string& bytes);

}  // namespace ckpt
