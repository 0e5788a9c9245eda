#include "store/zip/zip_layout.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/checked.hpp"
#include "store/zip/zip_records.hpp"

namespace ckpt::torch {

namespace {

constexpr std::uint64_t entry_alignment = 64;
constexpr std::uint64_t in_utf8_flag = 0x0800;
constexpr std::uint64_t first_of_1980 =
    0x21;  ///< the earliest possible date, for all entries: the same job writes the same bytes
constexpr std::uint64_t zip_version = 45;  ///< the version of the format with 64-bit numbers
constexpr std::string_view padding_id = "FB";
constexpr std::uint64_t field_head_bytes = 4;
constexpr std::uint64_t most_entries_in_16_bits = 0xffff;

/// Appends the lowest `bytes` bytes of a number, at most 8.
void append_number(std::string& to, std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to += static_cast<char>(number >> 8 * i & 0xffU);
}

/// Returns the fields that an entry's own header and the directory share.
std::string common_header(std::uint64_t bytes, std::uint32_t checksum, std::uint64_t name, std::uint64_t extra) {
  std::string header;
  for (const std::uint64_t field : {zip_version, in_utf8_flag, std::uint64_t{0}, std::uint64_t{0}, first_of_1980})
    append_number(header, field, 2);
  append_number(header, checksum, 4);
  append_number(header, std::min(bytes, in_wide_field), 4);
  append_number(header, std::min(bytes, in_wide_field), 4);
  append_number(header, name, 2);
  append_number(header, extra, 2);
  return header;
}

/// Returns the field with the numbers that do not fit into 32 bits.
std::string wide_field(std::initializer_list<std::uint64_t> numbers) {
  std::string values;
  for (const std::uint64_t each : numbers)
    if (each >= in_wide_field) append_number(values, each, 8);
  if (values.empty()) return values;
  std::string field;
  append_number(field, wide_field_id, 2);
  append_number(field, values.size(), 2);
  return field + values;
}

}  // namespace

void ZipLayout::put(std::string_view bytes) {
  if (bytes.empty()) return;
  std::vector<FileSegment>& segments = form_.segments;
  if (segments.empty() || segments.back().offset + segments.back().bytes.size() != end_) segments.push_back({end_, {}});
  segments.back().bytes += bytes;
  end_ += bytes.size();
}

Interval ZipLayout::add_header(std::string_view name, std::uint64_t bytes, std::uint32_t checksum) {
  const std::string path = folder_ + "/" + std::string(name);
  const std::uint64_t offset = end_;
  std::string extra = wide_field({bytes, bytes});
  const std::uint64_t before = offset + local_bytes + path.size() + extra.size() + field_head_bytes;
  const std::uint64_t padding = round_up(before, entry_alignment) - before;
  extra += padding_id;
  append_number(extra, padding, 2);
  extra.append(padding, 'Z');
  put(std::string(local_mark) + common_header(bytes, checksum, path.size(), extra.size()) + path + extra);

  const std::string wide = wide_field({bytes, bytes, offset});
  directory_ += central_mark;
  append_number(directory_, zip_version, 2);
  directory_ += common_header(bytes, checksum, path.size(), wide.size());
  directory_.append(10, 0);  // no comment, on one disk, no attributes
  append_number(directory_, std::min(offset, in_wide_field), 4);
  directory_ += path + wide;
  ++entries_;
  return {end_, checked_add(end_, bytes, "a file")};
}

Interval ZipLayout::add(std::string_view name, std::string_view bytes) {
  const Interval place = add_header(name, bytes.size(), crc32.of(bytes));
  put(bytes);
  return place;
}

Interval ZipLayout::add_room(std::string_view name, std::uint64_t bytes, std::string_view now) {
  const Interval place = add_header(name, bytes, 0);
  put(now);
  end_ = place.hi;
  return place;
}

ZipForm ZipLayout::take() {
  const std::uint64_t begin = end_;
  std::string end(wide_end_mark);
  append_number(end, wide_end_bytes - 12, 8);  // number of bytes that follow
  append_number(end, zip_version, 2);
  append_number(end, zip_version, 2);
  append_number(end, 0, 8);
  append_number(end, entries_, 8);
  append_number(end, entries_, 8);
  append_number(end, directory_.size(), 8);
  append_number(end, begin, 8);
  end += locator_mark;
  append_number(end, 0, 4);
  append_number(end, begin + directory_.size(), 8);
  append_number(end, 1, 4);
  end += end_mark;
  append_number(end, 0, 4);
  append_number(end, std::min(entries_, most_entries_in_16_bits), 2);
  append_number(end, std::min(entries_, most_entries_in_16_bits), 2);
  append_number(end, std::min<std::uint64_t>(directory_.size(), in_wide_field), 4);
  append_number(end, std::min(begin, in_wide_field), 4);
  append_number(end, 0, 2);
  put(directory_);
  put(end);
  form_.bytes = end_;
  return std::move(form_);
}

}  // namespace ckpt::torch
