#include "tables/keyed/shuffle.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parallel.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

void ShuffleContext::write(const Chunk& run, std::span<const std::byte> bytes, std::uint32_t process) const {
  const Interval mine = intersect(run.elements, shares.of(process, run.card, run.array));
  if (mine.empty()) return;
  const std::uint64_t element = run.bytes / run.elements.size();
  for (const Interval& rest : finished.rest(run.card, run.array, mine)) {
    const Chunk chunk{run.card, run.array, rest, rest.size() * element};
    const auto data = bytes.subspan((rest.lo - run.elements.lo) * element, chunk.bytes);
    ChunkSums of_chunk;
    if (sums != nullptr) sums->add(of_chunk = sums->of(chunk, data));
    target.write(chunk, data);
    traffic.bytes_written += chunk.bytes;
    if (journal != nullptr) journal->note({chunk.card, chunk.array, rest, of_chunk.all}, chunk.bytes);
  }
}

void write_offsets(const std::vector<TableOffsets>& offsets, const ShuffleContext& context, Communicator& processes) {
  agree(processes, [&] {
    for (const TableOffsets& table : offsets)
      for (Position server = 0; server < table.of_server.size(); ++server) {
        const auto bytes = std::as_bytes(std::span(table.of_server[server]));
        context.write({server, table.array, {0, table.of_server[server].size()}, bytes.size()}, bytes,
                      static_cast<std::uint32_t>(processes.rank()));
      }
  });
}

TableShuffle::TableShuffle(const std::vector<TableMove>& moves, const ShuffleContext& context, Communicator& processes)
    : moves_(moves), context_(context), processes_(processes) {
  for (std::size_t move = 0; move < moves.size(); ++move) {
    sums_.emplace_back(moves[move].to.servers(), std::vector<PartialSum>(moves[move].table.parts.size()));
    for (std::size_t own = 0; own < moves[move].census.share.own.size(); ++own) tasks_.push_back({move, own});
  }
}

BatchPacker TableShuffle::take_packer() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return {};
  BatchPacker packer = std::move(spare_.back());
  spare_.pop_back();
  return packer;
}

void TableShuffle::move_batch(const Task& task, Messages& messages) {
  const TableMove& move = moves_[task.move];
  const TableShare& share = move.census.share;
  const Batch batch = share.batches[share.own[task.own_batch]];
  BatchPacker packer = take_packer();
  move.range ? move_range(task, packer, batch, messages) : move_packed(task, packer, batch, messages);
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(packer));
}

void TableShuffle::move_packed(const Task& task, BatchPacker& packer, const Batch& batch, Messages& messages) {
  const TableMove& move = moves_[task.move];
  const std::size_t part_count = move.table.parts.size();
  const PackedBatch packed =
      packer.pack({move.table, move.to, move.census.share.kept_in(task.own_batch), context_.sums != nullptr},
                  reader_of(move), batch);
  context_.traffic.bytes_read += packed.bytes_read;
  std::uint64_t begin = 0;
  for (std::uint64_t group = 0; group < move.to.count(); ++group) {
    const std::uint64_t end = packed.ends[group];
    if (begin == end) continue;
    Run run{task.move, move.to.server_of(group), move.census.start_of(task.own_batch, group), end - begin, {}, {}};
    std::vector<const std::byte*> parts;
    for (std::size_t p = 0; p < part_count; ++p) {
      run.read.push_back(context_.sums == nullptr ? PartialSum() : packed.read[p][group]);
      parts.push_back(packed.parts[p] + begin * move.table.parts[p].row_bytes());
    }
    begin = end;
    deliver(std::move(run), parts, messages);
  }
}

void TableShuffle::move_range(const Task& task, BatchPacker& packer, const Batch& batch, Messages& messages) {
  const TableMove& move = moves_[task.move];
  const std::vector<TablePart>& table = move.table.parts;
  const std::vector<const std::byte*> read = packer.read(move.table, reader_of(move), batch);
  context_.traffic.bytes_read += batch.rows.size() * move.table.row_bytes();
  for (const RowRun& rows : move.range->runs(batch.server, batch.rows)) {
    Run run{task.move, rows.server, rows.first, rows.rows.size(), {}, {}};
    std::vector<const std::byte*> parts;
    for (std::size_t p = 0; p < table.size(); ++p)
      parts.push_back(read[p] + (rows.rows.lo - batch.rows.lo) * table[p].row_bytes());
    deliver(std::move(run), parts, messages);
  }
}

std::vector<PartialSum> TableShuffle::sums_of(const Run& run, const std::vector<const std::byte*>& parts) const {
  std::vector<PartialSum> sums(parts.size());
  for (std::size_t p = 0; p < parts.size() && context_.sums != nullptr; ++p)
    moves_[run.move].table.parts[p].sums.add_all(parts.front(), parts[p], run.rows, sums[p]);
  return sums;
}

Interval TableShuffle::elements_of(const Run& run, std::size_t part) const {
  const std::uint64_t each = moves_[run.move].table.parts[part].row_elements;
  return {run.first * each, (run.first + run.rows) * each};
}

bool TableShuffle::is_needed_by(std::uint32_t process, const Run& run, std::size_t part) const {
  const Interval elements = elements_of(run, part);
  if (elements.empty()) return process == context_.shares.owner(run.server);
  return !intersect(elements, context_.shares.of(process, run.server, moves_[run.move].arrays[part])).empty();
}

/// The process that writes the run's first element counts it.
bool TableShuffle::is_counted_by(std::uint32_t process, const Run& run, std::size_t part) const {
  const Interval elements = elements_of(run, part);
  if (elements.empty()) return is_needed_by(process, run, part);
  const Interval share = context_.shares.of(process, run.server, moves_[run.move].arrays[part]);
  return share.lo <= elements.lo && elements.lo < share.hi;
}

/// Usually one process writes a whole run; at the border between two, both get the run that they write a part of, and
/// both check it.
void TableShuffle::deliver(Run run, const std::vector<const std::byte*>& parts, Messages& messages) {
  const StoredTable& table = moves_[run.move].table;
  for (const std::uint32_t process : context_.shares.writers(run.server)) {
    run.parts.clear();
    std::vector<const std::byte*> given;
    bool is_needed = false;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const bool is_written = is_needed_by(process, run, p);
      is_needed = is_needed || is_written;
      if (p != 0 && !is_written) continue;
      run.parts.push_back(p);
      given.push_back(parts[p]);
    }
    if (!is_needed) continue;
    if (process == static_cast<std::uint32_t>(processes_.rank())) {
      write(run, given);
      continue;
    }
    if (run.read.empty()) run.read = sums_of(run, parts);
    messages[process] += wire::packed(run);
    for (std::size_t i = 0; i < given.size(); ++i)
      messages[process].append(reinterpret_cast<const char*>(given[i]),
                               run.rows * table.parts[run.parts[i]].row_bytes());
  }
}

void TableShuffle::write(const Run& run, const std::vector<const std::byte*>& parts) {
  const StoredTable& table = moves_[run.move].table;
  const auto process = static_cast<std::uint32_t>(processes_.rank());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t p = run.parts[i];
    const std::uint64_t bytes = table.parts[p].row_bytes();
    if (context_.sums != nullptr) {
      PartialSum found;
      table.parts[p].sums.add_all(parts.front(), parts[i], run.rows, found);
      if (!run.read.empty() && !(found == run.read[p])) refuse(run, p);
      if (is_counted_by(process, run, p)) {
        const std::lock_guard lock(mutex_);
        sums_[run.move][run.server][p] += found;
      }
    }
    if (bytes != 0) write_part(run, p, {parts[i], static_cast<std::size_t>(run.rows * bytes)});
  }
}

void TableShuffle::write_part(const Run& run, std::size_t part, std::span<const std::byte> bytes) {
  const TableMove& move = moves_[run.move];
  context_.write({run.server, move.arrays[part], elements_of(run, part), bytes.size()}, bytes,
                 static_cast<std::uint32_t>(processes_.rank()));
}

/// Limits what arrives at a time, wherever the rows go: if all senders together would send too much to one writer, half
/// of them send first, and then the others. A single sender has no more than its batches.
void TableShuffle::send_and_write(Messages messages) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& message : messages) sizes.push_back(message.size());
  const std::vector<std::uint64_t> coming = exchange_values(std::move(sizes), processes_);  // from each process
  send_and_write(messages, {0, coming.size()}, coming);
}

void TableShuffle::send_and_write(Messages& messages, const Interval& senders, std::span<const std::uint64_t> coming) {
  const auto own = coming.subspan(senders.lo, senders.size());
  const std::uint64_t most = processes_.maximum(std::accumulate(own.begin(), own.end(), std::uint64_t{0}));
  if (senders.size() > 1 && most > context_.received_bytes) {
    const std::uint64_t middle = senders.lo + senders.size() / 2;
    send_and_write(messages, {senders.lo, middle}, coming);
    send_and_write(messages, {middle, senders.hi}, coming);
    return;
  }
  const auto process = static_cast<std::uint64_t>(processes_.rank());
  const bool sends = senders.lo <= process && process < senders.hi;
  Messages sent(coming.size());
  if (sends) sent.swap(messages);
  exchange_and_write(std::move(sent));
}

void TableShuffle::exchange_and_write(Messages messages) {
  struct ReceivedRun {
    Run run;
    std::vector<const std::byte*> parts;
  };
  for (const std::string& message : messages) context_.traffic.bytes_exchanged += message.size();
  const std::vector<std::string> received = processes_.all_to_all(std::move(messages));
  agree(processes_, [&] {
    std::vector<ReceivedRun> runs;
    for (const std::string& message : received)
      for (wire::Reader in(message, "rows of another process"); in.left() > 0;) {
        ReceivedRun next{in.take<Run>(), {}};
        const std::vector<TablePart>& parts = moves_.at(next.run.move).table.parts;
        for (const std::uint64_t part : next.run.parts)
          next.parts.push_back(
              reinterpret_cast<const std::byte*>(in.raw(next.run.rows * parts.at(part).row_bytes()).data()));
        runs.push_back(std::move(next));
      }
    for_each_in_parallel(context_.threads, runs.size(), [&](std::uint64_t n) { write(runs[n].run, runs[n].parts); });
  });
}

void TableShuffle::run() {
  const auto process_count = static_cast<std::size_t>(processes_.size());
  // A single process needs no rounds: each thread writes what it has read.
  const std::uint64_t each = process_count == 1 ? std::max<std::size_t>(tasks_.size(), 1) : context_.threads;
  const std::uint64_t rounds = processes_.maximum((tasks_.size() + each - 1) / each);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t begin = std::min<std::uint64_t>(round * each, tasks_.size());
    const std::uint64_t end = std::min<std::uint64_t>(begin + each, tasks_.size());
    std::vector<Messages> of_batch(end - begin, Messages(process_count));
    agree(processes_, [&] {
      for_each_in_parallel(context_.threads, end - begin,
                           [&](std::uint64_t n) { move_batch(tasks_[begin + n], of_batch[n]); });
    });
    if (process_count == 1) continue;
    Messages messages(process_count);
    for (Messages& batch : of_batch)
      for (std::size_t p = 0; p < process_count; ++p) messages[p] += std::exchange(batch[p], {});
    send_and_write(std::move(messages));
  }
}

TableShuffle::Sums TableShuffle::sums() {
  if (context_.sums == nullptr) return {};
  Sums all = sums_;
  for (auto& move : all)
    for (auto& server : move)
      for (PartialSum& sum : server) sum = {};
  for (const Sums& of_process : gather_all(sums_, processes_))
    for (std::size_t m = 0; m < all.size(); ++m)
      for (std::size_t s = 0; s < all[m].size(); ++s)
        for (std::size_t p = 0; p < all[m][s].size(); ++p) all[m][s][p] += of_process[m][s][p];
  agree(processes_, [&] {
    for (std::size_t m = 0; m < all.size(); ++m) {
      PartialSum keys;
      for (const auto& server : all[m]) keys += server.front();
      if (moves_[m].range) continue;  // no keys were counted
      const PartialSum& counted = moves_[m].census.keys;
      if (keys.low != counted.low || keys.high != counted.high)
        throw Error(Kind::io, "table '" + moves_[m].table.name + "'",
                    {"the keys that were written are not those that the census had counted",
                     "the same " + std::to_string(counted.bytes) + " keys",
                     "nothing is published; did a source file change meanwhile?"});
    }
  });
  return all;
}

void TableShuffle::refuse(const Run& run, std::size_t part) const {
  const TableMove& move = moves_[run.move];
  throw Error(Kind::io, "table '" + move.table.name + "'",
              {"rows of " + move.table.parts[part].name + " to be written to server " + std::to_string(run.server) +
                   " (rows " + std::to_string(run.first) + " to " + std::to_string(run.first + run.rows - 1) +
                   ") are not those that were read for these keys",
               "equal sums on both sides",
               "nothing is published; run it again: if it comes again the program is wrong, else the machine is"});
}

}  // namespace ckpt
