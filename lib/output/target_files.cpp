#include "output/target_files.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"
#include "base/heap.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/parallel.hpp"
#include "io/crc.hpp"
#include "output/dropped_names.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// The bytes that are read at a time for a checksum.
constexpr std::uint64_t summed_bytes = 1U << 18;

/// How often a file that is being filled is open at a time.
std::size_t times_open(const TargetPlace& place) {
  return 1U + (place.direct_io == DirectIo::off ? 0U : 1U) + (place.shares_blocks ? 1U : 0U);
}

}  // namespace

TargetFiles::TargetFiles(const Checkpoint& source, const Planner& planner, Store& store, const TargetPlace& place,
                         const WriteShares& shares, std::uint32_t process, std::size_t most_open)
    : source_(source),
      planner_(planner),
      store_(store),
      place_(place),
      shares_(shares),
      process_(process),
      cards_(shares.owned_by(process)),
      where_(planner.target()),
      trees_(source, planner.target(), store, place.keeps_trees, place.new_name),
      manifest_text_(place.is_single_file
                         ? provisional_manifest(planner.target(), place.fingerprints, place.tables, place.history)
                         : ""),
      manifest_bytes_(manifest_text_.size()),
      files_(ceil_div(most_open, times_open(place)), [this](FileNumber number) { return open(number); }) {
  for (const Position card : cards_)
    for (const FileNumber file : where_.table().owned_by(card)) numbers_.push_back(file);
}

std::shared_ptr<TargetFiles::OpenFile> TargetFiles::open(FileNumber number) {
  auto opened = std::make_shared<OpenFile>();
  opened->file = store_.open_to_fill(path(number), *rooms_.at(number));
  if (place_.direct_io != DirectIo::off) opened->direct.emplace(path(number));
  if (place_.shares_blocks) opened->to_clone.emplace(path(number));
  place_.output->check_held();
  if (place_.direct_io == DirectIo::on && opened->direct->is_refused())
    throw Error(Kind::io, path(number).string(),
                {"its file system refuses direct I/O", "one that has it", "leave out --direct-io on"});
  return opened;
}

void TargetFiles::hold_texts(SourceStore& reading, Communicator& processes) {
  const bool is_streamed =
      store_.traits().streams_texts && source_.is_shared() && place_.pipe == nullptr && place_.views == nullptr;
  if (processes.maximum(is_streamed ? 0 : 1) == 0) return;
  const std::vector<ArrayTexts> texts = long_texts(source_, planner_);
  if (texts.empty()) return;
  // First, as more memory would not help a format that has no texts.
  agree(processes, [&] { static_cast<void>(specs(blank_texts(texts)).losses(store_)); });
  std::exception_ptr refusal;  // the last one says what all need
  for (const ArrayTexts& each : texts) try {
      held_[each.dataset] = whole_texts(each.file, *each.dataset->texts, reading, processes);
    } catch (const Error& error) {
      if (error.text().advice.what != Advice::What::more_memory) throw;
      refusal = std::current_exception();
      held_.clear();
    }
  if (refusal) std::rethrow_exception(refusal);
}

/// Read by all processes, or by the first that sees the file.
Value TargetFiles::whole_texts(FileNumber file, const LongTexts& texts, SourceStore& reading, Communicator& processes) {
  const std::filesystem::path path = source_.file_path(file);
  Value value;
  int reader = processes.rank();
  if (!source_.is_shared()) {
    bool is_seen = false;
    agree(processes, [&] {
      const auto status = reading.look_at(path);
      is_seen =
          status && status->bytes == source_.file(file).bytes && status->modified_ns == source_.file(file).modified_ns;
    });
    const auto size = static_cast<std::uint64_t>(processes.size());
    const std::uint64_t bid = processes.maximum(is_seen ? size - static_cast<std::uint64_t>(processes.rank()) : 0);
    reader = static_cast<int>(size - std::max<std::uint64_t>(bid, 1));
  }
  agree(processes, [&] {
    if (reader == processes.rank()) value = reading.whole_texts({texts, path});
  });
  if (!source_.is_shared()) value.bytes = processes.broadcast(value.bytes, reader);
  value.dtype = texts.dtype;
  value.shape = texts.shape;
  return value;
}

FileSpecs TargetFiles::specs(const HeldTexts& held) const {
  return {source_,
          planner_,
          where_,
          manifest_text_,
          trees_,
          place_.dropped,
          place_.new_name,
          store_.index() != nullptr,
          held,
          place_.is_placed_as_source};
}

void TargetFiles::check_format() {
  specs_.emplace(source_, planner_, where_, manifest_text_, trees_, place_.dropped, place_.new_name,
                 store_.index() != nullptr, held_, place_.is_placed_as_source);
  held_.clear();
  warn_of_losses(*specs_, store_);
}

void TargetFiles::for_each_file(unsigned threads, const std::function<void(FileNumber)>& work) {
  for_each_in_parallel(threads, numbers_.size(), [&](std::uint64_t n) { work(numbers_[n]); });
}

void TargetFiles::create(bool is_resumed, unsigned threads, SourceStore& reading) {
  for_each_file(threads, [&](FileNumber file) {
    auto spec = specs_->of(file, trees_.of(file, reading));
    if (place_.is_single_file) std::string().swap(manifest_text_);  // the file has it now, and {} would keep the memory
    if (place_.views != nullptr) spec = place_.views->shown(file, *spec);
    const std::size_t entry = where_.table().entry(file);
    with_source_names([&](const std::string& stored) { return specs_->source_names(entry, stored); },
                      [&] { create_file(file, *spec, is_resumed); });
  });
  specs_->forget_last();
  return_freed_memory();
  if (place_.direct_io == DirectIo::on && !numbers_.empty()) files_.get(numbers_.front());  // refused before data moves
  if (place_.pipe != nullptr && !store_.traits().ends_with_manifest)  // the file's manifest must be known now
    set_manifest(manifest(planner_.target(), list(nullptr), {}, manifest_room(), place_.fingerprints, place_.tables, {},
                          place_.history));
}

Store::CreatedAgain TargetFiles::make_file(FileNumber file, const FileSpec& spec, bool is_resumed) {
  if (place_.pipe != nullptr) {
    const auto made = store_.form(spec);
    place_.pipe->begin(*made);
    return {made->room, false};
  }
  place_.output->check_held();
  if (!place_.is_single_file) std::filesystem::create_directories(path(file).parent_path());
  if (is_resumed) return store_.create_again(path(file), spec);
  return {store_.create(path(file), spec), false};
}

void TargetFiles::create_file(FileNumber file, const FileSpec& spec, bool is_resumed) {
  check_interrupt();
  auto [room, is_kept] = make_file(file, spec, is_resumed);
  // By array, so that `write` finds its place at once.
  std::vector<FileExtents> data(planner_.target().arrays().size());
  std::size_t next = 0;
  for (const ArrayId array : arrays_in(file)) data[array] = std::move(room.data.at(next++));
  room.data = std::move(data);
  auto made = std::make_shared<const FileRoom>(std::move(room));
  const std::lock_guard lock(making_);
  if (is_kept) kept_.insert(file);
  rooms_[file] = std::move(made);
}

std::vector<ArrayId> TargetFiles::arrays_in(FileNumber file) const {
  const Placement& target = planner_.target();
  const Position card = where_.table().owner(file);
  std::vector<ArrayId> arrays;
  for (ArrayId array = 0; array < target.arrays().size(); ++array)
    if (where_.file(card, array) == file && target.holds(card, array)) arrays.push_back(array);
  return arrays;
}

TargetFiles::SharedRoom TargetFiles::shared_room(FileNumber file) const {
  const FileRoom& room = *rooms_.at(file);
  SharedRoom shared{file, kept_.contains(file), room.is_in_order, {}};
  for (const FileExtents& extents : room.data) {
    std::vector<Interval> parts;
    extents.append_to(parts);
    auto& places = shared.data.emplace_back();
    for (const Interval& part : parts) places.emplace_back(part.lo, part.hi);
  }
  return shared;
}

void TargetFiles::share_rooms(Communicator& processes) {
  std::vector<std::vector<SharedRoom>> to_peer(shares_.processes());
  for (const Position card : cards_)
    for (const std::uint32_t peer : shares_.writers(card).subspan(1))
      for (const FileNumber file : where_.table().owned_by(card)) to_peer[peer].push_back(shared_room(file));
  for (auto& theirs : exchange_values(std::move(to_peer), processes))
    for (const SharedRoom& shared : theirs) {
      FileRoom room;
      room.is_in_order = shared.is_in_order;
      for (const auto& places : shared.data) {
        std::vector<Interval> parts;
        for (const auto& [lo, hi] : places) parts.push_back({lo, hi});
        room.data.emplace_back(parts);
      }
      if (shared.is_kept) kept_.insert(shared.file);
      rooms_[shared.file] = std::make_shared<const FileRoom>(std::move(room));
    }
}

ChunkSequence TargetFiles::chunks(std::uint64_t chunk_bytes, ChunkOrder order) const {
  ChunkSequence sequence(planner_.target(), shares_.written_by(process_), chunk_bytes, order);
  sequence.take_share(shares_, process_);
  return sequence;
}

void TargetFiles::cut_where_they_lie(ChunkSequence& chunks) const {
  chunks.take_places([this](Position card, ArrayId array, std::uint64_t byte) {
    return ChunkSequence::Place{where_.file(card, array), place_in_file(card, array, byte)};
  });
}

std::string TargetFiles::name(FileNumber file) const {
  const Placement& target = planner_.target();
  return target.layout().files.path(target.mesh(), where_.table().owner(file), where_.table().entry(file));
}

std::filesystem::path TargetFiles::path(FileNumber file) const {
  return place_.output->file(name(file));
}

Interval TargetFiles::bytes_of(const Chunk& chunk) const {
  const std::uint64_t element = planner_.target().arrays()[chunk.array].dtype.size;
  return {chunk.elements.lo * element, chunk.elements.hi * element};
}

std::vector<ArrayId> TargetFiles::order() const {
  std::vector<ArrayId> order(planner_.target().arrays().size());
  std::iota(order.begin(), order.end(), ArrayId{0});
  if (numbers_.empty()) return order;  // another process made the file
  const std::vector<FileExtents>& data = rooms_.at(numbers_.front())->data;
  std::stable_sort(order.begin(), order.end(),
                   [&](ArrayId a, ArrayId b) { return data[a].offset() < data[b].offset(); });
  return order;
}

std::uint64_t TargetFiles::place_of(const Chunk& chunk) const {
  return place_in_file(chunk.card, chunk.array, bytes_of(chunk).lo);
}

std::uint64_t TargetFiles::place_in_file(Position card, ArrayId array, std::uint64_t byte) const {
  const FileExtent extent = rooms_.at(where_.file(card, array))->data[array].at(byte);
  return extent.offset + (byte - extent.start);
}

bool TargetFiles::is_in_one_extent(const Chunk& chunk) const {
  const Interval bytes = bytes_of(chunk);
  const FileExtent extent = rooms_.at(file_of(chunk))->data[chunk.array].at(bytes.lo);
  return bytes.hi <= extent.start + extent.bytes;
}

bool TargetFiles::are_neighbours(const Chunk& first, const Chunk& second) const {
  const FileNumber file = file_of(first);
  if (first.card != second.card || file != file_of(second) || !is_in_one_extent(first) || !is_in_one_extent(second))
    return false;
  if (place_of(first) + first.bytes == place_of(second)) return true;
  if (!rooms_.at(file)->is_in_order) return false;
  if (first.array == second.array) return first.elements.hi == second.elements.lo;
  const Placement& target = planner_.target();
  if (first.array > second.array || second.elements.lo != 0 ||
      first.elements.hi != numel(target.stored_shape(first.array, first.card)))
    return false;
  const std::vector<FileExtents>& data = rooms_.at(file)->data;
  return std::all_of(data.begin() + first.array + 1, data.begin() + second.array,
                     [](const FileExtents& extents) { return extents.bytes() == 0; });
}

Interval TargetFiles::clone(const Chunk& chunk, std::uint64_t offset, const StoredRun& run) {
  check_interrupt();
  if (!is_in_one_extent(chunk)) return {};
  const std::uint64_t place = place_of(chunk) + offset;
  if (BlockClones::whole_blocks(run.offset, place, run.bytes).empty()) return {};
  const auto opened = files_.get(file_of(chunk));
  return clones_.clone(run.located, run.offset, *opened->to_clone, place, run.bytes);
}

void TargetFiles::write(const Chunk& chunk, std::span<const std::byte> bytes, std::span<const Interval> cloned) {
  check_interrupt();
  const auto file = place_.pipe == nullptr ? files_.get(file_of(chunk)) : nullptr;
  const auto put = [&](std::uint64_t place, std::span<const std::byte> part) {
    if (file == nullptr) return place_.pipe->write(place, part);
    const Interval done = file->direct ? file->direct->write(place, part) : Interval{};
    if (done.lo != 0) file->file->write(place, part.first(done.lo));
    if (done.hi != part.size()) file->file->write(place + done.hi, part.subspan(done.hi));
  };
  if (is_in_one_extent(chunk)) {
    const std::uint64_t place = place_of(chunk);
    std::uint64_t done = 0;
    const auto put_up_to = [&](std::uint64_t end) {
      if (done < end) put(place + done, bytes.subspan(done, end - done));
    };
    for (const Interval& there : cloned) {
      put_up_to(there.lo);
      done = there.hi;
    }
    return put_up_to(bytes.size());
  }
  const Interval whole = bytes_of(chunk);  // nothing follows the chunk: it has no neighbours
  rooms_.at(file_of(chunk))->data[chunk.array].for_each_part(whole, [&](std::uint64_t place, Interval part) {
    put(place, bytes.subspan(part.lo - whole.lo, part.size()));
  });
}

void TargetFiles::stop(std::exception_ptr why) noexcept {
  if (place_.pipe != nullptr) place_.pipe->stop(std::move(why));
}

void TargetFiles::read(const Chunk& chunk, std::span<std::byte> bytes) {
  check_interrupt();
  const auto opened = files_.get(file_of(chunk));
  const Interval whole = bytes_of(chunk);
  rooms_.at(file_of(chunk))->data[chunk.array].for_each_part(whole, [&](std::uint64_t place, Interval part) {
    opened->file->read(place, bytes.subspan(part.lo - whole.lo, part.size()));
  });
}

void TargetFiles::sum(const Chunk& chunk, std::span<const std::byte> bytes) {
  if (store_.index() != nullptr && store_.index()->has_sums())
    sums_.add(file_of(chunk), chunk.array, bytes_of(chunk), bytes);
}

std::uint32_t TargetFiles::sum_of_array(FileNumber file, ArrayId array) {
  const FileExtents& extents = rooms_.at(file)->data[array];
  return sums_.of(file, array, extents.bytes(), [&](Interval part) {
    std::vector<std::byte> window(std::min(part.size(), summed_bytes));
    std::uint32_t sum = 0;
    extents.for_each_part(part, [&](std::uint64_t place, Interval run) {
      for (std::uint64_t done = 0; done < run.size(); done += window.size()) {
        check_interrupt();
        const auto read = std::span(window).first(std::min<std::uint64_t>(window.size(), run.size() - done));
        files_.get(file)->file->read(place + done, read);
        sum = crc32c.of(read, sum);
      }
    });
    return sum;
  });
}

void TargetFiles::complete_sums(Communicator& processes) {
  if (store_.index() == nullptr || !store_.index()->has_sums()) return;
  sums_.send_to_owners([this](FileNumber file) { return owner(file); }, processes);
  agree(processes, [&] {
    for (const FileNumber file : numbers_)
      for (const ArrayId array : arrays_in(file)) index_sums_[file].push_back(sum_of_array(file, array));
  });
}

void TargetFiles::finish(unsigned threads) {
  for_each_file(threads, [&](FileNumber file) {
    if (!rooms_.at(file)->checksum) return;
    place_.output->check_held();
    store_.checksum()->write(path(file), *rooms_.at(file));
  });
}

void TargetFiles::sync(unsigned threads) {
  std::vector<FileNumber> files;
  for (const auto& [file, room] : rooms_) files.push_back(file);
  for_each_in_parallel(threads, files.size(), [&](std::uint64_t n) {
    check_interrupt();
    files_.get(files[n])->file->sync();
  });
}

void TargetFiles::add_the_rest(ContentSums& sums) const {
  for (const FileNumber file : numbers_) sums.add_metadata(file, rooms_.at(file)->metadata);
  add_values(sums);
}

void TargetFiles::add_values(ContentSums& sums) const {
  const Placement& target = planner_.target();
  for (ArrayId array = 0; array < target.arrays().size(); ++array) {
    const ArrayPlace& place = target.arrays()[array];
    const auto sum = place.verbatim ? specs_->sum_of_value(array) : std::nullopt;
    if (!sum) continue;
    for (const Position card : cards_)
      if (target.holds(card, array)) sums.add_verbatim(place.members.front(), card, *sum);
  }
}

void TargetFiles::sum_again(std::uint64_t chunk_bytes, unsigned threads, ContentSums& sums) {
  for (const auto& [number, room] : rooms_) {
    const auto opened = files_.get(number);
    opened->file->sync();
    opened->file->drop_cached();
    if (owner(number) == process_) sums.add_metadata(number, opened->file->sum_rest());
  }
  add_values(sums);  // they are in the metadata
  const auto read_chunk = [this](const Chunk& chunk, std::span<std::byte> bytes) {
    read(chunk, bytes);
    return true;
  };
  sum_chunks(chunks(chunk_bytes), threads, read_chunk, sums);
}

std::vector<ManifestFile> TargetFiles::list(const ContentSums* sums) const {
  std::vector<ManifestFile> list;
  for (const FileNumber file : numbers_)
    list.push_back({name(file), planner_.target().mesh().card(where_.table().owner(file)), rooms_.at(file)->bytes,
                    sums != nullptr ? to_string(sums->of_file(file)) : ""});
  return list;
}

std::vector<IndexedFile> TargetFiles::indexed() const {
  std::vector<IndexedFile> list;
  for (const FileNumber file : numbers_) {
    const auto sums = index_sums_.find(file);
    list.push_back(
        {name(file), rooms_.at(file)->index, sums == index_sums_.end() ? std::vector<std::uint32_t>{} : sums->second});
  }
  return list;
}

ManifestRoom TargetFiles::manifest_room() const {
  return {rooms_.at(numbers_.front())->manifest.value().lo, manifest_bytes_};
}

void TargetFiles::set_manifest(const std::string& text) {
  const Interval room = rooms_.at(numbers_.front())->manifest.value();
  const std::string bytes = store_.manifest_bytes(text);
  if (text.size() != manifest_bytes_ || bytes.size() != room.size())
    throw Error(
        Kind::io, "the output's manifest",
        {std::to_string(bytes.size()) + " bytes", std::to_string(room.size()), "this is a defect of the program"});
  if (place_.pipe != nullptr) return place_.pipe->set(room.lo, bytes);
  files_.get(numbers_.front())->file->write(room.lo, std::as_bytes(std::span(bytes)));
}

}  // namespace ckpt
