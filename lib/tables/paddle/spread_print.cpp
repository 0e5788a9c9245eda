#include "tables/paddle/spread_print.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

// Quarters of the memory: what is read and its lines, lines that are written together, tails.
constexpr std::uint64_t shares = 4;
constexpr std::uint64_t most_batch_bytes = 8ULL << 20;  // for each thread, with its lines: they stay in the core's
                                                        // caches
constexpr std::uint64_t least_batch_bytes = 64ULL << 10;
constexpr std::uint64_t most_shard_buffer = 1ULL << 20;
constexpr std::uint64_t least_shard_buffer = 4ULL << 10;
constexpr std::uint64_t key_text_bytes = 21;     // including its newline
constexpr std::uint64_t number_text_bytes = 16;  // including its blank
constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

const TablePart& values_of(const StoredTable& table) {
  return table.parts[RowPrint::value_part];
}

std::vector<std::uint64_t> keys_of(TableReader& reader, const StoredTable& table, const Batch& batch) {
  std::vector<std::uint64_t> keys(batch.rows.size());
  reader.read_keys(table, batch.server, batch.rows.lo, keys);
  return keys;
}

std::vector<float> read_values(TableReader& reader, const StoredTable& table, const Batch& batch, Traffic& traffic) {
  std::vector<float> values(batch.rows.size() * values_of(table).row_elements);
  const auto bytes = std::as_writable_bytes(std::span(values));
  reader.read(values_of(table), batch.server, batch.rows.lo, bytes);
  traffic.bytes_read += bytes.size();
  return values;
}

}  // namespace

SpreadPrint::SpreadPrint(const RowPrint& print, std::vector<std::uint64_t> shards, TableReader& reader,
                         const SpreadContext& context)
    : print_(print), reader_(reader), context_(context) {
  const std::uint64_t share = context_.memory_bytes / shares;
  const std::uint64_t of_batch = std::clamp(share / context_.threads, least_batch_bytes, most_batch_bytes);
  batch_rows_ = std::max<std::uint64_t>(of_batch / row_bytes(), 1);
  count_tails();
  make_ranges(shards);
}

/// Returns the memory for a row of a batch, and its line.
std::uint64_t SpreadPrint::row_bytes() const {
  std::uint64_t tail = 0;
  for (const auto& [dims, table] : print_.tails) tail = std::max(tail, values_of(table).row_elements);
  const std::uint64_t numbers = values_of(print_.table).row_elements + tail;
  return print_.table.row_bytes() + sizeof(std::size_t) + key_text_bytes + numbers * number_text_bytes;
}

Batches SpreadPrint::batches(const StoredTable& table) const {
  return {table.rows, batch_rows_};
}

void SpreadPrint::count_tails() {
  for (const auto& [dims, table] : print_.tails) {
    auto& of_shard = tails_of_.emplace_back(print_.shards);
    const Batches all = batches(table);
    std::mutex mutex;
    for_each_in_parallel(context_.threads, all.count(), [&](std::uint64_t n) {
      const std::vector<std::uint64_t> keys = keys_of(reader_, table, all[n]);
      const std::lock_guard lock(mutex);
      for (const std::uint64_t key : keys) ++of_shard[print_.shard_of(key)];
    });
  }
}

void SpreadPrint::make_ranges(const std::vector<std::uint64_t>& shards) {
  const std::uint64_t share = context_.memory_bytes / shares;
  const std::uint64_t each = TextOutput::memory_bytes(least_shard_buffer, context_.is_gzip);
  const std::uint64_t most = std::clamp<std::uint64_t>(share / each, 1, std::max<std::size_t>(context_.most_open, 1));
  std::uint64_t held = 0;
  std::size_t largest = 1;
  for (const std::uint64_t shard : shards) {
    std::uint64_t bytes = 0;
    std::size_t at = 0;
    for (const auto& [dims, table] : print_.tails)
      bytes += tails_of_[at++][shard] * HeldRows::bytes(values_of(table).row_elements);
    if (bytes > share)
      throw Error(Kind::usage, "--memory",
                  {format_bytes(context_.memory_bytes),
                   "four times the " + format_bytes(bytes) + " that the tails of shard " + std::to_string(shard) +
                       " of table '" + print_.table.name + "' take",
                   "give more, or a larger shard_num"});
    if (ranges_.empty() || ranges_.back().size() == most || held + bytes > share) {
      ranges_.emplace_back();
      held = 0;
    }
    ranges_.back().push_back(shard);
    held += bytes;
    largest = std::max(largest, ranges_.back().size());
  }
  const std::uint64_t fixed = TextOutput::memory_bytes(0, context_.is_gzip);
  const std::uint64_t room = share / largest - std::min(fixed, share / largest);
  buffer_bytes_ = std::clamp(context_.is_gzip ? room / 2 : room, least_shard_buffer, most_shard_buffer);
}

void SpreadPrint::hold_tails(Range& range, Traffic& traffic) {
  std::size_t at = 0;
  for (const auto& [dims, table] : print_.tails) {
    HeldRows held;
    std::uint64_t count = 0;
    for (const std::uint64_t shard : range.shards) count += tails_of_[at][shard];
    ++at;
    const std::uint64_t columns = values_of(table).row_elements;
    held.keys.reserve(count);
    held.values.reserve(count * columns);
    const Batches all = batches(table);
    std::mutex mutex;
    for_each_in_parallel(context_.threads, count == 0 ? 0 : all.count(), [&](std::uint64_t n) {
      const std::vector<std::uint64_t> keys = keys_of(reader_, table, all[n]);
      const std::vector<float> values = read_values(reader_, table, all[n], traffic);
      const std::lock_guard lock(mutex);
      for (std::size_t row = 0; row < keys.size(); ++row) {
        if (range.places[print_.shard_of(keys[row])] == nowhere) continue;
        held.keys.push_back(keys[row]);
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * columns);
        held.values.insert(held.values.end(), begin, begin + static_cast<std::ptrdiff_t>(columns));
      }
    });
    range.tails.hold(dims, std::move(held));
  }
}

void SpreadPrint::print_batch(const Batch& batch, Range& range, BatchLines& lines, Traffic& traffic) const {
  lines.text.clear();
  lines.ends.assign(range.shards.size() + 1, 0);
  lines.keys = keys_of(reader_, print_.table, batch);
  traffic.bytes_read += lines.keys.size() * sizeof(std::uint64_t);
  const auto place_of = [&](std::size_t row) { return range.places[print_.shard_of(lines.keys[row])]; };
  for (std::size_t row = 0; row < lines.keys.size(); ++row)
    if (const std::uint32_t place = place_of(row); place != nowhere) ++lines.ends[place + 1];
  std::partial_sum(lines.ends.begin(), lines.ends.end(), lines.ends.begin());
  lines.order.resize(lines.ends.back());
  for (std::size_t row = 0; row < lines.keys.size(); ++row)
    if (const std::uint32_t place = place_of(row); place != nowhere) lines.order[lines.ends[place]++] = row;
  lines.ends.pop_back();  // the beginnings have become the ends, of rows
  if (lines.order.empty()) return;
  lines.values = read_values(reader_, print_.table, batch, traffic);
  RowLines made(print_, range.tails);
  const std::size_t columns = values_of(print_.table).row_elements;
  std::size_t done = 0;
  for (std::size_t& end : lines.ends) {
    for (; done < end; ++done) {
      const std::size_t row = lines.order[done];
      made.append(lines.text, lines.keys[row], lines.values.data() + row * columns);
    }
    end = lines.text.size();
  }
}

void SpreadPrint::print_all(Range& range, Traffic& traffic) {
  const Batches all = batches(print_.table);
  std::vector<BatchLines> read(context_.threads);
  for (std::uint64_t first = 0; first < all.count(); first += read.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(read.size(), all.count() - first);
    for_each_in_parallel(context_.threads, count,
                         [&](std::uint64_t n) { print_batch(all[first + n], range, read[n], traffic); });
    for_each_in_parallel(context_.threads, range.files.size(), [&](std::uint64_t place) {
      for (std::uint64_t n = 0; n < count; ++n) {
        const std::size_t begin = place == 0 ? 0 : read[n].ends[place - 1];
        range.files[place]->append(std::string_view(read[n].text).substr(begin, read[n].ends[place] - begin));
      }
    });
  }
}

void SpreadPrint::write(const std::function<bool(std::uint64_t)>& wants,
                        const std::function<void(const MovedShard&)>& take, bool fsync, Traffic& traffic) {
  for (const std::vector<std::uint64_t>& shards : ranges_) {
    Range range{{}, std::vector<std::uint32_t>(print_.shards, nowhere), RowTails(print_), {}};
    for (const std::uint64_t shard : shards)
      if (wants(shard)) range.shards.push_back(shard);
    if (range.shards.empty()) continue;
    for (std::size_t place = 0; place < range.shards.size(); ++place) {
      range.places[range.shards[place]] = static_cast<std::uint32_t>(place);
      range.files.push_back(std::make_unique<PrintedShard>(print_, range.shards[place], buffer_bytes_));
    }
    hold_tails(range, traffic);
    print_all(range, traffic);
    range.tails.check_all_taken();
    std::vector<MovedShard> written(range.files.size());
    for_each_in_parallel(context_.threads, written.size(),
                         [&](std::uint64_t n) { written[n] = range.files[n]->finish(fsync, traffic); });
    for (const MovedShard& shard : written) take(shard);
  }
}

}  // namespace ckpt
