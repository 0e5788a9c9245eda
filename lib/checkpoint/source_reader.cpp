#include "checkpoint/source_reader.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/interrupt.hpp"
#include "checkpoint/averaged_files.hpp"

namespace ckpt {

namespace {

constexpr std::uint32_t absent = ~std::uint32_t{0};

/// Direct I/O leaves 1 / least_windows of the windows: little is mapped then.
constexpr std::uint64_t least_windows = 4;

/// Threads need several smaller chunks at a time anyway, and find their own.
constexpr std::uint64_t large_chunk = 4ULL << 20;

/// Returns whether each chunk is a run of the array's elements. A row crosses several chunks of any other form.
bool has_chunks_of_rows(const Schema& schema, std::size_t dataset) {
  const Shape& shape = (*schema.arrays)[dataset].shape;
  const auto& chunk = schema.datasets[dataset].chunk;
  if (!chunk || numel(*chunk) * (*schema.arrays)[dataset].dtype.size != schema.datasets[dataset].chunk_bytes)
    return false;
  for (std::size_t d = 1; d < shape.size(); ++d)
    if ((*chunk)[d] < shape[d]) return false;
  return true;
}

/// Whether most datasets are so small, and so many, that a page of the file holds several.
bool are_small(const std::vector<Dataset>& datasets) {
  constexpr std::size_t many = 64;
  constexpr std::uint64_t small = 2048;  // bytes, in the mean
  std::uint64_t bytes = 0;
  for (const Dataset& each : datasets) bytes += each.extents.bytes();
  return datasets.size() >= many && bytes / datasets.size() <= small;
}

/// Whether a row of an array goes through more chunks than memory for `bytes` holds.
bool needs_more_than(std::uint64_t bytes, const StoredArray& array, const Dataset& dataset) {
  std::uint64_t chunks = 1;
  for (std::size_t d = 1; d < array.shape.size() && chunks <= bytes; ++d)
    chunks *= ceil_div(array.shape[d], (*dataset.chunk)[d]);
  return chunks > bytes / DecodedChunks::room_of(dataset.chunk_bytes);
}

}  // namespace

SourceReader::SourceReader(const Checkpoint& checkpoint, const Placement& placement, SourceStore& store,
                           std::uint64_t window_bytes, std::size_t most_open)
    : checkpoint_(checkpoint),
      placement_(placement),
      store_(store),
      where_(placement),
      window_bytes_(window_bytes),
      files_(checkpoint, store, most_open) {
  windows_.emplace(window_bytes);
  for (const FileCatalog& file : checkpoint.files()) {
    for (const Dataset& each : file.schema->datasets) data_bytes_ += each.extents.bytes();
    const auto [known, is_new] = known_.try_emplace(file.schema.get());
    if (!is_new) continue;
    known->second.has_small_arrays = are_small(file.schema->datasets);
    for (ArrayId array = 0; array < placement.arrays().size(); ++array) {
      const std::size_t found = file.schema->find(where_.name(array));
      known->second.datasets.push_back(found < file.schema->datasets.size() ? static_cast<std::uint32_t>(found)
                                                                            : absent);
    }
  }
}

std::optional<std::size_t> SourceReader::dataset(Position card, ArrayId array) const {
  return dataset_in(known_.at(checkpoint_.file(where_.file(card, array)).schema.get()), array);
}

std::optional<std::size_t> SourceReader::dataset_in(const Known& known, ArrayId array) {
  const std::uint32_t found = known.datasets[array];
  if (found == absent) return std::nullopt;
  return found;
}

StoredSample SourceReader::sample(Position card, ArrayId array) {
  const FileNumber file = where_.file(card, array);
  return stored_sample(*files_.get(file), *checkpoint_.file(file).schema, *dataset(card, array));
}

GatherResult SourceReader::read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch,
                                std::optional<KeySets> sums, StoredSums* stored) {
  check_interrupt();
  const FileNumber number = where_.file(transfer.card, transfer.array);
  const Schema& schema = *checkpoint_.file(number).schema;
  const Known& known = known_.at(&schema);
  const auto index = dataset_in(known, transfer.array);
  if (!index)
    throw Error(Kind::input, checkpoint_.place(transfer.card, placement_.arrays()[transfer.array].name),
                {"a dataset that the layout needs is absent", "", "this is a defect of the program"});
  std::optional<Summing> summing;
  if (sums)
    summing = transfer.place.is_linked
                  ? Summing{transfer.place.strides, *sums, transfer.place.first}
                  : Summing{row_major_strides(placement_.tensors()[transfer.parameter].shape), *sums};
  const Summing* const how = summing ? &*summing : nullptr;
  if (const AveragedFiles* const averages = checkpoint_.averaged())
    if (const auto made = averages->read(number, *index, transfer, target, how)) return *made;
  const auto file = files_.get(number);
  GatherContext context{*windows_, {files_.blocks(), number}, stored};
  // Files take turns: a window that is unmapped before the next run costs more than reading.
  context.has_small_arrays = data_bytes_ <= windows_->budget() && known.has_small_arrays;
  const StoredArray& array = (*schema.arrays)[*index];
  if (const Dataset& decoded = schema.datasets[*index]; decoded.chunk_bytes > 0 && decoded.chunk &&
                                                        store_.chunks() != nullptr &&
                                                        needs_more_than(store_.chunks()->budget(), array, decoded))
    context.grid.emplace(Shape(array.shape), *decoded.chunk);
  return gather(*file, *index, transfer, how, target, scratch, context);
}

std::uint64_t SourceReader::direct_blocks(std::uint64_t spare_bytes, const std::vector<FileNumber>& files) {
  const std::uint64_t windows = window_bytes_ / least_windows;
  const std::uint64_t bytes = files_.direct_blocks(spare_bytes + window_bytes_ - windows, files);
  return std::max(bytes + windows, window_bytes_) - window_bytes_;
}

std::uint64_t SourceReader::read_with_direct_io(std::uint64_t spare_bytes, const std::vector<FileNumber>& files) {
  const std::uint64_t windows = window_bytes_ / least_windows;
  const std::uint64_t bytes = files_.read_with_direct_io(spare_bytes + window_bytes_ - windows, files);
  if (bytes == 0) return 0;
  windows_.emplace(windows);
  return std::max(bytes + windows, window_bytes_) - window_bytes_;
}

void SourceReader::read_buffered() {
  if (files_.blocks() == nullptr) return;
  files_.read_buffered();
  windows_.emplace(window_bytes_);
}

void SourceReader::read_ahead(const Transfer& transfer, Lease& lease) {
  const auto index = dataset(transfer.card, transfer.array);
  if (files_.blocks() == nullptr || !index) return;
  const FileNumber file = where_.file(transfer.card, transfer.array);
  if (const auto stored = stored_span(*files_.get(file), *index, transfer))
    files_.read_ahead(file, *index, stored->bytes, lease);
}

std::optional<StoredRun> SourceReader::stored_run(const Transfer& transfer) {
  const auto index = dataset(transfer.card, transfer.array);
  if (!index || checkpoint_.averaged() != nullptr) return std::nullopt;
  const FileNumber number = where_.file(transfer.card, transfer.array);
  const bool is_raw = checkpoint_.file(number).schema->datasets[*index].storage == Storage::raw;
  if (is_raw && transfer.copy().depth != 0) return std::nullopt;  // mostly: no file needs to be open for that
  StoredRun run{files_.get(number), {}, 0, 0};
  const auto span = stored_span(*run.file, *index, transfer);
  if (!span || !span->is_run || span->bytes.empty()) return std::nullopt;
  const auto located = run.file->located(*index, span->bytes.lo);
  if (!located || span->bytes.hi > located->extent.start + located->extent.bytes) return std::nullopt;
  run.located = located->file;
  run.offset = located->extent.offset + (span->bytes.lo - located->extent.start);
  run.bytes = span->bytes.size();
  return run;
}

std::size_t SourceReader::decoded_at_once() const {
  const DecodedChunks* const chunks = store_.chunks();
  std::uint64_t most = 0;
  for (const auto& [schema, known] : known_)
    for (std::size_t i = 0; i < schema->datasets.size(); ++i)
      if (schema->datasets[i].chunk_bytes > large_chunk && has_chunks_of_rows(*schema, i))
        most = std::max(most, schema->datasets[i].decoding_bytes);
  if (chunks == nullptr || most == 0 || checkpoint_.averaged() != nullptr)
    return 1;  // an average reads several at once
  return static_cast<std::size_t>(chunks->budget() / DecodedChunks::room_of(most));
}

std::optional<SourceChunk> SourceReader::decodes(const Transfer& transfer) const {
  const auto index = dataset(transfer.card, transfer.array);
  if (!index) return std::nullopt;
  const FileNumber file = where_.file(transfer.card, transfer.array);
  const Schema& schema = *checkpoint_.file(file).schema;
  const std::uint64_t bytes = schema.datasets[*index].chunk_bytes;
  if (bytes == 0 || !has_chunks_of_rows(schema, *index)) return std::nullopt;
  return SourceChunk{file, *index, transfer.source.offset * transfer.element / bytes};
}

bool SourceReader::will_need(Position card, ArrayId array, Interval bytes) {
  const auto index = dataset(card, array);
  return !index || files_.get(where_.file(card, array))->will_need(*index, bytes);
}

void SourceReader::read_box(ParameterId parameter, const Box& box, std::span<std::byte> out,
                            std::span<std::byte> scratch) {
  const std::uint64_t element = placement_.tensors()[parameter].dtype.size;
  const Shape strides = row_major_strides(box.shape());
  placement_.for_each_shard(parameter, box, [&](Position first, const Region& region) {
    const Position card = placement_.counted_card(parameter, first);
    std::uint64_t offset = 0;
    for (std::size_t d = 0; d < box.rank(); ++d) offset += (region.box.lo[d] - box.lo[d]) * strides[d];
    const Transfer transfer{.card = card,
                            .array = placement_.array_of(parameter),
                            .parameter = parameter,
                            .element = element,
                            .source = region,
                            .target_strides = strides};
    read(transfer, out.subspan(offset * element).data(), scratch);
  });
}

}  // namespace ckpt
