#include "output/file_workload.hpp"

#include <chrono>
#include <utility>

namespace ckpt {

namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

FileWorkload::FileWorkload(const FileMove& move, ChunkSequence chunks)
    : move_(move), chunks_(std::move(chunks)), target_of_(move.planner.source().tensors().size()) {
  for (ParameterId p = 0; p < move.planner.target().tensors().size(); ++p) target_of_[move.planner.source_of(p)] = p;
}

PartialSum FileWorkload::read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) {
  const std::uint64_t start = now_ns();
  const Gathered gathered =
      move_.source.read(transfer, target, scratch, move_.sums != nullptr ? std::optional(KeySets::low) : std::nullopt);
  move_.traffic.bytes_read += gathered.bytes_read;
  read_ns_ += now_ns() - start;
  return move_.sums != nullptr ? move_.sums->key(target_of_[transfer.parameter]) * gathered.sum : PartialSum{};
}

std::optional<Chunk> FileWorkload::next() {
  return ahead_ ? std::exchange(ahead_, std::nullopt) : chunks_.next();
}

Stretch FileWorkload::next_stretch(std::uint64_t bytes) {
  const auto first = next();
  if (!first) return {};
  Stretch stretch{{*first}, {0}, first->bytes};
  const std::uint64_t start = move_.target.place_of(*first);
  while ((ahead_ = chunks_.next()) && move_.target.are_neighbours(stretch.chunks.back(), *ahead_)) {
    const std::uint64_t place = move_.target.place_of(*ahead_);
    if (place + ahead_->bytes - start > bytes) break;
    stretch.chunks.push_back(*ahead_);
    stretch.offsets.push_back(place - start);
    stretch.bytes = place + ahead_->bytes - start;
  }
  return stretch;
}

void FileWorkload::write(const Chunk& chunk, std::span<const std::byte> bytes, const PartialSum& read) {
  write_stretch({{chunk}, {0}, chunk.bytes}, bytes, {&read, 1});
}

void FileWorkload::write_stretch(const Stretch& stretch, std::span<const std::byte> bytes,
                                 std::span<const PartialSum> read) {
  const std::uint64_t start = now_ns();
  const auto of = [&](std::size_t i) { return bytes.subspan(stretch.offsets[i], stretch.chunks[i].bytes); };
  if (move_.sums != nullptr)
    for (std::size_t i = 0; i < stretch.chunks.size(); ++i) check(stretch.chunks[i], of(i), read[i]);
  move_.target.write(stretch.chunks.front(), bytes);
  for (std::size_t i = 0; i < stretch.chunks.size(); ++i) {
    const Chunk& chunk = stretch.chunks[i];
    if (move_.journal != nullptr) move_.journal->note({chunk.card, chunk.array, chunk.elements, read[i]}, chunk.bytes);
    move_.traffic.bytes_written += chunk.bytes;
  }
  write_ns_ += now_ns() - start;
}

void FileWorkload::check(const Chunk& chunk, std::span<const std::byte> bytes, const PartialSum& read) const {
  const ChunkSums found = move_.sums->of(chunk, bytes);
  if (found.all == read && found.has_clean_padding) return move_.sums->add(found);
  const Placement& target = move_.planner.target();
  std::vector<std::string> parts;
  target.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region& region) {
    parts.push_back("'" + target.tensors()[parameter].name + "' " + to_string(region.box));
  });
  throw Error(Kind::io, target.layout().files.place(target.mesh(), chunk.card, target.arrays()[chunk.array].name),
              {"the bytes to be written are not those that were read, in parameter " + join(parts),
               "equal fingerprints on both sides",
               "nothing is published; run it again: if it comes again the program is wrong, else the machine is"});
}

}  // namespace ckpt
