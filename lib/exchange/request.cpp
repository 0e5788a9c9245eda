#include "exchange/request.hpp"

#include <cstring>

namespace ckpt {

std::uint64_t message_bytes(const Transfer& transfer) {
  return round_up(checked_add(transfer.bytes(), sizeof(PartialSum)), 16);
}

StridedCopy unpacking(const Transfer& transfer) {
  const Extents shape = transfer.source.box.shape();
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

void RequestWriter::put(std::uint64_t value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void RequestWriter::add(const Transfer& transfer) {
  put(transfer.card);
  put(transfer.array);
  put(transfer.parameter);
  put(transfer.target);
  put(transfer.element);
  put(transfer.source.offset);
  put(transfer.source.box.rank());
  for (std::size_t d = 0; d < transfer.source.box.rank(); ++d) {
    put(transfer.source.box.lo[d]);
    put(transfer.source.box.hi[d]);
    put(transfer.source.strides[d]);
  }
}

std::vector<Transfer> read_request(const std::string& bytes) {
  std::size_t at = 0;
  const auto get = [&] {
    std::uint64_t value = 0;
    if (bytes.size() - at < sizeof value)
      throw Error(Kind::peer, "a request for data",
                  {"it ends too early", "", "do all processes run the same version?"});
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return value;
  };
  std::vector<Transfer> transfers;
  std::uint64_t target = 0;
  while (at < bytes.size()) {
    Transfer& transfer = transfers.emplace_back();
    transfer.card = get();
    transfer.array = static_cast<ArrayId>(get());
    transfer.parameter = static_cast<ParameterId>(get());
    transfer.target = static_cast<ParameterId>(get());
    transfer.element = get();
    transfer.source.offset = get();
    const std::uint64_t rank = get();
    if (rank > max_rank) throw Error(Kind::peer, "a request for data", {"it has too many dimensions", "", ""});
    transfer.source.box = {Extents(rank), Extents(rank)};
    transfer.source.strides = Extents(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      transfer.source.box.lo[d] = get();
      transfer.source.box.hi[d] = get();
      transfer.source.strides[d] = get();
    }
    transfer.target_offset = target;
    transfer.target_strides = row_major_strides(transfer.source.box.shape());
    target += message_bytes(transfer);
  }
  return transfers;
}

}  // namespace ckpt
