#pragma once

#include <string>
#include <vector>

#include "plan/planner.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// What a transfer takes of a message: its box, dense and in row-major order, and the sum of what was read.
inline std::uint64_t message_bytes(const Transfer& transfer) {
  return transfer.bytes() + sizeof(PartialSum);
}

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
