#include "store/dcp/dcp_directory.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <regex>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "base/wire.hpp"
#include "io/posix_file.hpp"
#include "store/dcp/dcp_file_reader.hpp"
#include "store/guarded_reading.hpp"

namespace ckpt::torch {

namespace {

constexpr std::uint64_t most_parts = 8;

/// The nodes of a pickle, and everything made of them.
constexpr std::uint64_t memory_per_metadata_byte = 48;
constexpr std::uint64_t most_metadata_bytes = 2ULL << 30;
constexpr std::uint64_t metadata_bytes_per_second = 1U << 20;

/// Covers a header of safetensors, too, of which several copies exist while it is read.
constexpr std::uint64_t memory_per_item = 16384;
constexpr std::uint64_t items_per_second = 1000;  // the rate if the page cache holds nothing of the files

DcpMetadata metadata_of(const PosixFile& file, std::uint64_t bytes) {
  return parse_dcp_metadata(file.text(0, bytes));
}

DcpMetadata without_chunks(const DcpMetadata& metadata) {
  DcpMetadata contents{metadata.files, {}, metadata.objects, metadata.mcore_data};
  for (const DcpTensor& tensor : metadata.tensors)
    contents.tensors.push_back({tensor.name, tensor.dtype, tensor.shape, {}, tensor.path});
  return contents;
}

/// Identifies a file, and its version.
using FileState = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t>;

std::vector<FileState> statuses_of(const std::vector<std::filesystem::path>& files) {
  std::vector<FileState> states;
  for (const std::filesystem::path& path : files) {
    const PosixFile::Status status = PosixFile::open_for_reading(path).status();
    states.emplace_back(status.device, status.inode, status.bytes, status.modified_ns);
  }
  return states;
}

/// Keeps the contents between two uses: a directory is described first, and its tree is read when its output is made.
class LastContents {
 public:
  void keep(std::vector<FileState> files, DcpMetadata contents) {
    const std::lock_guard lock(mutex_);
    files_ = std::move(files);
    contents_ = std::move(contents);
  }
  std::optional<DcpMetadata> of(const std::vector<FileState>& files) {
    const std::lock_guard lock(mutex_);
    return files == files_ ? contents_ : std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::vector<FileState> files_;
  std::optional<DcpMetadata> contents_;
};

LastContents& last_contents() {
  static LastContents last;
  return last;
}

DcpMetadata read_metadata_file(const std::filesystem::path& path) {
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::uint64_t bytes = file.status().bytes;
  return with_file(path.string(), [&] {
    if (bytes > most_metadata_bytes)
      throw Error(Kind::input, "", {"has " + format_bytes(bytes), "at most " + format_bytes(most_metadata_bytes), ""});
    const IsolationLimits limits = limits_for(bytes, memory_per_metadata_byte, metadata_bytes_per_second);
    return read_guarded<metadata_of>(file, bytes, dcp_format, limits);
  });
}

std::vector<DcpFileContents> contents_of(const DcpMetadata& metadata) {
  std::vector<DcpFileContents> contents(metadata.files.size());
  for (std::uint32_t t = 0; t < metadata.tensors.size(); ++t)
    for (std::uint32_t c = 0; c < metadata.tensors[t].chunks.size(); ++c)
      contents[metadata.tensors[t].chunks[c].file].chunks.push_back({t, c});
  for (std::uint32_t o = 0; o < metadata.objects.size(); ++o) contents[metadata.objects[o].file].objects.push_back(o);
  return contents;
}

std::vector<FileCatalog> catalogs_of(const std::filesystem::path& directory, const DcpMetadata& metadata,
                                     const std::vector<std::uint32_t>& files) {
  const std::vector<DcpFileContents> contents = contents_of(metadata);
  const std::vector<std::uint32_t> slots = dcp_slots(metadata);
  std::vector<FileCatalog> found;
  for (const std::uint32_t number : files) {
    const std::filesystem::path path = directory / metadata.files[number];
    with_file(path.string(), [&] { read_dcp_file(path, metadata, contents[number], slots[number], found); });
  }
  return found;
}

std::string catalogs_in_child(std::string_view argument, int /*fd*/) {
  using Request = std::tuple<std::string, DcpMetadata, std::vector<std::uint32_t>>;
  const auto [directory, metadata, files] = wire::unpacked<Request>(argument, "a request for metadata");
  return ckpt::encode(catalogs_of(directory, metadata, files));
}

IsolatedWork work_for(const std::filesystem::path& directory, const DcpMetadata& metadata,
                      const std::vector<std::uint32_t>& files) {
  std::vector<bool> is_meant(metadata.files.size(), false);
  for (const std::uint32_t file : files) is_meant[file] = true;
  const DcpMetadata part = within_files(metadata, is_meant);
  std::uint64_t items = part.objects.size();
  for (const DcpTensor& tensor : part.tensors) items += tensor.chunks.size();
  IsolationLimits limits;
  limits.memory_bytes += checked_mul(items, memory_per_item);
  limits.processor_s += items / items_per_second;
  limits.clock_s += limits.processor_s;
  return {catalogs_in_child, wire::packed(directory.string(), part, files), -1, dcp_format, limits};
}

}  // namespace

std::vector<std::uint32_t> dcp_slots(const DcpMetadata& metadata) {
  std::vector<std::uint32_t> slots(metadata.files.size(), 1);
  for (const DcpTensor& tensor : metadata.tensors)
    for (const DcpChunk& chunk : tensor.chunks) slots[chunk.file] = std::max(slots[chunk.file], chunk.slot + 1);
  return slots;
}

std::vector<std::filesystem::path> dcp_metadata_files(const std::filesystem::path& directory) {
  std::error_code error;
  if (std::filesystem::exists(directory / dcp_index, error)) return {directory / dcp_index};
  static const std::regex form(R"(__(\d{1,9})\.metadata)");
  std::map<std::uint64_t, std::filesystem::path> files;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (std::smatch number; std::regex_match(name, number, form)) files.emplace(std::stoull(number[1]), it->path());
  }
  std::vector<std::filesystem::path> found;
  for (auto& [rank, file] : files) found.push_back(std::move(file));
  return found;
}

DcpMetadata read_dcp_metadata(const std::filesystem::path& directory) {
  const std::vector<std::filesystem::path> files = dcp_metadata_files(directory);
  std::vector<DcpMetadata> parts(files.size());
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  for_each_in_parallel(static_cast<unsigned>(std::min(cores, most_parts)), files.size(),
                       [&](std::uint64_t n) { parts[n] = read_metadata_file(files[n]); });
  DcpMetadata metadata = files.size() == 1 ? std::move(parts.front()) : merged(std::move(parts));
  check_has_chunks(metadata);
  last_contents().keep(statuses_of(files), without_chunks(metadata));
  return metadata;
}

DcpMetadata read_dcp_contents(const std::filesystem::path& directory) {
  if (auto last = last_contents().of(statuses_of(dcp_metadata_files(directory)))) return std::move(*last);
  return without_chunks(read_dcp_metadata(directory));
}

std::vector<FileCatalog> read_dcp_catalogs(const std::filesystem::path& directory, const DcpMetadata& metadata) {
  std::vector<std::uint32_t> files(metadata.files.size());
  std::iota(files.begin(), files.end(), 0U);
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::uint64_t parts = std::min({cores, most_parts, std::max<std::uint64_t>(1, files.size())});
  std::vector<IsolatedWork> works;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const auto at = [&](std::uint64_t number) {
      return files.begin() + static_cast<std::ptrdiff_t>(files.size() * number / parts);
    };
    works.push_back(work_for(directory, metadata, {at(part), at(part + 1)}));
  }
  const auto said = isolated(works);
  if (said) return decode_catalogs(*said);
  warn_of_unguarded_reading();
  return catalogs_of(directory, metadata, files);
}

}  // namespace ckpt::torch
