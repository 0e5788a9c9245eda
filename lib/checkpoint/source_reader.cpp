#include "checkpoint/source_reader.hpp"

#include <algorithm>

#include "base/interrupt.hpp"
#include "base/limits.hpp"

namespace ckpt {

namespace {

constexpr std::uint32_t absent = ~std::uint32_t{0};

}  // namespace

SourceReader::SourceReader(const Checkpoint& checkpoint, const Placement& placement, SourceStore& store,
                           std::uint64_t window_bytes, std::size_t most_open)
    : checkpoint_(checkpoint),
      placement_(placement),
      where_(placement),
      files_(most_open,
             [this, &store](FileNumber file) -> std::shared_ptr<SourceFile> {
               return store.open(checkpoint_.file_path(file), checkpoint_.file(file));
             }),
      windows_(window_bytes) {
  for (const FileCatalog& file : checkpoint.files()) {
    const auto [known, is_new] = datasets_.try_emplace(file.schema.get());
    if (!is_new) continue;
    for (ArrayId array = 0; array < placement.arrays().size(); ++array) {
      const std::size_t found = file.schema->find(where_.name(array));
      known->second.push_back(found < file.schema->datasets.size() ? static_cast<std::uint32_t>(found) : absent);
    }
  }
}

std::optional<std::size_t> SourceReader::dataset(Position card, ArrayId array) const {
  const std::uint32_t found = datasets_.at(checkpoint_.file(where_.file(card, array)).schema.get())[array];
  if (found == absent) return std::nullopt;
  return found;
}

StoredSample SourceReader::sample(Position card, ArrayId array) {
  const FileNumber file = where_.file(card, array);
  return stored_sample(*files_.get(file), *checkpoint_.file(file).schema, *dataset(card, array));
}

Gathered SourceReader::read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch,
                            std::optional<KeySets> sums) {
  check_interrupt();
  const auto index = dataset(transfer.card, transfer.array);
  if (!index)
    throw Error(Kind::input, checkpoint_.place(transfer.card, placement_.arrays()[transfer.array].name),
                {"a dataset that the layout needs is absent", "", "this is a defect of the program"});
  const auto file = files_.get(where_.file(transfer.card, transfer.array));
  if (!sums) return gather(*file, *index, transfer, nullptr, target, scratch, {windows_, blocks_.get()});
  const Summing summing{row_major_strides(placement_.tensors()[transfer.parameter].shape), *sums};
  return gather(*file, *index, transfer, &summing, target, scratch, {windows_, blocks_.get()});
}

std::uint64_t SourceReader::read_past_memory(std::uint64_t memory_bytes) {
  const bool has_addresses = addresses_left() / 2 >= memory_bytes;  // where these are limited, all else needs them
  if (memory_bytes < DirectBlocks::least_memory || !has_addresses || !is_cold()) return 0;
  blocks_ = std::make_unique<DirectBlocks>(memory_bytes, checkpoint_.files().size());
  return blocks_->memory_bytes();
}

bool SourceReader::is_cold() {
  constexpr std::uint64_t most_files = 32;
  constexpr std::uint64_t most_bytes = 4ULL << 20;
  std::uint64_t looked_at = 0;
  std::uint64_t cold = 0;
  const std::uint64_t files = checkpoint_.files().size();
  for (FileNumber number = 0; number < files; number += std::max<std::uint64_t>(1, files / most_files)) {
    const std::vector<Dataset>& datasets = checkpoint_.file(number).schema->datasets;
    const auto largest = std::max_element(datasets.begin(), datasets.end(), [](const Dataset& a, const Dataset& b) {
      return a.extents.bytes() < b.extents.bytes();
    });
    if (largest == datasets.end() || largest->extents.bytes() == 0) continue;
    const auto file = files_.get(number);
    const auto located = file->located(static_cast<std::size_t>(largest - datasets.begin()), 0);
    if (!located) continue;
    ++looked_at;
    if (!is_in_memory(located->file.fd, located->extent.offset, std::min(located->extent.bytes, most_bytes))) ++cold;
  }
  return cold * 2 > looked_at;
}

void SourceReader::read_ahead(const Transfer& transfer, DirectBlocks::Lease& lease) {
  const auto index = dataset(transfer.card, transfer.array);
  if (!blocks_ || !index) return;
  const auto file = files_.get(where_.file(transfer.card, transfer.array));
  auto span = stored_span(*file, *index, transfer);
  if (!span || span->size() > blocks_->memory_bytes() / 4) return;
  while (!span->empty()) {
    const auto located = file->located(*index, span->lo);
    if (!located) return;
    const std::uint64_t end = std::min(span->hi, located->extent.start + located->extent.bytes);
    const std::uint64_t place = located->extent.offset + (span->lo - located->extent.start);
    blocks_->want(located->file, {place, place + (end - span->lo)}, lease);
    span->lo = end;
  }
}

void SourceReader::will_need(Position card, ArrayId array, Interval bytes) {
  if (const auto index = dataset(card, array)) files_.get(where_.file(card, array))->will_need(*index, bytes);
}

void SourceReader::read_box(ParameterId parameter, const Box& box, std::span<std::byte> out,
                            std::span<std::byte> scratch) {
  const std::uint64_t element = placement_.tensors()[parameter].dtype.size;
  const Extents strides = row_major_strides(box.shape());
  placement_.for_each_shard(parameter, box, [&](Position first, const Region& region) {
    const Position card = placement_.counted_card(parameter, first);
    std::uint64_t offset = 0;
    for (std::size_t d = 0; d < box.rank(); ++d) offset += (region.box.lo[d] - box.lo[d]) * strides[d];
    const Transfer transfer{card, placement_.array_of(parameter), parameter, element, region, 0, strides};
    read(transfer, out.subspan(offset * element).data(), scratch);
  });
}

}  // namespace ckpt
