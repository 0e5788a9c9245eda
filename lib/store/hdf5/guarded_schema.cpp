#include "store/hdf5/guarded_schema.hpp"

#include <algorithm>
#include <thread>

#include "base/checked.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/wire.hpp"
#include "store/guarded_reading.hpp"
#include "store/hdf5/read_schema.hpp"

namespace ckpt::hdf5 {

namespace {

/// Several copies of variable-length values exist while they are read.
constexpr std::uint64_t memory_per_byte = 4;
/// Metadata read in a second of processor time. HDF5 takes about 50 µs for a dataset, which is a few hundred bytes of
/// metadata: 0.2 s for a MiB.
constexpr std::uint64_t bytes_per_second = 1U << 20;
/// A file with more names is read in parts, by several processes at once, as HDF5 serves only one thread at a time.
constexpr std::uint64_t links_of_one = 4096;
constexpr std::uint64_t most_parts = 8;

/// Limits for each of `parts` children. One child may get all the work: a file may be hard to divide.
IsolationLimits limits_for(std::uint64_t file_bytes, std::uint64_t parts) {
  IsolationLimits limits;
  limits.memory_bytes = checked_add(limits.memory_bytes / parts, checked_mul(file_bytes, memory_per_byte));
  limits.processor_s += file_bytes / bytes_per_second;
  limits.clock_s += limits.processor_s;
  return limits;
}

SchemaReading decode(std::string_view bytes) {
  return wire::unpacked<SchemaReading>(bytes, "a catalog from a child process");
}

SchemaReading read_unguarded(const PosixFile& source, std::uint64_t file_bytes, const Share& whole) {
  warn_of_unguarded_reading();
  const Lock lock;
  return read_schema(lock, source, file_bytes, whole);
}

/// Runs in the child.
std::string read_open_file(std::string_view argument, int fd) {
  const auto [path, file_bytes, share] =
      wire::unpacked<std::tuple<std::string, std::uint64_t, Share>>(argument, "a request for metadata");
  const PosixFile source = PosixFile::adopt(path, Fd(fd));
  const Lock lock;
  return wire::packed(read_schema(lock, source, file_bytes, share));
}

IsolatedWork work_for(const PosixFile& source, std::uint64_t file_bytes, const Share& share) {
  return {read_open_file, wire::packed(source.path(), file_bytes, share), source.fd(), "HDF5",
          limits_for(file_bytes, share.count)};
}

/// Returns nothing if there can be no child.
std::optional<SchemaReading> read_in_parts(const PosixFile& source, std::uint64_t file_bytes, Share share) {
  const std::uint64_t cores = std::thread::hardware_concurrency();  // as many as this process may use
  share.count = std::clamp<std::uint64_t>(cores, 1, most_parts);
  std::vector<IsolatedWork> works;
  for (; share.part < share.count; ++share.part) works.push_back(work_for(source, file_bytes, share));
  const auto results = isolated(works);
  if (!results) return std::nullopt;
  std::vector<SchemaReading> parts;
  for (const auto& bytes : *results) parts.push_back(decode(bytes));
  return joined(parts);
}

std::optional<SchemaReading> read_guarded(const PosixFile& source, std::uint64_t file_bytes, const Share& whole) {
  Share small = whole;
  small.most_links = links_of_one;
  const auto bytes = isolated(work_for(source, file_bytes, small));
  if (!bytes) return std::nullopt;
  SchemaReading reading = decode(*bytes);
  if (reading.is_whole) return reading;
  return read_in_parts(source, file_bytes, whole);
}

}  // namespace

SchemaReading read_schema_guarded(const PosixFile& source, std::uint64_t file_bytes, Share whole,
                                  const std::function<std::uint64_t()>& files_after) {
  const auto read = [&] {
    auto guarded = read_guarded(source, file_bytes, whole);
    return guarded ? std::move(*guarded) : read_unguarded(source, file_bytes, whole);
  };
  SchemaReading reading = read();
  if (reading.values > whole.most_value_bytes) {
    whole.files_after = files_after();
    reading = read();
  }
  if (const std::size_t count = reading.no_tensors.size(); count > 0)
    log::warn("{}: {} of its names {}: {}", source.path(), count,
              count == 1 ? "is left out, which is no tensor" : "are left out, which are no tensors",
              join(reading.no_tensors));
  if (!reading.left_out.empty())
    log::warn("{}: attributes that refer to objects of the file are left out: {}", source.path(),
              join(reading.left_out));
  return reading;
}

}  // namespace ckpt::hdf5
