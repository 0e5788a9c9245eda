#include "output/file_workload.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/trace.hpp"

namespace ckpt {

namespace {

/// A usual chunk of 2 MiB in more transfers than these has few that are long enough to be cloned.
constexpr std::size_t most_transfers = 32;

}  // namespace

FileWorkload::FileWorkload(const FileMove& move, ChunkSequence chunks)
    : move_(move), chunks_(std::move(chunks)), is_in_crumbs_(move.planner.target().arrays().size()) {
  if (move_.may_compare_late) stored_sums_.emplace([this](const Transfer& each) { return is_read_through(each); });
}

bool FileWorkload::is_read_through(const Transfer& transfer) const {
  const Placement& source = move_.planner.source();
  const Interval stored{0, numel(source.stored_shape(transfer.array, transfer.card))};
  std::uint64_t covered = 0;  // not what is padding, or another's
  source.for_each_region_of(transfer.parameter, transfer.card, stored, [&](ParameterId, const Region& region) {
    if (!region.fill) covered += numel(region.box.shape());
  });
  if (covered != stored.size()) return false;
  const Placement& target = move_.planner.target();
  const Position card = target.first_base(transfer.target);
  const ArrayId array = target.array_of(transfer.target);
  const Shape& shape = target.tensors()[transfer.target].shape;
  const Shape in_order = row_major_strides(shape);
  const Interval all{0, numel(target.stored_shape(array, card))};
  if (transfer.place.is_linked || transfer.source.strides != in_order || move_.target.share(card, array) != all)
    return false;
  bool is_whole = false;
  target.for_each_region_of(transfer.target, card, all, [&](ParameterId, const Region& region) {
    is_whole = is_whole || (region.box == whole(shape) && region.strides == in_order);
  });
  return is_whole;
}

void FileWorkload::clone(Stretch& stretch) {
  if (!move_.target.shares_blocks()) return;
  const trace::Timed timed("write", write_ns_);
  for (const Chunk& chunk : stretch.chunks) {
    if (chunk.bytes < BlockClones::least_run || move_.casts.is_cast(chunk.array) || is_in_crumbs_[chunk.array])
      continue;
    std::optional<StoredRun> run;
    std::uint64_t place = 0;  // of the run in the chunk
    const auto share = [&] {
      if (!run) return;
      const Interval cloned = move_.target.clone(chunk, place, *run);
      if (!cloned.empty()) stretch.cloned.push_back({cloned.lo - stretch.place, cloned.hi - stretch.place});
      move_.traffic.bytes_cloned += cloned.size();
    };
    std::size_t transfers = 0;
    move_.planner.for_each_transfer(chunk, move_.process, [&](const Transfer& transfer) {
      if (++transfers > most_transfers) return;
      const auto next = move_.source.stored_run(transfer);
      // A run of whole rows and a part of one is two transfers.
      if (run && next && run->file == next->file && run->offset + run->bytes == next->offset &&
          place + run->bytes == transfer.target_offset) {
        run->bytes += next->bytes;
        return;
      }
      share();
      run = next;
      place = transfer.target_offset;
    });
    share();
    if (transfers > most_transfers) is_in_crumbs_[chunk.array] = true;
  }
  std::sort(stretch.cloned.begin(), stretch.cloned.end(),
            [](const Interval& a, const Interval& b) { return a.lo < b.lo; });
}

PartialSum FileWorkload::read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) {
  const trace::Timed timed("read", read_ns_);
  const GatherResult gathered =
      move_.source.read(transfer, target, scratch, move_.sums != nullptr ? std::optional(KeySets::low) : std::nullopt,
                        stored_sums_ ? &*stored_sums_ : nullptr);
  move_.traffic.bytes_read += gathered.bytes_read;
  return move_.sums != nullptr ? move_.sums->key(transfer.target) * gathered.sum : PartialSum{};
}

std::uint64_t FileWorkload::plan(const Chunk& chunk, const Planner::Visit& visit) const {
  const bool is_cast = move_.casts.is_cast(chunk.array);
  if (!is_cast && !move_.marks_first_copies) return move_.planner.for_each_transfer(chunk, move_.process, visit);
  std::uint64_t filled = 0;
  const std::uint64_t bytes = move_.planner.for_each_transfer(chunk, move_.process, [&](const Transfer& planned) {
    Transfer transfer = planned;
    if (is_cast) move_.casts.place(chunk, transfer.target, transfer);
    transfer.is_first_copy =
        move_.marks_first_copies && move_.planner.target().is_of_first_copy(transfer.target, chunk.card);
    filled += numel(transfer.source.box.shape());
    visit(transfer);
  });
  return is_cast ? filled * move_.casts.cells()[chunk.array] : bytes;
}

std::optional<SourceChunk> FileWorkload::decodes(const Chunk& chunk) const {
  std::optional<SourceChunk> first;
  bool is_of_one = true;  // else it needs chunks of several arrays at a time
  plan(chunk, [&](const Transfer& transfer) {
    const auto found = move_.source.decodes(transfer);
    is_of_one = is_of_one && (!first || (found && found->file == first->file && found->dataset == first->dataset));
    if (!first) first = found;
  });
  return is_of_one ? first : std::nullopt;
}

Chunk FileWorkload::stored(const Chunk& chunk) const {
  Chunk result = chunk;
  result.bytes = chunk.elements.size() * move_.planner.target().arrays()[chunk.array].dtype.size;
  return result;
}

Stretch FileWorkload::alone(const Chunk& chunk) const {
  return {{chunk}, {0}, chunk.bytes, move_.target.place_of(chunk)};
}

/// A stretch stays within one block of the file. Each chunk begins in memory no earlier than in the file, so that it
/// can be cast and moved there in order.
bool FileWorkload::extend(Stretch& stretch, const Chunk& next, std::uint64_t bytes) const {
  if (!move_.target.are_neighbours(stored(stretch.chunks.back()), next)) return false;
  const std::uint64_t place = move_.target.place_of(next);
  const std::uint64_t offset = std::max(stretch.bytes, place - stretch.place);
  const std::uint64_t block = chunks_.block_bytes();
  if (place / block != stretch.place / block || offset + next.bytes > bytes) return false;
  stretch.add(next, offset);
  return true;
}

void FileWorkload::write(const Chunk& chunk, std::span<std::byte> bytes, const PartialSum& read) {
  write_stretch(alone(chunk), bytes, {&read, 1});
}

void FileWorkload::write_stretch(const Stretch& stretch, std::span<std::byte> bytes, std::span<const PartialSum> read) {
  try {
    const std::vector<JournalRecord> records = settle(stretch, bytes, read);
    const trace::Timed timed("write", write_ns_);
    move_.target.write(stretch.chunks.front(), bytes, stretch.cloned);
    for (const Chunk& chunk : stretch.chunks) move_.traffic.bytes_written += stored(chunk).bytes;
    note(stretch, records);
  } catch (...) {
    stop();
    throw;
  }
}

void FileWorkload::note(const Stretch& stretch, const std::vector<JournalRecord>& records) {
  if (move_.journal == nullptr) return;
  const std::lock_guard lock(noting_);
  const std::uint64_t begun = stored_sums_ ? stored_sums_->begun() : 0;
  for (std::size_t i = 0; i < records.size(); ++i)
    waiting_.push_back({begun, records[i], stored(stretch.chunks[i]).bytes});
  const std::uint64_t compared = stored_sums_ ? stored_sums_->compared() : 0;
  for (; !waiting_.empty() && waiting_.front().begun <= compared; waiting_.pop_front())
    move_.journal->note(waiting_.front().record, waiting_.front().bytes);
}

void FileWorkload::finish(unsigned threads) {
  if (!stored_sums_) return;
  stored_sums_->finish(threads, [this](FileNumber file) { return move_.source.file(file); });
  note({}, {});
}

std::vector<JournalRecord> FileWorkload::settle(const Stretch& stretch, std::span<std::byte>& bytes,
                                                std::span<const PartialSum> read) {
  const trace::Timed timed("check", check_ns_);
  const std::uint64_t start = move_.target.place_of(stretch.chunks.front());
  std::vector<JournalRecord> records;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < stretch.chunks.size(); ++i) {
    const Chunk chunk = stored(stretch.chunks[i]);
    const std::byte* memory = bytes.data() + stretch.offsets[i];
    const std::uint64_t place = move_.target.place_of(chunk) - start;
    std::memset(bytes.data() + end, 0, place - end);
    end = place + chunk.bytes;
    PartialSum expected = read[i];
    expected.bytes += move_.planner.unlinked_bytes(chunk);  // zeros, which nobody reads
    if (move_.casts.is_cast(chunk.array)) {
      if (move_.sums != nullptr && !(sum_before_cast(chunk, memory) == expected)) refuse(chunk);
      cast(chunk, memory, bytes.data() + place);
    } else if (place != stretch.offsets[i]) {
      std::memmove(bytes.data() + place, memory, chunk.bytes);
    }
    move_.target.sum(chunk, bytes.subspan(place, chunk.bytes));
    if (move_.sums == nullptr) continue;
    const ChunkSums found = move_.sums->of(chunk, bytes.subspan(place, chunk.bytes));
    if (move_.casts.is_cast(chunk.array)) expected = found.all;
    if (!(found.all == expected) || !found.has_clean_padding) refuse(chunk);
    move_.sums->add(found);
    records.push_back({chunk.card, chunk.array, chunk.elements, expected});
  }
  bytes = bytes.first(end);
  return records;
}

PartialSum FileWorkload::sum_before_cast(const Chunk& chunk, const std::byte* memory) const {
  const Placement& target = move_.planner.target();
  PartialSum all;
  target.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region& region) {
    const ChunkCasts::Part part = move_.casts.part_of(chunk, parameter);
    const std::byte* first = memory + part.offset + (region.offset - part.elements.lo) * part.element;
    all += move_.sums->key(parameter) *
           sum_of(region, part.element, first, row_major_strides(target.tensors()[parameter].shape), KeySets::low);
  });
  return all;
}

void FileWorkload::cast(const Chunk& chunk, const std::byte* memory, std::byte* target) {
  const ChunkCasts::Overflows overflows = move_.casts.run(chunk, memory, target);
  if (overflows.empty()) return;
  const std::lock_guard lock(counting_);
  for (const auto& [parameter, count] : overflows) overflows_[parameter] += count;
}

void FileWorkload::refuse(const Chunk& chunk) const {
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
