#include "engine/file_workload.hpp"

#include <chrono>

namespace ckpt {

namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

FileWorkload::FileWorkload(const Planner& planner, const Readers& readers, SourceReader& source, TargetFiles& target,
                           ChunkSequence chunks, std::uint32_t process, Counters& counters, ContentSums* sums,
                           Journal* journal)
    : planner_(planner),
      readers_(readers),
      source_(source),
      target_(target),
      chunks_(std::move(chunks)),
      process_(process),
      counters_(counters),
      sums_(sums),
      journal_(journal),
      target_of_(planner.source().tensors().size()) {
  for (ParameterId p = 0; p < planner.target().tensors().size(); ++p) target_of_[planner.source_of(p)] = p;
}

PartialSum FileWorkload::read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) {
  const std::uint64_t start = now_ns();
  const Gathered gathered =
      source_.read(transfer, target, scratch, sums_ != nullptr ? std::optional(KeySets::low) : std::nullopt);
  counters_.bytes_read += gathered.bytes_read;
  read_ns_ += now_ns() - start;
  return sums_ != nullptr ? sums_->key(target_of_[transfer.parameter]) * gathered.sum : PartialSum{};
}

void FileWorkload::write(const Chunk& chunk, std::span<const std::byte> bytes, const PartialSum& read) {
  const std::uint64_t start = now_ns();
  if (sums_ != nullptr) check(chunk, bytes, read);
  target_.write(chunk, bytes);
  if (journal_ != nullptr) journal_->note({chunk.card, chunk.array, chunk.elements, read}, bytes.size());
  counters_.bytes_written += bytes.size();
  write_ns_ += now_ns() - start;
}

void FileWorkload::check(const Chunk& chunk, std::span<const std::byte> bytes, const PartialSum& read) const {
  const ChunkSums found = sums_->of(chunk, bytes);
  if (found.all == read) return sums_->add(found);
  const Placement& target = planner_.target();
  std::vector<std::string> parts;
  target.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region& region) {
    parts.push_back("'" + target.tensors()[parameter].name + "' " + to_string(region.box));
  });
  throw Error(Kind::io,
              target.layout().files.path(target.mesh(), chunk.card) + ": /" + target.arrays()[chunk.array].name,
              {"the bytes to be written are not those that were read, in parameter " + join(parts),
               "equal fingerprints on both sides",
               "nothing is published; run it again: if it comes again the program is wrong, else the machine is"});
}

}  // namespace ckpt
