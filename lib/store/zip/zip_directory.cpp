#include "store/zip/zip_directory.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "io/outside_data.hpp"
#include "store/pickle/little_endian.hpp"
#include "store/zip/zip_records.hpp"

namespace ckpt::torch {

namespace {

constexpr std::uint64_t most_comment_bytes = 65535;

/// No torch file has a larger directory: this holds a name for each of 10^7 storages.
constexpr std::uint64_t most_directory_bytes = 1U << 30;

[[noreturn]] void refuse_zip(const std::string& object, const std::string& found, const std::string& expected,
                             const std::string& remedy = "is the file damaged?") {
  throw Error(Kind::input, object, {"found " + found, expected, remedy});
}

std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t count) {
  if (at + count > bytes.size()) refuse_zip("its zip directory", "a field that is cut off", "a whole one");
  return little_endian(bytes.substr(at, count));
}

/// The directory's place, relative to the archive's start, and its number of entries.
struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};

/// Finds the record at the archive's end, which is followed by a comment of exactly the length that it states.
std::size_t find_end(std::string_view tail) {
  if (tail.size() >= end_bytes)
    for (std::size_t at = tail.size() - end_bytes + 1; at-- > 0;)
      if (tail.substr(at).starts_with(end_mark) && number(tail, at + 20, 2) == tail.size() - at - end_bytes) return at;
  refuse_zip("", "a zip archive without a directory at its end", "a whole one", "is the file truncated?");
}

Directory find_directory(const PosixFile& file, Interval archive) {
  const std::uint64_t tail_bytes = std::min(archive.size(), locator_bytes + end_bytes + most_comment_bytes);
  const std::uint64_t tail_at = archive.size() - tail_bytes;
  const std::string tail = file.text(archive.lo + tail_at, tail_bytes);
  const std::size_t end = find_end(tail);
  Directory found{number(tail, end + 10, 2), number(tail, end + 12, 4), number(tail, end + 16, 4)};
  std::uint64_t behind = tail_at + end;  // position of everything that must follow the directory
  if (end >= locator_bytes && std::string_view(tail).substr(end - locator_bytes).starts_with(locator_mark)) {
    behind = number(tail, end - locator_bytes + 8, 8);
    if (behind > archive.size() || archive.size() - behind < wide_end_bytes)
      refuse_zip("its zip directory", "a 64-bit record at byte " + std::to_string(behind),
                 "within " + std::to_string(archive.size()) + " bytes", "is the file truncated?");
    const std::string wide = file.text(archive.lo + behind, wide_end_bytes);
    if (!wide.starts_with(wide_end_mark)) refuse_zip("its zip directory", "no 64-bit record", "one where it says");
    found = {number(wide, 32, 8), number(wide, 40, 8), number(wide, 48, 8)};
  }
  if (found.bytes > behind || found.offset != behind - found.bytes)
    refuse_zip("its zip directory",
               std::to_string(found.bytes) + " bytes at " + std::to_string(found.offset) + ", which do not end at " +
                   std::to_string(behind),
               "the bytes before its end record", "is the file truncated?");
  if (found.bytes > most_directory_bytes || found.entries > found.bytes / central_bytes)
    refuse_zip("its zip directory",
               std::to_string(found.entries) + " entries in " + std::to_string(found.bytes) + " bytes",
               "at least 46 bytes for each, and 1 GiB at most");
  return found;
}

/// The directory's description of an entry.
struct Central {
  std::string_view name;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< of its own header
  std::uint32_t crc = 0;
  std::optional<std::uint64_t> inflated_bytes = {};
};

/// Reads the 64-bit numbers that replace those that do not fit, in this order.
void widen(std::string_view extra, std::uint64_t& bytes, std::uint64_t& packed, std::uint64_t& offset) {
  while (extra.size() >= 4) {
    const std::uint64_t id = number(extra, 0, 2);
    const std::uint64_t size = number(extra, 2, 2);
    if (size > extra.size() - 4) return;
    if (id == wide_field_id) {
      const std::string_view field = extra.substr(4, size);
      std::size_t at = 0;
      for (std::uint64_t* value : {&bytes, &packed, &offset}) {
        if (*value != in_wide_field) continue;
        *value = number(field, at, 8);
        at += 8;
      }
      return;
    }
    extra.remove_prefix(4 + size);
  }
}

/// Removes an entry from the directory and returns it.
Central take_central(std::string_view& directory, Deflated deflated) {
  if (directory.size() < central_bytes || !directory.starts_with(central_mark))
    refuse_zip("its zip directory", "no entry", "an entry where the one before it ends");
  const std::uint64_t flags = number(directory, 8, 2);
  const std::uint64_t method = number(directory, 10, 2);
  std::uint64_t packed = number(directory, 20, 4);
  Central entry{
      {}, number(directory, 24, 4), number(directory, 42, 4), static_cast<std::uint32_t>(number(directory, 16, 4))};
  const std::uint64_t name = number(directory, 28, 2);
  const std::uint64_t extra = number(directory, 30, 2);
  const std::uint64_t whole = central_bytes + name + extra + number(directory, 32, 2);
  if (whole > directory.size()) refuse_zip("its zip directory", "an entry that is cut off", "a whole one");
  entry.name = directory.substr(central_bytes, name);
  widen(directory.substr(central_bytes + name, extra), entry.bytes, packed, entry.offset);
  if ((flags & encrypted_flag) != 0)
    refuse_zip(std::string(entry.name), "an encrypted entry", "one stored as it is", "decrypt the file");
  if (method != 0 && entry.name.find("/code/") != entry.name.npos)
    refuse_zip(std::string(entry.name), "code of TorchScript (torch.jit.save)", "a file of torch.save",
               "load it with torch.jit.load, and save its state_dict() with torch.save");
  if (method == deflate_method && deflated == Deflated::taken)
    entry.inflated_bytes = std::exchange(entry.bytes, packed);
  else if (method != 0 || packed != entry.bytes)
    refuse_zip(std::string(entry.name), "a compressed entry of " + format_bytes(packed), "one stored as it is",
               "load the file with what wrote it, torch or NumPy, and save it again");
  directory.remove_prefix(whole);
  return entry;
}

[[noreturn]] void refuse_place(const Central& entry, const std::string& found, std::uint64_t end) {
  refuse_zip(std::string(entry.name), found, "an entry before the directory at byte " + std::to_string(end),
             "is the file truncated?");
}

/// Returns the entries of a directory, sorted by place.
std::vector<Central> entries_by_place(std::string_view directory, std::uint64_t count, Deflated deflated) {
  std::vector<Central> entries;
  entries.reserve(count);
  while (entries.size() < count) entries.push_back(take_central(directory, deflated));
  if (!directory.empty())
    refuse_zip("its zip directory", "more entries than it says", std::to_string(count) + " of them");
  std::sort(entries.begin(), entries.end(), [](const Central& a, const Central& b) { return a.offset < b.offset; });
  return entries;
}

/// Returns where an entry's own header lies, as far as the directory shows.
Interval header_of(const Central& entry, std::uint64_t end) {
  const std::uint64_t bytes = local_bytes + entry.name.size();
  if (entry.offset > end || end - entry.offset < bytes)
    refuse_place(entry, "its header at byte " + std::to_string(entry.offset), end);
  return {entry.offset, entry.offset + bytes};
}

/// Returns the place of an entry's bytes: after its own header, whose length the directory does not contain.
Interval place_of(const Central& entry, std::string_view header, std::uint64_t end) {
  if (!header.starts_with(local_mark) || number(header, 26, 2) != entry.name.size() ||
      header.substr(local_bytes) != entry.name || (number(header, 8, 2) != 0) != entry.inflated_bytes.has_value())
    refuse_place(entry, "a header of its own that is not as the directory says", end);
  const std::uint64_t data = entry.offset + header.size() + number(header, 28, 2);
  if (data > end || entry.bytes > end - data)
    refuse_place(entry, std::to_string(entry.bytes) + " bytes at byte " + std::to_string(data), end);
  return {data, data + entry.bytes};
}

}  // namespace

std::string first_entry(const PosixFile& file, std::uint64_t file_bytes) {
  if (file_bytes < local_bytes) return "";
  const std::string header = file.text(0, local_bytes);
  if (!header.starts_with(local_mark)) return "";
  return file.text(local_bytes, std::min(number(header, 26, 2), file_bytes - local_bytes));
}

std::vector<ZipEntry> zip_directory(const PosixFile& file, Interval archive, Deflated deflated) {
  const Directory found = find_directory(file, archive);
  const std::string bytes = file.text(archive.lo + found.offset, found.bytes);
  const std::vector<Central> by_place = entries_by_place(bytes, found.entries, deflated);
  std::vector<Interval> headers;  // places in the file
  for (const Central& entry : by_place) {
    const Interval header = header_of(entry, found.offset);
    headers.push_back({archive.lo + header.lo, archive.lo + header.hi});
  }
  std::vector<ZipEntry> entries;
  std::uint64_t taken = 0;
  for_each_piece(file, headers, [&](std::uint64_t /*offset*/, std::span<const std::byte> header) {
    const Central& entry = by_place[entries.size()];
    if (entry.offset < taken)
      refuse_zip("its zip directory", "entries that overlap at byte " + std::to_string(entry.offset),
                 "each in a place of its own");
    const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
    const Interval place = place_of(entry, text, found.offset);
    taken = place.hi;
    entries.push_back(
        {std::string(entry.name), {archive.lo + place.lo, archive.lo + place.hi}, entry.crc, entry.inflated_bytes});
    return true;
  });
  std::sort(entries.begin(), entries.end(), [](const ZipEntry& a, const ZipEntry& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(entries.begin(), entries.end(),
                                        [](const ZipEntry& a, const ZipEntry& b) { return a.name == b.name; });
  if (twice != entries.end()) refuse_zip(twice->name, "two entries of this name", "one");
  return entries;
}

}  // namespace ckpt::torch
