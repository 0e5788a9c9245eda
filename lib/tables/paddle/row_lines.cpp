#include "tables/paddle/row_lines.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "tables/paddle/line_sums.hpp"

namespace ckpt {

void HeldRows::index() {
  by_key.reserve(keys.size());
  for (std::size_t row = 0; row < keys.size(); ++row) by_key.emplace_back(keys[row], row);
  std::sort(by_key.begin(), by_key.end());
}

std::optional<std::size_t> HeldRows::find(std::uint64_t key) const {
  const auto found = std::lower_bound(by_key.begin(), by_key.end(), std::pair(key, std::size_t{0}));
  return found == by_key.end() || found->first != key ? std::nullopt : std::optional(found->second);
}

void RowTails::hold(std::uint64_t dims, HeldRows rows) {
  if (rows.by_key.empty()) rows.index();
  std::vector<char> is_taken(rows.keys.size());
  held_.push_back({dims, std::move(rows), std::move(is_taken)});
}

void RowTails::append(std::uint64_t key, std::vector<float>& numbers) {
  const std::size_t always = numbers.size();
  for (OfDims& each : held_) {
    const auto row = each.rows.find(key);
    if (!row) continue;
    if (const float said = numbers[always - 1];
        print_.fields.rows_have_dims() && said != static_cast<float>(each.dims)) {
      const StoredTable& table = print_.tails.at(each.dims);
      throw Error(Kind::input, "table '" + table.name + "'",
                  {"the row of key " + table.key_text(key) + " says mf_dim " + std::to_string(said),
                   std::to_string(each.dims), "take both tables from the same checkpoint"});
    }
    const std::size_t size = print_.fields.tail_size(each.dims);
    const auto begin = each.rows.values.begin() + static_cast<std::ptrdiff_t>(*row * size);
    numbers.insert(numbers.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    each.is_taken[*row] = 1;
  }
}

void RowTails::check_all_taken() const {
  for (const OfDims& each : held_) {
    const auto left = std::find_if(each.rows.by_key.begin(), each.rows.by_key.end(),
                                   [&](const auto& row) { return each.is_taken[row.second] == 0; });
    if (left == each.rows.by_key.end()) continue;
    const StoredTable& table = print_.tails.at(each.dims);
    throw Error(Kind::input, "table '" + table.name + "'",
                {"key " + table.key_text(left->first) + " is not in table '" + print_.table.name + "'",
                 "tails of rows that are there", "take both tables from the same checkpoint"});
  }
}

void RowLines::append(std::string& text, std::uint64_t key, const float* row) {
  numbers_.assign(row, row + print_.fields.always().size());
  tails_.append(key, numbers_);
  append_line(text, key, numbers_, print_.digits);
}

PrintedShard::PrintedShard(const RowPrint& print, std::uint64_t shard, std::size_t buffer_bytes) : made_{shard, {}} {
  if (print.targets.empty()) return;
  file_ = print.targets[shard];
  out_ = std::make_unique<TextOutput>(file_, buffer_bytes);
}

void PrintedShard::append(std::string_view lines) {
  add_lines(lines, made_.written.lines);
  made_.written.bytes += lines.size();
  if (out_) out_->append(lines);
}

MovedShard PrintedShard::finish(bool fsync, Traffic& traffic) {
  if (!out_) return made_;
  const WrittenText written = out_->finish(fsync);
  out_.reset();  // many may be open
  traffic.bytes_written += written.bytes;
  if (!(written.lines == made_.written.lines))
    throw Error(Kind::io, file_.string(),
                {"the lines written are not those that were made", "equal sums",
                 "nothing is published; run it again: if it comes again the program is wrong, else the machine is"});
  return {made_.shard, written};
}

}  // namespace ckpt
