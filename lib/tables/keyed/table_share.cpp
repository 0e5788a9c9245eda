#include "tables/keyed/table_share.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "base/buffer.hpp"
#include "base/checked.hpp"
#include "base/parallel.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t bits_per_word = 64;
constexpr std::uint64_t piece_bytes = 2ULL << 20;  // read at a time: even for a filter of many columns this is little

std::uint64_t piece_rows(const RowFilter& filter) {
  std::uint64_t row_bytes = 1;
  for (const TablePart& part : filter.parts()) row_bytes += part.row_bytes();
  return rows_in(piece_bytes, row_bytes);
}

/// Runs a filter over batches, on one thread.
class FilterRun {
 public:
  FilterRun(const RowFilter& filter, TableReader& reader) : filter_(filter), reader_(reader) {
    for (const TablePart& part : filter.parts()) {
      const Buffer& buffer = buffers_.emplace_back(piece_rows(filter) * part.row_bytes());
      rows_.push_back(buffer.data());
    }
    found_.resize(piece_rows(filter) / bits_per_word);
  }

  std::uint64_t run(const Batch& batch, std::span<std::uint64_t> kept) {
    const std::uint64_t most = found_.size() * bits_per_word;
    std::uint64_t dropped_with_nan = 0;
    for (std::uint64_t done = 0; done < batch.rows.size(); done += most) {
      const std::uint64_t count = std::min(most, batch.rows.size() - done);
      for (std::size_t p = 0; p < filter_.parts().size(); ++p) {
        const TablePart& part = filter_.parts()[p];
        reader_.read(part, batch.server, batch.rows.lo + done, buffers_[p].first(count * part.row_bytes()));
      }
      dropped_with_nan += filter_.apply(rows_, count, found_);
      for (std::uint64_t word = 0; word * bits_per_word < count; ++word)
        kept[done / bits_per_word + word] &= found_[word];
    }
    return dropped_with_nan;
  }

 private:
  const RowFilter& filter_;
  TableReader& reader_;
  std::vector<Buffer> buffers_;  // by part of the filter
  RowFilter::Rows rows_;
  std::vector<std::uint64_t> found_;
};

}  // namespace

void TableShare::take_all() {
  if (!takes_all()) return;
  for (const std::uint64_t number : own) {
    const std::uint64_t rows = batches[number].rows.size();
    auto& bits = kept.emplace_back(ceil_div(rows, bits_per_word), ~std::uint64_t{0});
    if (rows % bits_per_word != 0) bits.back() >>= bits_per_word - rows % bits_per_word;
  }
}

std::uint64_t TableShare::kept_rows() const {
  std::uint64_t rows = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (takes_all())
      rows += batches[own[i]].rows.size();
    else
      for (const std::uint64_t bits : kept[i]) rows += static_cast<std::uint64_t>(std::popcount(bits));
  }
  return rows;
}

std::uint64_t rows_in(std::uint64_t bytes, std::uint64_t row_bytes) {
  const std::uint64_t rows = bytes / std::max<std::uint64_t>(row_bytes, 1);
  return std::max<std::uint64_t>(rows / bits_per_word, 1) * bits_per_word;
}

std::span<const std::uint64_t> kept_among(std::span<const std::uint64_t> kept, const Interval& rows) {
  return kept.subspan(rows.lo / bits_per_word, ceil_div(rows.size(), bits_per_word));
}

std::size_t keep_rows(std::span<const std::uint64_t> kept, std::span<std::byte> rows, std::uint64_t row_bytes) {
  std::size_t count = 0;
  for (std::size_t word = 0; word < kept.size(); ++word)
    for (std::uint64_t bits = kept[word]; bits != 0; bits &= bits - 1) {
      const std::size_t row = word * bits_per_word + static_cast<std::size_t>(std::countr_zero(bits));
      std::memmove(rows.data() + count++ * row_bytes, rows.data() + row * row_bytes, row_bytes);
    }
  return count;
}

FilterOutcome filter_rows(const RowFilter& filter, TableReader& reader, unsigned threads, TableShare& share,
                          Communicator& processes) {
  std::atomic<std::uint64_t> dropped_with_nan{0};
  agree(processes, [&] {
    share.take_all();
    for_each_in_parallel(
        threads, share.own.size(), [&] { return FilterRun(filter, reader); },
        [&](FilterRun& run, std::uint64_t n) {
          dropped_with_nan += run.run(share.batches[share.own[n]], share.kept[n]);
        });
  });
  return {processes.sum(dropped_with_nan)};
}

}  // namespace ckpt
