#include "property/checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace model {

namespace {

constexpr std::byte rubbish{0xEE};

/// An element's bytes tell tensor and index; one byte tells what it can. Never 0 in the first byte alone, never
/// rubbish.
void put_element(std::byte* at, const Cell& cell, std::uint64_t element_bytes) {
  const auto tensor = static_cast<std::uint64_t>(cell.tensor);
  if (element_bytes == 1) {
    *at = static_cast<std::byte>(1 + (cell.index + 37 * tensor) % 199);
    return;
  }
  const std::uint64_t value = ((tensor + 1) << 11U) + cell.index + 1;
  for (std::uint64_t i = 0; i < element_bytes; ++i)
    at[i] = static_cast<std::byte>(i < 8 ? value >> (8 * i) : ~value >> (8 * (i - 8)));
}

}  // namespace

Bytes contents(const Array& array) {
  Bytes bytes(array.cells.size() * array.element_bytes);
  for (std::size_t i = 0; i < array.cells.size(); ++i)
    if (array.cells[i].tensor >= 0)
      put_element(bytes.data() + i * array.element_bytes, array.cells[i], array.element_bytes);
  return bytes;
}

Checkpoint::Checkpoint(const Case& drawn)
    : case_(drawn),
      cards_(spread(drawn.source.layout, drawn.tensors)),
      target_(spread(drawn.target.layout, drawn.tensors)) {
  fill_source();
}

void Checkpoint::fill_source() {
  std::vector<std::vector<bool>> seen;
  for (const Tensor& tensor : case_.tensors) seen.emplace_back(element_count(tensor.shape));
  source_.resize(cards_.size());
  // The lowest card's copy counts where replicas may differ: the lowest by its id.
  const auto& ids = case_.source.layout.mesh.cards;
  std::vector<std::uint64_t> order(cards_.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  if (!ids.empty()) std::sort(order.begin(), order.end(), [&](auto a, auto b) { return ids[a] < ids[b]; });
  for (const std::uint64_t position : order)
    for (const auto& [name, array] : cards_[position]) {
      if (case_.absent.count({position, name}) != 0) continue;
      Bytes bytes = contents(array);
      for (std::size_t i = 0; i < array.cells.size(); ++i) {
        const Cell& cell = array.cells[i];
        bool is_rubbish = cell.tensor < 0 || cell.is_fill;
        if (!is_rubbish) {
          const auto t = static_cast<std::size_t>(cell.tensor);
          const auto& keys = case_.source.layout.keys[t];
          is_rubbish = keys && keys->first_replica && seen[t][cell.index];
          seen[t][cell.index] = true;
        }
        if (is_rubbish)
          std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * array.element_bytes), array.element_bytes,
                      rubbish);
      }
      source_[position].emplace(name, std::move(bytes));
    }
}

std::optional<ckpt::Shape> Checkpoint::carried_shape(std::uint64_t position, const std::string& name) const {
  const Layout& layout = case_.source.layout;
  if (!case_.carries_shapes) return std::nullopt;
  for (std::size_t t = 0; t < case_.tensors.size(); ++t)
    if (layout.keys[t] && stored_name(layout, case_.tensors[t], coordinates(layout.mesh, position)) == name)
      return ckpt::Shape(case_.tensors[t].shape);
  return std::nullopt;  // a bucket
}

std::vector<ckpt::CardArrays> Checkpoint::card_arrays() const {
  std::vector<ckpt::CardArrays> card_arrays;
  std::map<std::string, ckpt::CardArrays> known;
  for (std::uint64_t position = 0; position < cards_.size(); ++position) {
    auto arrays_on_card = std::make_shared<std::vector<ckpt::StoredArray>>();
    std::string declared;
    for (const auto& [name, bytes] : source_[position]) {
      const Array& array = cards_[position].at(name);
      ckpt::StoredArray stored;
      stored.name = name;
      stored.dtype = {ckpt::ElementKind::other, ckpt::ByteOrder::little, array.element_bytes,
                      dtype_name(array.element_bytes), ""};
      stored.shape = ckpt::Shape(array.shape);
      stored.global_shape = carried_shape(position, name);
      declared += name + "\n" + stored.dtype.name + to_string(stored.shape) +
                  (stored.global_shape ? to_string(*stored.global_shape) : "") + "\n";
      arrays_on_card->push_back(std::move(stored));
    }
    ckpt::CardArrays shared = arrays_on_card;
    if (case_.shares_holdings) shared = known.emplace(declared, shared).first->second;
    card_arrays.push_back(std::move(shared));
  }
  return card_arrays;
}

std::string describe(const Case& drawn) {
  std::string text = "tensors:";
  for (const Tensor& tensor : drawn.tensors)
    text += "\n  " + logical_name(tensor) + " " + ckpt::format_list(tensor.shape) + " of " +
            std::to_string(tensor.element_bytes) + " bytes";
  text += "\nsource: " + drawn.source.json + "\ntarget: " + drawn.target.json;
  for (const auto& [position, name] : drawn.absent)
    text += "\nabsent at position " + std::to_string(position) + ": " + name;
  return text + "\nshapes carried: " + (drawn.carries_shapes ? "yes" : "no") + ", chunks of " +
         std::to_string(drawn.chunk_bytes) + " bytes, owners " + ckpt::format_list(drawn.owners);
}

}  // namespace model
