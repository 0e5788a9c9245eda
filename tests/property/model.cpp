#include "property/model.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace model {

namespace {

constexpr std::int64_t nothing = -1;

/// One place along one dimension of what a card stores.
struct Along {
  std::int64_t index = nothing;
  bool is_fill = false;
};

void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("the generator drew an illegal layout: " + what);
}

std::vector<std::uint64_t> iota(std::uint64_t n) {
  std::vector<std::uint64_t> all(n);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::vector<std::uint64_t> share_over(const Mesh& mesh, std::vector<std::uint64_t> indices,
                                      const std::vector<std::size_t>& axes, const Numbers& coordinates, Uneven uneven) {
  for (const std::size_t axis : axes) indices = share(indices, mesh.shape[axis], coordinates[axis], uneven);
  return indices;
}

std::vector<Along> padded(const Mesh& mesh, const Pad& pad, const std::vector<std::size_t>& axes,
                          const Numbers& coordinates) {
  std::uint64_t k = 1;
  std::uint64_t number = 0;
  for (const std::size_t axis : axes) {
    k *= mesh.shape[axis];
    number = number * mesh.shape[axis] + coordinates[axis];
  }
  std::uint64_t m = 0;
  while (m * k < pad.size) m += pad.multiple_of;
  std::vector<Along> along;
  for (std::uint64_t place = number * m; place < (number + 1) * m; ++place) {
    if (place < pad.size)
      along.push_back({static_cast<std::int64_t>(place), false});
    else if (pad.edge)
      along.push_back({static_cast<std::int64_t>(pad.size) - 1, true});
    else
      along.push_back({});
  }
  return along;
}

/// What lies along one dimension, in the order in which it is stored.
std::vector<Along> along_dimension(const Layout& layout, const Keys& keys, std::size_t dim, std::uint64_t n,
                                   const Numbers& coordinates) {
  const std::vector<std::size_t> axes = dim < keys.split.size() ? keys.split[dim] : std::vector<std::size_t>{};
  const bool is_parted = keys.parts && keys.parts->dim == dim;
  require(int{keys.sizes.count(dim) != 0} + int{keys.pad.count(dim) != 0} + int{is_parted} <= 1,
          "two of sizes, parts and pad");
  if (const auto pad = keys.pad.find(dim); pad != keys.pad.end()) {
    require(pad->second.size == n, "pad's size");
    return padded(layout.mesh, pad->second, axes, coordinates);
  }
  std::vector<std::uint64_t> held;
  if (const auto sizes = keys.sizes.find(dim); sizes != keys.sizes.end()) {
    require(axes.size() == 1 && sizes->second.size() == layout.mesh.shape[axes[0]], "sizes over one axis");
    require(std::accumulate(sizes->second.begin(), sizes->second.end(), std::uint64_t{0}) == n, "the sum of sizes");
    std::uint64_t next = 0;
    for (std::uint64_t shard = 0; shard < sizes->second.size(); ++shard)
      for (std::uint64_t i = 0; i < sizes->second[shard]; ++i, ++next)
        if (shard == coordinates[axes[0]]) held.push_back(next);
  } else if (is_parted) {
    Numbers parts = keys.parts->sizes;
    if (parts.empty()) {
      require(n % keys.parts->count == 0, "parts' count");
      parts.assign(keys.parts->count, n / keys.parts->count);
    }
    require(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}) == n, "the sum of parts");
    std::uint64_t start = 0;
    for (const std::uint64_t size : parts) {
      for (const std::uint64_t i : share_over(layout.mesh, iota(size), axes, coordinates, keys.uneven))
        held.push_back(start + i);
      start += size;
    }
  } else {
    held = share_over(layout.mesh, iota(n), axes, coordinates, keys.uneven);
  }
  std::vector<Along> along;
  for (const std::uint64_t i : held) along.push_back({static_cast<std::int64_t>(i), false});
  return along;
}

void flatten(const Mesh& mesh, const Flat& flat, const Numbers& coordinates, Array& array) {
  const std::uint64_t k = mesh.shape[flat.axis];
  while (array.cells.size() % (k * flat.multiple_of) != 0) array.cells.emplace_back();
  const auto each = static_cast<std::ptrdiff_t>(array.cells.size() / k);
  const auto first = array.cells.begin() + static_cast<std::ptrdiff_t>(coordinates[flat.axis]) * each;
  array.cells = std::vector<Cell>(first, first + each);
  array.shape = {array.cells.size()};
}

void add(Card& card, const std::string& name, Array array) {
  require(card.emplace(name, std::move(array)).second, "two arrays named " + name + " on one card");
}

void add_bucket(const Layout& layout, const Bucket& bucket, const std::vector<Tensor>& tensors,
                const Numbers& coordinates, Card& card) {
  Array array;
  array.element_bytes = tensors[bucket.members.front().tensor].element_bytes;
  for (const Member& member : bucket.members) {
    require(tensors[member.tensor].element_bytes == array.element_bytes, "a bucket of two dtypes");
    while (array.cells.size() % bucket.align != 0) array.cells.emplace_back();
    const Array laid = piece(layout, tensors[member.tensor], member.tensor, member.keys, coordinates);
    array.cells.insert(array.cells.end(), laid.cells.begin(), laid.cells.end());
  }
  const std::uint64_t k = layout.mesh.shape[bucket.axis];
  const std::uint64_t held = array.cells.size();
  const std::uint64_t pieces = bucket.is_flat ? k : 1;  // what is laid here is one of them
  while (array.cells.size() * pieces % bucket.multiple_of != 0 ||
         array.cells.size() * pieces % (k * bucket.multiple_of_each) != 0)
    array.cells.emplace_back();
  if (bucket.is_flat) {
    array.shape = {array.cells.size()};
  } else {
    flatten(layout.mesh, {bucket.axis, 1}, coordinates, array);
    const std::uint64_t before = coordinates[bucket.axis] * array.cells.size();
    if (bucket.last_is_short && before + array.cells.size() > held) {
      array.cells.resize(held > before ? held - before : 0);
      array.shape = {array.cells.size()};
    }
  }
  add(card, written_name(layout.rename, bucket.name), std::move(array));
}

void check_cover(const std::vector<Card>& cards, const std::vector<Tensor>& tensors) {
  std::vector<std::vector<bool>> found;
  for (const Tensor& tensor : tensors) found.emplace_back(element_count(tensor.shape));
  for (const Card& card : cards)
    for (const auto& [name, array] : card)
      for (const Cell& cell : array.cells)
        if (cell.tensor >= 0 && !cell.is_fill) found[static_cast<std::size_t>(cell.tensor)][cell.index] = true;
  for (std::size_t t = 0; t < tensors.size(); ++t)
    require(std::count(found[t].begin(), found[t].end(), false) == 0, logical_name(tensors[t]) + " is not covered");
}

bool has_ends(const std::string& text, const std::string& prefix, const std::string& suffix) {
  return text.size() >= prefix.size() + suffix.size() && text.compare(0, prefix.size(), prefix) == 0 &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

std::string with_ends(const std::string& text, std::size_t front, std::size_t back, const std::string& prefix,
                      const std::string& suffix) {
  return prefix + text.substr(front, text.size() - front - back) + suffix;
}

}  // namespace

std::string logical_name(const Tensor& tensor) {
  std::string name;
  for (const NamePart& part : tensor.parts) name += part.text + (part.counter < 0 ? "" : std::to_string(part.number));
  return name;
}

std::uint64_t element_count(const Numbers& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

std::uint64_t positions(const Mesh& mesh) {
  return element_count(mesh.shape);
}

Numbers coordinates(const Mesh& mesh, std::uint64_t position) {
  Numbers result(mesh.shape.size());
  for (std::size_t axis = mesh.shape.size(); axis-- > 0; position /= mesh.shape[axis])
    result[axis] = position % mesh.shape[axis];
  return result;
}

std::vector<std::uint64_t> share(const std::vector<std::uint64_t>& indices, std::uint64_t k, std::uint64_t j,
                                 Uneven uneven) {
  const std::uint64_t n = indices.size();
  require(uneven != Uneven::exact || n % k == 0, std::to_string(n) + " does not divide by " + std::to_string(k));
  std::vector<std::uint64_t> mine;
  std::uint64_t shard = 0;
  std::uint64_t in_shard = 0;
  for (const std::uint64_t index : indices) {
    const auto room = [&] { return uneven == Uneven::balanced ? n / k + (shard < n % k ? 1 : 0) : (n + k - 1) / k; };
    while (in_shard == room()) {
      ++shard;
      in_shard = 0;
    }
    ++in_shard;
    if (shard == j) mine.push_back(index);
  }
  return mine;
}

std::vector<Numbers> blocks(const Mesh& mesh, const Index& index) {
  const std::uint64_t stages = mesh.shape[index.axis];
  std::vector<Numbers> held(stages);
  if (!index.counts.empty()) {
    std::uint64_t next = 0;
    for (std::uint64_t stage = 0; stage < stages; ++stage)
      for (std::uint64_t i = 0; i < index.counts[stage]; ++i) held[stage].push_back(next++);
    return held;
  }
  const std::uint64_t in_turn = index.total / (stages * index.chunks);
  for (std::uint64_t layer = 0; layer < index.total; ++layer) held[layer / in_turn % stages].push_back(layer);
  return held;
}

bool is_at(const At& at, const Numbers& coordinates) {
  return std::all_of(at.begin(), at.end(), [&](const auto& entry) {
    return std::find(entry.second.begin(), entry.second.end(), coordinates[entry.first]) != entry.second.end();
  });
}

static std::uint64_t position_of(const Mesh& mesh, const Numbers& coordinates) {
  std::uint64_t position = 0;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis)
    position = position * mesh.shape[axis] + coordinates[axis];
  return position;
}

bool is_held(const Keys& keys, const Mesh& mesh, const Numbers& coordinates) {
  return keys.boxes.empty() ? is_at(keys.at, coordinates) : keys.boxes.count(position_of(mesh, coordinates)) != 0;
}

std::optional<std::string> stored_name(const Layout& layout, const Tensor& tensor, const Numbers& coordinates) {
  std::string name;
  for (const NamePart& part : tensor.parts) {
    name += part.text;
    if (part.counter < 0) continue;
    std::uint64_t number = part.number;
    for (const Index& index : layout.indices) {
      if (index.counter != part.counter) continue;
      const Numbers here = blocks(layout.mesh, index)[coordinates[index.axis]];
      const auto found = std::find(here.begin(), here.end(), part.number);
      if (found == here.end()) return std::nullopt;
      if (index.is_local) number = index.first + static_cast<std::uint64_t>(found - here.begin());
    }
    name += std::to_string(number);
  }
  return written_name(layout.rename, name);
}

std::string written_name(const std::vector<Rename>& rename, const std::string& name) {
  for (const Rename& r : rename)
    if (has_ends(name, r.name_prefix, r.name_suffix))
      return with_ends(name, r.name_prefix.size(), r.name_suffix.size(), r.stored_prefix, r.stored_suffix);
  return name;
}

std::string read_name(const std::vector<Rename>& rename, const std::string& stored) {
  for (const Rename& r : rename)
    if (has_ends(stored, r.stored_prefix, r.stored_suffix))
      return with_ends(stored, r.stored_prefix.size(), r.stored_suffix.size(), r.name_prefix, r.name_suffix);
  return stored;
}

Array piece(const Layout& layout, const Tensor& tensor, std::size_t number, const Keys& keys,
            const Numbers& coordinates) {
  const std::size_t rank = tensor.shape.size();
  std::vector<std::vector<Along>> along;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    if (keys.boxes.empty()) {
      along.push_back(along_dimension(layout, keys, dim, tensor.shape[dim], coordinates));
      continue;
    }
    const auto [first, end] = keys.boxes.at(position_of(layout.mesh, coordinates))[dim];
    along.emplace_back();
    for (std::uint64_t i = first; i < end; ++i)
      along.back().push_back({i < tensor.shape[dim] ? static_cast<std::int64_t>(i) : nothing, false});
  }
  std::vector<std::size_t> order = keys.permute;
  if (order.empty())
    for (std::size_t dim = 0; dim < rank; ++dim) order.push_back(dim);
  Array array;
  array.element_bytes = tensor.element_bytes;
  for (const std::size_t dim : order) array.shape.push_back(along[dim].size());
  const std::uint64_t places = element_count(array.shape);
  array.cells.reserve(places);
  std::vector<Along> at(rank);  // by logical dimension
  for (std::uint64_t place = 0; place < places; ++place) {
    std::uint64_t rest = place;
    for (std::size_t i = rank; i-- > 0; rest /= array.shape[i]) at[order[i]] = along[order[i]][rest % array.shape[i]];
    Cell cell{static_cast<std::int32_t>(number), 0, false};
    for (std::size_t dim = 0; dim < rank; ++dim) {
      if (at[dim].index == nothing) cell.tensor = -1;
      cell.index = cell.index * static_cast<std::uint32_t>(tensor.shape[dim]) +
                   static_cast<std::uint32_t>(std::max<std::int64_t>(at[dim].index, 0));
      cell.is_fill = cell.is_fill || at[dim].is_fill;
    }
    array.cells.push_back(cell.tensor < 0 ? Cell{} : cell);
  }
  if (keys.flat) flatten(layout.mesh, *keys.flat, coordinates, array);
  return array;
}

std::vector<Card> spread(const Layout& layout, const std::vector<Tensor>& tensors) {
  std::vector<Card> cards(positions(layout.mesh));
  for (std::uint64_t position = 0; position < cards.size(); ++position) {
    const Numbers here = coordinates(layout.mesh, position);
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (!layout.keys[t] || !is_held(*layout.keys[t], layout.mesh, here)) continue;
      const auto name = stored_name(layout, tensors[t], here);
      if (name) add(cards[position], *name, piece(layout, tensors[t], t, *layout.keys[t], here));
    }
    for (const Bucket& bucket : layout.buckets)
      if (is_at(bucket.at, here)) add_bucket(layout, bucket, tensors, here, cards[position]);
  }
  check_cover(cards, tensors);
  return cards;
}

}  // namespace model
