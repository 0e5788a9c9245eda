#include "store/hdf5/guarded_schema.hpp"

#include <spdlog/spdlog.h>

#include <atomic>

#include "base/checked.hpp"
#include "store/byte_stream.hpp"
#include "store/hdf5/read_schema.hpp"
#include "store/isolated.hpp"

namespace ckpt::hdf5 {

namespace {

/// Values of variable length are held a few times over while they are read.
constexpr std::uint64_t memory_per_byte = 4;
/// Of the processor. HDF5 takes some 50 µs for a dataset, which is a few hundred bytes of metadata: 0.2 s for a MiB.
constexpr std::uint64_t bytes_per_second = 1U << 20;

IsolationLimits limits_for(std::uint64_t file_bytes) {
  IsolationLimits limits;
  limits.memory_bytes = checked_add(limits.memory_bytes, checked_mul(file_bytes, memory_per_byte));
  limits.processor_s += file_bytes / bytes_per_second;
  limits.clock_s += limits.processor_s;
  return limits;
}

std::string encode(const SchemaReading& reading) {
  ByteWriter out;
  out.text(ckpt::encode(FileCatalog{reading.schema, 0, 0}));
  out.number(reading.remarks.size());
  for (const auto& remark : reading.remarks) {
    out.flag(remark.is_warning);
    out.text(remark.text);
  }
  return out.take();
}

SchemaReading decode(std::string_view bytes) {
  ByteReader in(bytes, "a catalog from a child process");
  SchemaReading reading;
  reading.schema = decode_catalog(in.text()).schema;
  reading.remarks.resize(in.count(1 + sizeof(std::uint64_t)));
  for (auto& remark : reading.remarks) {
    remark.is_warning = in.flag();
    remark.text = in.text();
  }
  in.finish();
  return reading;
}

/// Better in this process than not at all: a limit on processes says nothing about the file.
SchemaReading read_unguarded(const PosixFile& source, std::uint64_t file_bytes) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    spdlog::warn("no child process to be had to read metadata in: a damaged file may crash this one");
  const Lock lock;
  return read_schema(lock, source, file_bytes);
}

/// What the child does.
std::string read_open_file(std::string_view argument, int fd) {
  ByteReader in(argument, "a request for metadata");
  const std::uint64_t file_bytes = in.number();
  const PosixFile source = PosixFile::adopt(in.text(), Fd(fd));
  const Lock lock;
  return encode(read_schema(lock, source, file_bytes));
}

std::string request(const PosixFile& source, std::uint64_t file_bytes) {
  ByteWriter out;
  out.number(file_bytes);
  out.text(source.path());
  return out.take();
}

}  // namespace

std::shared_ptr<const Schema> read_schema_guarded(const PosixFile& source, std::uint64_t file_bytes) {
  const auto bytes =
      isolated({read_open_file, request(source, file_bytes), source.fd(), "HDF5", limits_for(file_bytes)});
  const SchemaReading reading = bytes ? decode(*bytes) : read_unguarded(source, file_bytes);
  for (const auto& remark : reading.remarks)
    spdlog::log(remark.is_warning ? spdlog::level::warn : spdlog::level::info, "{}: {}", source.path(), remark.text);
  return reading.schema;
}

}  // namespace ckpt::hdf5
