#include "tables/keyed/batch_packer.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tables/keyed/table_share.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t read_bytes = 256ULL << 10;  // at a time: they stay in the second-level cache

/// `bytes`: of a row; a constant if the compiler should know it.
void put_rows(auto bytes, std::span<const std::uint32_t> slots, const std::byte* source, std::byte* target) {
  for (std::size_t row = 0; row < slots.size(); ++row)
    std::memcpy(target + slots[row] * bytes, source + row * bytes, bytes);
}

void grow(Buffer& buffer, std::uint64_t bytes) {
  if (buffer.size() >= bytes) return;
  buffer = {};
  buffer = Buffer(bytes);
}

}  // namespace

PackedBatch BatchPacker::pack(const PackOrder& order, TableReader& reader, const Batch& batch) {
  sort(order, reader, batch);
  grow(packed_, batch.rows.size() * order.table.row_bytes());
  PackedBatch packed{ends_, {}, {}, 0};
  std::byte* target = packed_.data();
  for (const TablePart& part : order.table.parts) {
    const bool is_keys = &part == &order.table.keys();
    packed.parts.push_back(target);
    packed.read.emplace_back(order.is_summed ? order.to.count() : 0);
    if (is_keys)
      put(part, {0, keys_.size()}, std::as_bytes(std::span(keys_)).data(), target, packed.read.back());
    else if (!keys_.empty())
      read_part(order, reader, batch, part, target, packed.read.back());
    if (is_keys || !keys_.empty()) packed.bytes_read += batch.rows.size() * part.row_bytes();
    target += keys_.size() * part.row_bytes();
  }
  return packed;
}

std::vector<const std::byte*> BatchPacker::read(const StoredTable& table, TableReader& reader, const Batch& batch) {
  grow(packed_, batch.rows.size() * table.row_bytes());
  std::vector<const std::byte*> parts;
  std::uint64_t at = 0;
  for (const TablePart& part : table.parts) {
    const std::uint64_t bytes = batch.rows.size() * part.row_bytes();
    const auto rows = std::span(packed_.data() + at, bytes);
    reader.read(part, batch.server, batch.rows.lo, rows);
    parts.push_back(rows.data());
    at += bytes;
  }
  return parts;
}

void BatchPacker::sort(const PackOrder& order, TableReader& reader, const Batch& batch) {
  auto rows = static_cast<std::size_t>(batch.rows.size());
  keys_.resize(rows);
  reader.read_keys(order.table, batch.server, batch.rows.lo, keys_);
  reader.read_placed(order.table, order.to.place(), batch.server, batch.rows.lo, keys_, groups_);
  if (!order.kept.empty()) {
    rows = keep_rows(order.kept, std::as_writable_bytes(std::span(keys_)), sizeof(std::uint64_t));
    keep_rows(order.kept, std::as_writable_bytes(std::span(groups_)), sizeof(std::uint64_t));
    keys_.resize(rows);
    groups_.resize(rows);
  }
  order.to.apply(groups_);
  ends_.assign(order.to.count() + 1, 0);
  for (const std::uint64_t group : groups_) {
    if (group >= order.to.count())
      throw Error(Kind::io, reader.describe(order.table.keys(), batch.server),
                  {"its keys changed while they were read", "", ""});
    ++ends_[group + 1];
  }
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  slots_.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) slots_[row] = static_cast<std::uint32_t>(ends_[groups_[row]]++);
  ends_.pop_back();  // the beginnings have become the ends
}

void BatchPacker::read_part(const PackOrder& order, TableReader& reader, const Batch& batch, const TablePart& part,
                            std::byte* target, std::span<PartialSum> read) {
  const std::uint64_t most = std::min(rows_in(read_bytes, part.row_bytes()), batch.rows.size());
  grow(piece_, most * part.row_bytes());
  std::uint64_t done = 0;  // number of the rows taken
  for (std::uint64_t first = 0; first < batch.rows.size(); first += most) {
    const std::uint64_t count = std::min(most, batch.rows.size() - first);
    const auto piece = piece_.first(count * part.row_bytes());
    reader.read(part, batch.server, batch.rows.lo + first, piece);
    const std::uint64_t taken =
        order.kept.empty() ? count : keep_rows(kept_among(order.kept, {first, first + count}), piece, part.row_bytes());
    put(part, {done, done + taken}, piece.data(), target, read);
    done += taken;
  }
}

void BatchPacker::put(const TablePart& part, const Interval& rows, const std::byte* source, std::byte* target,
                      std::span<PartialSum> read) const {
  const auto count = static_cast<std::size_t>(rows.size());
  const auto slots = std::span(slots_).subspan(rows.lo, count);
  constexpr std::integral_constant<std::size_t, sizeof(std::uint64_t)> key_bytes;
  if (part.row_bytes() == key_bytes)
    put_rows(key_bytes, slots, source, target);
  else
    put_rows(static_cast<std::size_t>(part.row_bytes()), slots, source, target);
  if (read.empty()) return;
  part.sums.add_each(reinterpret_cast<const std::byte*>(keys_.data() + rows.lo), source,
                     std::span(groups_).subspan(rows.lo, count), read);
}

}  // namespace ckpt
