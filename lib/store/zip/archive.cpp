#include "store/zip/archive.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "io/crc.hpp"
#include "store/guarded_reading.hpp"
#include "store/torch/legacy_file.hpp"
#include "store/torch/write_file.hpp"
#include "store/zip/zip_directory.hpp"

namespace ckpt::torch {

namespace {

constexpr std::string_view pickle_name = "data.pkl";
constexpr std::string_view storages_folder = "data/";

/// Each byte of a pickle takes about 64 bytes of nodes.
constexpr std::uint64_t most_pickle_bytes = 512U << 20;

/// A pickle's nodes and the tensors made of them are a few times as large as the file's metadata, whose share of the
/// file is not known in advance.
constexpr std::uint64_t memory_per_file_byte = 4;
/// A small file may consist of nested dicts alone: these limits cover their nodes, and their entries in a catalog.
constexpr std::uint64_t most_small_bytes = 64U << 20;
constexpr std::uint64_t memory_per_small_byte = 32;
constexpr std::uint64_t small_bytes_per_second = 256U << 10;
constexpr std::uint64_t file_bytes_per_second = 1U << 20;

/// The size of the largest possible manifest.
constexpr std::uint64_t most_own_bytes = 2ULL << 30;

/// Returns the bytes of a small entry.
std::string read_entry(const PosixFile& file, const ZipEntry& entry, std::uint64_t most) {
  if (entry.place.size() > most)
    throw Error(Kind::input, entry.name,
                {"found " + format_bytes(entry.place.size()), "at most " + format_bytes(most), "is the file damaged?"});
  std::string bytes = file.text(entry.place.lo, entry.place.size());
  if (entry.crc != 0) crc32.check(crc32.of(bytes), entry.crc, entry.name);
  return bytes;
}

const ZipEntry* find(const std::vector<ZipEntry>& entries, const std::string& name) {
  const auto found = std::lower_bound(entries.begin(), entries.end(), name,
                                      [](const ZipEntry& entry, const std::string& key) { return entry.name < key; });
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

/// Returns the folder that contains all entries: "archive/".
std::string root_of(const std::vector<ZipEntry>& entries) {
  for (const ZipEntry& entry : entries)
    if (const std::size_t slash = entry.name.find('/');
        slash != std::string::npos && std::string_view(entry.name).substr(slash + 1) == pickle_name)
      return entry.name.substr(0, slash + 1);
  const bool is_of_torch = std::any_of(entries.begin(), entries.end(), [](const ZipEntry& entry) {
    return entry.name.ends_with("/version") || entry.name.ends_with("/.data/serialization_id");
  });
  if (is_of_torch)
    throw Error(Kind::input, "",
                {"found no data.pkl", "that of a saved object", "was the save aborted by an error? Save again"});
  throw Error(Kind::input, "", {"found a zip archive without data.pkl", "one that torch.save wrote", ""});
}

/// Returns whether torch wrote a zip archive: it begins with the pickle, or, if the save was aborted, with the entry
/// after it; a TorchScript program begins with its first storage. Other zip archives (.npz) are not checkpoints.
bool is_torch_zip(const PosixFile& file, std::uint64_t file_bytes) {
  const std::string path = first_entry(file, file_bytes);
  const std::size_t slash = path.find('/');
  if (slash == std::string::npos) return false;
  const std::string_view name = std::string_view(path).substr(slash + 1);
  return name == pickle_name || name == "version" || name == "data/0";
}

}  // namespace

bool is_torch_file(const PosixFile& file, std::uint64_t file_bytes) {
  return is_torch_zip(file, file_bytes) || is_legacy_file(file, file_bytes);
}

Archive read_zip_archive(const PosixFile& file, Interval whole) {
  const std::vector<ZipEntry> entries = zip_directory(file, whole);
  const std::string root = root_of(entries);
  if (find(entries, root + "constants.pkl") != nullptr)
    throw Error(Kind::input, "",
                {"found a TorchScript program", "a checkpoint", "load it with torch.jit, and save its state_dict()"});
  if (const ZipEntry* const order = find(entries, root + "byteorder"))
    if (const std::string found = read_entry(file, *order, 16); found != "little")
      throw Error(Kind::input, order->name, {"found the byte order " + found, "little", "save it on another machine"});
  const ZipEntry& pickle = *find(entries, root + std::string(pickle_name));
  auto bytes = std::make_unique<const std::string>(read_entry(file, pickle, most_pickle_bytes));
  std::size_t at = 0;
  auto tree = Pickle::read(*bytes, at);
  if (!tree)
    throw Error(Kind::input, pickle.name, {"ends before its object does", "a whole one", "is the file damaged?"});

  const auto own = [&](const char* name) {
    const ZipEntry* const entry = find(entries, root + name);
    return entry == nullptr ? std::string() : read_entry(file, *entry, most_own_bytes);
  };
  Archive archive{std::move(bytes),  std::move(*tree),    {},
                  own(layout_entry), own(manifest_entry), own(global_shapes_entry)};
  const std::string folder = root + std::string(storages_folder);
  for (const ZipEntry& entry : entries) {
    if (!entry.name.starts_with(folder)) continue;
    archive.storages.emplace_hint(archive.storages.end(), entry.name.substr(folder.size()), entry.place);  // sorted
    if (entry.crc != 0 && entry.place.size() > 0) archive.sums.emplace(entry.place.lo, entry.crc);
  }
  return archive;
}

IsolationLimits limits_of_file(std::uint64_t file_bytes) {
  IsolationLimits limits = limits_for(file_bytes, memory_per_file_byte, file_bytes_per_second);
  const std::uint64_t small = std::min(file_bytes, most_small_bytes);
  limits.memory_bytes += small * memory_per_small_byte;
  limits.processor_s += small / small_bytes_per_second;
  return limits;
}

Archive read_archive(const PosixFile& file, std::uint64_t file_bytes) {
  return is_legacy_file(file, file_bytes) ? read_legacy_file(file, file_bytes)
                                          : read_zip_archive(file, {0, file_bytes});
}

}  // namespace ckpt::torch
