#include "output/tied_arrays.hpp"

#include <map>

#include "base/wire.hpp"
#include "layout/names/file_table.hpp"
#include "output/sayings.hpp"

namespace ckpt {

namespace {

/// Adds a parameter's spread, which equal ones share; returns false if it lies among others or in pieces.
bool put_spread(wire::Writer& out, const Placement& placement, ParameterId parameter) {
  const Spread& spread = placement.spreads()[parameter];
  if (spread.bucket || spread.flat || spread.boxes) return false;
  for (const auto& cut : spread.cuts) out.put(reinterpret_cast<std::uintptr_t>(cut.get()));
  out.put(spread.axes);
  out.put(spread.permute);
  return true;
}

/// Adds where each file that has an array stores it; returns false if one does not store it as it is, or none has it.
bool put_places(wire::Writer& out, const std::vector<Saying>& sayings, std::size_t entry, const std::string& name) {
  bool is_anywhere = false;
  for (std::size_t i = 0; i < sayings.size(); ++i) {
    if (sayings[i].entry != entry) continue;
    const std::size_t found = sayings[i].schema->find(name);
    if (found >= sayings[i].schema->datasets.size()) continue;
    const Dataset& dataset = sayings[i].schema->datasets[found];
    if (dataset.storage != Storage::raw && dataset.storage != Storage::strided) return false;
    is_anywhere = true;
    out.put(std::tie(i, dataset.extents, dataset.strides, (*sayings[i].schema->arrays)[found].shape));
  }
  return is_anywhere;
}

/// A key that tied arrays have in common; nothing for arrays that cannot be tied.
std::optional<std::string> key_of(const ArrayPlace& array, const Planner& planner, const ArrayFiles& from_files,
                                  const std::vector<Saying>& sayings) {
  if (array.members.size() != 1) return std::nullopt;
  const ParameterId parameter = array.members.front();
  const ParameterId from = planner.source_of(parameter);
  wire::Writer key;
  key.put(array.dtype.name);
  key.put(array.at);
  if (!put_spread(key, planner.target(), parameter) || !put_spread(key, planner.source(), from)) return std::nullopt;
  const ArrayId from_array = planner.source().array_of(from);
  if (!put_places(key, sayings, from_files.entry(from_array), from_files.name(from_array))) return std::nullopt;
  return key.take();
}

}  // namespace

std::vector<std::optional<ArrayId>> tied_arrays(const Checkpoint& source, const Planner& planner) {
  const auto all = sayings(source);
  const ArrayFiles from_files(planner.source());
  std::map<std::string, ArrayId> known;
  std::vector<std::optional<ArrayId>> tied;
  for (const ArrayPlace& array : planner.target().arrays()) {
    tied.emplace_back();
    const auto key = key_of(array, planner, from_files, all);
    if (!key) continue;
    const auto [first, is_new] = known.emplace(*key, static_cast<ArrayId>(tied.size() - 1));
    if (!is_new) tied.back() = first->second;
  }
  return tied;
}

}  // namespace ckpt
