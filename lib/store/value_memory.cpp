#include "store/value_memory.hpp"

#include "store/hdf5/hdf5_store.hpp"

namespace ckpt {

std::uint64_t value_bytes(const Schema& schema) {
  std::uint64_t bytes = 0;
  for (const Dataset& dataset : schema.datasets)
    if (dataset.verbatim) bytes += dataset.verbatim->bytes.size();
  return bytes;
}

/// Of the others none has values that are large.
std::vector<Format> formats_within(std::uint64_t value_bytes) {
  std::vector<Format> all = formats();
  for (Format& format : all)
    if (format.name == "hdf5") format.make = [value_bytes] { return hdf5_store_within(value_bytes); };
  return all;
}

}  // namespace ckpt
