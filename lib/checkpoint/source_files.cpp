#include "checkpoint/source_files.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "checkpoint/prefetched_bytes.hpp"

namespace ckpt {

namespace {

/// With a lower limit, usual reading and the output need all of them.
constexpr std::size_t least_open = 64;

}  // namespace

std::vector<FileNumber> files_read_by(std::uint32_t process, const Checkpoint& checkpoint, const Readers& readers) {
  const FileTable& table = checkpoint.table();
  std::vector<FileNumber> files;
  for (FileNumber file = 0; file < table.count(); ++file)
    if (checkpoint.is_there(file) && (readers.is_shared() || readers.owner(table.owner(file)) == process))
      files.push_back(file);
  return files;
}

SourceFiles::SourceFiles(const Checkpoint& checkpoint, SourceStore& store, std::size_t most_open)
    : checkpoint_(checkpoint),
      most_open_(most_open),
      files_(
          most_open,
          [this, &store](FileNumber file) { return std::shared_ptr<SourceFile>(checkpoint_.open_file(file, store)); }),
      direct_files_(std::max<std::size_t>(1, most_open / 2), [this](FileNumber file) { return open_directly(file); }) {}

/// Throws input if none of the file's data is stored as it is.
std::shared_ptr<SourceFiles::OpenDirectly> SourceFiles::open_directly(FileNumber number) {
  auto file = files_.get(number);
  for (std::size_t i = 0; i < checkpoint_.file(number).schema->datasets.size(); ++i)
    if (const auto located = file->located(i, 0))
      return std::make_shared<OpenDirectly>(OpenDirectly{file, DirectFile(located->file.fd, *located->file.path)});
  throw Error(Kind::input, checkpoint_.file_name(number),
              {"none of its data can be read past the system's memory", "", ""});
}

std::uint64_t SourceFiles::direct_blocks(std::uint64_t memory_bytes, const std::vector<FileNumber>& files) {
  const bool has_addresses = addresses_left() / 2 >= memory_bytes;  // where these are limited, all else needs them
  if (memory_bytes < DirectBlocks::least_memory || !has_addresses || most_open_ < least_open || !is_cold(files))
    return 0;
  return memory_bytes;
}

std::uint64_t SourceFiles::read_with_direct_io(std::uint64_t memory_bytes, const std::vector<FileNumber>& files) {
  const std::uint64_t bytes = direct_blocks(memory_bytes, files);
  if (bytes == 0) return 0;
  const auto read = [this](FileNumber file, std::uint64_t start, std::span<std::byte> out) {
    return direct_files_.get(file)->direct.read(start, out);
  };
  try {
    blocks_ = std::make_unique<DirectBlocks>(bytes, files.size(), read);
  } catch (const Error& error) {
    log::debug("the source is read as usual: {}", error.what());
    return 0;
  }
  return blocks_->memory_bytes();
}

bool SourceFiles::is_cold(const std::vector<FileNumber>& files) {
  constexpr std::size_t most_files = 32;
  std::uint64_t looked_at = 0;
  std::uint64_t cold = 0;
  for (std::size_t i = 0; i < files.size(); i += std::max<std::size_t>(1, files.size() / most_files)) {
    const std::vector<Dataset>& datasets = checkpoint_.file(files[i]).schema->datasets;
    const auto largest = std::max_element(datasets.begin(), datasets.end(), [](const Dataset& a, const Dataset& b) {
      return a.extents.bytes() < b.extents.bytes();
    });
    if (largest == datasets.end() || largest->extents.bytes() == 0) continue;
    const auto file = files_.get(files[i]);
    const auto located = file->located(static_cast<std::size_t>(largest - datasets.begin()), 0);
    if (!located) continue;
    ++looked_at;
    if (!is_in_memory(located->file.fd, located->extent.offset, located->extent.bytes)) ++cold;
  }
  return cold * 2 > looked_at;
}

void SourceFiles::read(FileNumber number, std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) {
  const auto file = files_.get(number);
  if (checkpoint_.file(number).schema->datasets.at(dataset).storage != Storage::raw)
    return file->read(dataset, offset, out);
  file->check(dataset);
  read_as_stored(*file, dataset, offset, out, {blocks_.get(), number});
}

void SourceFiles::read_ahead(FileNumber number, std::size_t dataset, Interval stored, Lease& lease) {
  if (!blocks_ || stored.size() > blocks_->memory_bytes() / 4) return;
  const auto file = files_.get(number);
  while (!stored.empty()) {
    const auto located = file->located(dataset, stored.lo);
    if (!located) return;
    const std::uint64_t end = std::min(stored.hi, located->extent.start + located->extent.bytes);
    const std::uint64_t place = located->extent.offset + (stored.lo - located->extent.start);
    blocks_->want(number, located->file.bytes, {place, place + (end - stored.lo)}, lease);
    stored.lo = end;
  }
}

}  // namespace ckpt
