#include "checkpoint/readable.hpp"

#include <algorithm>
#include <map>

#include "tensor/stored_array.hpp"

namespace ckpt {

namespace {

bool is_unreadable(const StoredArray& array) {
  return array.refusal.has_value();
}

}  // namespace

Resolved resolve_readable(const Checkpoint& checkpoint, const ExpectedShape& expected) {
  std::vector<Holding> holdings = checkpoint.holdings();
  std::map<const void*, Holding> readable;  // of each that cards share
  bool is_all = true;
  for (Holding& holding : holdings) {
    const auto [known, is_new] = readable.try_emplace(holding.get(), holding);
    if (is_new && std::any_of(holding->begin(), holding->end(), is_unreadable)) {
      std::vector<StoredArray> arrays = *holding;
      std::erase_if(arrays, is_unreadable);
      known->second = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
      is_all = false;
    }
    holding = known->second;
  }
  if (is_all) return resolve(checkpoint, {}, expected);
  return resolve_source(checkpoint.layout(), holdings, {}, expected);
}

}  // namespace ckpt
