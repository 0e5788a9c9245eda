#include "store/torch/zip_directory.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "store/torch/zip_records.hpp"

namespace ckpt::torch {

namespace {

constexpr std::uint64_t most_comment_bytes = 65535;

/// A directory beyond this is no torch file's: a name for each of 10^7 storages.
constexpr std::uint64_t most_directory_bytes = 1U << 30;

[[noreturn]] void refuse_zip(const std::string& object, const std::string& found, const std::string& expected,
                             const std::string& remedy = "is the file damaged?") {
  throw Error(Kind::input, object, {found, expected, remedy});
}

std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t count) {
  if (at + count > bytes.size()) refuse_zip("its zip directory", "a field that is cut off", "a whole one");
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::string read_at(const PosixFile& file, std::uint64_t offset, std::uint64_t count) {
  std::string bytes(count, '\0');
  file.read(offset, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

/// Where the directory lies, counted from the archive's start, and how many entries it has.
struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};

/// The record at the archive's end, behind which there is a comment of just the length that it says.
std::size_t find_end(std::string_view tail) {
  if (tail.size() >= end_bytes)
    for (std::size_t at = tail.size() - end_bytes + 1; at-- > 0;)
      if (tail.substr(at).starts_with(end_mark) && number(tail, at + 20, 2) == tail.size() - at - end_bytes) return at;
  refuse_zip("", "is a zip archive without a directory at its end", "", "is the file truncated?");
}

Directory find_directory(const PosixFile& file, Interval archive) {
  const std::uint64_t tail_bytes = std::min(archive.size(), locator_bytes + end_bytes + most_comment_bytes);
  const std::uint64_t tail_at = archive.size() - tail_bytes;
  const std::string tail = read_at(file, archive.lo + tail_at, tail_bytes);
  const std::size_t end = find_end(tail);
  Directory found{number(tail, end + 10, 2), number(tail, end + 12, 4), number(tail, end + 16, 4)};
  std::uint64_t behind = tail_at + end;  // what must lie behind the directory
  if (end >= locator_bytes && std::string_view(tail).substr(end - locator_bytes).starts_with(locator_mark)) {
    behind = number(tail, end - locator_bytes + 8, 8);
    if (behind > archive.size() || archive.size() - behind < wide_end_bytes)
      refuse_zip("its zip directory", "a 64-bit record at byte " + std::to_string(behind),
                 "within " + std::to_string(archive.size()) + " bytes", "is the file truncated?");
    const std::string wide = read_at(file, archive.lo + behind, wide_end_bytes);
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

/// What the directory says of an entry.
struct Central {
  std::string_view name;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< of its own header
};

/// The 64-bit numbers in place of those that do not fit, in this order.
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

/// Takes an entry off the directory.
Central take_central(std::string_view& directory) {
  if (directory.size() < central_bytes || !directory.starts_with(central_mark))
    refuse_zip("its zip directory", "no entry", "an entry where the one before it ends");
  const std::uint64_t flags = number(directory, 8, 2);
  const std::uint64_t method = number(directory, 10, 2);
  std::uint64_t packed = number(directory, 20, 4);
  Central entry{{}, number(directory, 24, 4), number(directory, 42, 4)};
  const std::uint64_t name = number(directory, 28, 2);
  const std::uint64_t extra = number(directory, 30, 2);
  const std::uint64_t whole = central_bytes + name + extra + number(directory, 32, 2);
  if (whole > directory.size()) refuse_zip("its zip directory", "an entry that is cut off", "a whole one");
  entry.name = directory.substr(central_bytes, name);
  widen(directory.substr(central_bytes + name, extra), entry.bytes, packed, entry.offset);
  if ((flags & encrypted_flag) != 0)
    refuse_zip(std::string(entry.name), "an encrypted entry", "one stored as it is", "decrypt the file");
  if (method != 0 || packed != entry.bytes)
    refuse_zip(std::string(entry.name), "a compressed entry of " + format_bytes(packed), "one stored as it is",
               "load the file with torch, and save it again");
  directory.remove_prefix(whole);
  return entry;
}

/// Where an entry's bytes lie: behind its own header, the length of which the directory does not tell. `whole` becomes
/// the place of both.
Interval place_of(const PosixFile& file, Interval archive, std::uint64_t end, const Central& entry, Interval& whole) {
  const auto refuse = [&](const std::string& found) {
    refuse_zip(std::string(entry.name), found, "an entry before the directory at byte " + std::to_string(end),
               "is the file truncated?");
  };
  const std::uint64_t head = local_bytes + entry.name.size();
  if (entry.offset > end || end - entry.offset < head) refuse("its header is at byte " + std::to_string(entry.offset));
  const std::string header = read_at(file, archive.lo + entry.offset, head);
  if (!header.starts_with(local_mark) || number(header, 26, 2) != entry.name.size() ||
      std::string_view(header).substr(local_bytes) != entry.name || number(header, 8, 2) != 0)
    refuse("its own header is not as the directory says");
  const std::uint64_t data = entry.offset + head + number(header, 28, 2);
  if (data > end || entry.bytes > end - data)
    refuse(std::to_string(entry.bytes) + " bytes at byte " + std::to_string(data));
  whole = {entry.offset, data + entry.bytes};
  return {archive.lo + data, archive.lo + data + entry.bytes};
}

void check_apart(std::vector<Interval> places) {
  std::sort(places.begin(), places.end(), [](Interval a, Interval b) { return a.lo < b.lo; });
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].lo < places[i - 1].hi)
      refuse_zip("its zip directory", "entries that overlap at byte " + std::to_string(places[i].lo),
                 "each in a place of its own");
}

}  // namespace

bool is_zip(const PosixFile& file, std::uint64_t file_bytes) {
  return file_bytes >= local_bytes && read_at(file, 0, local_mark.size()) == local_mark;
}

std::vector<ZipEntry> zip_directory(const PosixFile& file, Interval archive) {
  const Directory found = find_directory(file, archive);
  const std::string bytes = read_at(file, archive.lo + found.offset, found.bytes);
  std::string_view rest = bytes;
  std::vector<ZipEntry> entries;
  std::vector<Interval> places;
  for (std::uint64_t i = 0; i < found.entries; ++i) {
    const Central entry = take_central(rest);
    Interval whole;
    const Interval place = place_of(file, archive, found.offset, entry, whole);
    entries.push_back({std::string(entry.name), place});
    places.push_back(whole);
  }
  if (!rest.empty()) refuse_zip("its zip directory", "more entries than it says", std::to_string(found.entries));
  check_apart(std::move(places));
  std::sort(entries.begin(), entries.end(), [](const ZipEntry& a, const ZipEntry& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(entries.begin(), entries.end(),
                                        [](const ZipEntry& a, const ZipEntry& b) { return a.name == b.name; });
  if (twice != entries.end()) refuse_zip(twice->name, "two entries of this name", "one");
  return entries;
}

}  // namespace ckpt::torch
