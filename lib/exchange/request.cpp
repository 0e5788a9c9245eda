#include "exchange/request.hpp"

#include <cstring>
#include <tuple>

namespace ckpt {

std::uint64_t message_bytes(const Transfer& transfer) {
  return round_up(checked_add(transfer.bytes(), sizeof(PartialSum)), 16);
}

StridedCopy unpacking(const Transfer& transfer) {
  const Shape shape = transfer.source.box.shape();
  return strided_copy(shape, row_major_strides(shape), transfer.target_strides, transfer.element);
}

void store_sum(const PartialSum& sum, std::byte* at) {
  std::memcpy(at, &sum, sizeof sum);
}

PartialSum load_sum(const std::byte* at) {
  PartialSum sum;
  std::memcpy(&sum, at, sizeof sum);
  return sum;
}

namespace {

/// The members of a transfer that its reader gets.
auto sent(auto& transfer) {
  return std::tie(transfer.card, transfer.array, transfer.parameter, transfer.target, transfer.element,
                  transfer.is_first_copy, transfer.source.offset, transfer.source.box, transfer.source.strides);
}

}  // namespace

void RequestWriter::add(const Transfer& transfer) {
  out_.put(sent(transfer));
  out_.put(transfer.place.is_linked);
  if (transfer.place.is_linked) out_.put(std::tie(transfer.place.first, transfer.place.strides));
}

std::vector<Transfer> read_request(const std::string& bytes) {
  std::vector<Transfer> transfers;
  std::uint64_t target = 0;
  for (wire::Reader in(bytes, "a request for data"); in.left() > 0;) {
    Transfer& transfer = transfers.emplace_back();
    in.take_into(sent(transfer));
    if (transfer.source.strides.size() != transfer.source.box.rank()) in.fail();
    transfer.place.is_linked = in.take<bool>();
    if (transfer.place.is_linked) {
      in.take_into(std::tie(transfer.place.first, transfer.place.strides));
      if (transfer.place.strides.size() != transfer.source.box.rank()) in.fail();
    }
    transfer.target_offset = target;
    transfer.target_strides = row_major_strides(transfer.source.box.shape());
    target += message_bytes(transfer);
  }
  return transfers;
}

}  // namespace ckpt
