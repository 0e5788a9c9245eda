#include "checkpoint/content_sums.hpp"

#include <cstring>

#include "base/buffer.hpp"
#include "base/error.hpp"
#include "base/prefetcher.hpp"
#include "base/workers.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

const std::byte* first_of(const Region& region, const Chunk& chunk, std::uint64_t element, const std::byte* bytes) {
  return bytes + (region.offset - chunk.elements.lo) * element;
}

}  // namespace

std::vector<PartialSum> added_up(const std::vector<PartialSum>& mine, Communicator& processes) {
  // Each process adds up its share.
  const auto size = static_cast<std::size_t>(processes.size());
  std::vector<std::vector<PartialSum>> to_peer(size);
  for (std::size_t i = 0; i < mine.size(); ++i) to_peer[i % size].push_back(mine[i]);
  std::vector<PartialSum> share;
  for (const auto& part : exchange_values(std::move(to_peer), processes)) {
    share.resize(part.size());
    for (std::size_t i = 0; i < share.size(); ++i) share[i] += part[i];
  }
  const auto shares = gather_all(share, processes);
  std::vector<PartialSum> all;
  for (std::size_t i = 0; i < mine.size(); ++i) all.push_back(shares[i % size][i / size]);
  return all;
}

ContentSums::ContentSums(const Placement& placement, bool every_copy)
    : placement_(placement), where_(placement), every_copy_(every_copy), parameters_(placement.tensors().size()) {
  keys_.reserve(placement.tensors().size());
  for (const Tensor& tensor : placement.tensors()) keys_.emplace_back(tensor.name);
}

ChunkSums ContentSums::of(const Chunk& chunk, std::span<const std::byte> bytes) const {
  const std::uint64_t element = placement_.arrays()[chunk.array].dtype.size;
  ChunkSums sums;
  sums.card = chunk.card;
  sums.in = where_.file(chunk.card, chunk.array);
  placement_.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region& region) {
    const PartialSum sum = sum_of(region, element, first_of(region, chunk, element, bytes.data()),
                                  row_major_strides(placement_.tensors()[parameter].shape));
    sums.all += keys_[parameter] * sum;
    if (region.fill) return;
    sums.file += keys_[parameter] * sum;
    sums.parameters.emplace_back(parameter, sum);
  });
  sums.all.high = 0;
  if (sums.file.bytes < bytes.size()) add_padding(chunk, bytes, sums);
  return sums;
}

void ContentSums::add(const ChunkSums& chunk) {
  const std::lock_guard lock(mutex_);
  files_[chunk.in] += chunk.file;
  for (const auto& [parameter, sum] : chunk.parameters) {
    if (placement_.is_of_first_copy(parameter, chunk.card)) parameters_[parameter] += sum;
    if (every_copy_) copies_[{parameter, placement_.base_of(parameter, chunk.card)}] += sum;
  }
}

/// The sum of a stored array's padding, by its place in the array: the sum of all elements less that of the data.
/// Padding must be zeros where it repeats no element.
void ContentSums::add_padding(const Chunk& chunk, std::span<const std::byte> bytes, ChunkSums& sums) const {
  const ArrayPlace& place = placement_.arrays()[chunk.array];
  const std::uint64_t element = place.dtype.size;
  PartialSum rest = sum_of(bytes, chunk.elements.lo * element);
  PartialSum repeated;
  placement_.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId, const Region& region) {
    const PartialSum sum = sum_of(region.box.shape(), element, first_of(region, chunk, element, bytes.data()),
                                  region.strides, region.offset, region.strides);
    if (region.fill)
      repeated += sum;
    else
      rest = rest - sum;
  });
  sums.file += NameKey(place.name + " (padding)") * rest;
  sums.has_clean_padding = rest.low == repeated.low && rest.high == repeated.high;
}

void ContentSums::add_verbatim(ParameterId parameter, Position card, const PartialSum& sum) {
  const FileNumber file = where_.file(card, placement_.array_of(parameter));
  add(ChunkSums{card, file, {}, keys_[parameter] * sum, {{parameter, sum}}, true});
}

void ContentSums::add_metadata(FileNumber file, const PartialSum& sum) {
  const std::lock_guard lock(mutex_);
  files_[file] += NameKey("(metadata)") * sum;
}

void ContentSums::send_to_owners(const std::function<std::uint32_t(FileNumber)>& owner, Communicator& processes) {
  if (processes.size() == 1) return;
  std::vector<std::map<FileNumber, PartialSum>> to_peer(static_cast<std::size_t>(processes.size()));
  for (const auto& [file, sum] : files_) to_peer[owner(file)].emplace(file, sum);
  files_.clear();
  for (const auto& theirs : exchange_values(std::move(to_peer), processes))
    for (const auto& [file, sum] : theirs) files_[file] += sum;
}

Fingerprint ContentSums::of_file(FileNumber file) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(file);
  return fingerprint(found == files_.end() ? PartialSum{} : found->second, "file");
}

std::vector<Fingerprint> ContentSums::of_parameters(Communicator& processes) const {
  const auto all = added_up(parameters_, processes);
  std::vector<Fingerprint> fingerprints;
  agree(processes, [&] {
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      const Tensor& tensor = placement_.tensors()[p];
      const PartialSum& sum = all[p];
      if (!tensor.verbatim && sum.bytes != tensor.bytes())
        throw Error(Kind::io, "parameter '" + tensor.name + "'",
                    {std::to_string(sum.bytes) + " bytes of it were written", std::to_string(tensor.bytes()),
                     "this is a defect of the program"});
      fingerprints.push_back(fingerprint(sum, describe_tensor(tensor.name, tensor.dtype.name, tensor.shape)));
    }
  });
  return fingerprints;
}

void sum_chunks(ChunkSequence chunks, unsigned threads, const ReadChunk& read, ContentSums& sums,
                const PrefetchCallbacks& ahead) {
  Prefetcher<Chunk> dealer({[&] { return chunks.next(); }, ahead.has_room, ahead.begin});
  Workers workers(threads);
  TaskGroup tasks(workers);
  for (unsigned i = 0; i < threads; ++i)
    tasks.run([&] {
      Buffer buffer;
      for (;;) {
        const auto [chunk, held] = dealer.next();
        if (!chunk) return;
        if (chunk->bytes > buffer.size()) buffer = Buffer(chunk->bytes);
        const auto bytes = buffer.first(chunk->bytes);
        if (read(*chunk, bytes)) sums.add(sums.of(*chunk, bytes));
      }
    });
  tasks.wait();
}

void sum_chunks(ChunkSequence chunks, unsigned threads, const ReadChunk& read, ContentSums& sums) {
  sum_chunks(std::move(chunks), threads, read, sums, {[] { return false; }, [](const Chunk&, Lease&) {}});
}

}  // namespace ckpt
