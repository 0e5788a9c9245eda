#include "store/mindspore/mindspore_store.hpp"

#include <filesystem>
#include <map>
#include <mutex>

#include "io/crc.hpp"
#include "store/guarded_reading.hpp"
#include "store/known_schemas.hpp"
#include "store/mindspore/read_schema.hpp"
#include "store/mindspore/records.hpp"
#include "store/mindspore/write_file.hpp"
#include "store/offset_file.hpp"

namespace ckpt {

namespace {

using mindspore::Beginning;

/// A record takes a dozen bytes at least, and a few hundred of memory; the records' share of the file is not known in
/// advance.
constexpr std::uint64_t memory_per_record_byte = 64;
constexpr std::uint64_t record_bytes_per_second = 1U << 20;

std::shared_ptr<const Schema> read_mindspore(const PosixFile& file, std::uint64_t file_bytes) {
  const IsolationLimits limits = limits_for(file_bytes, memory_per_record_byte, record_bytes_per_second);
  return read_guarded<mindspore::read_schema>(file, file_bytes, mindspore::format_name, limits);
}

void check_beginning(const PosixFile& file, std::uint64_t file_bytes) {
  constexpr char strategy_key = '\x08';
  switch (mindspore::beginning_of(file, file_bytes)) {
    case Beginning::checkpoint:
      return;
    case Beginning::encrypted:
      throw Error(Kind::input, file.path(),
                  {"is encrypted with " + mindspore::cipher_of(file, file_bytes), "a checkpoint that is not",
                   "load it with MindSpore and its key, and save it without one"})
          .in_file(file.path());
    case Beginning::other:
      break;
  }
  const char first = file_bytes > 0 ? file.text(0, 1).front() : '\0';
  Error error = misses_file(file.path(), "is no checkpoint of MindSpore");
  if (first == strategy_key)
    error = {Kind::input, file.path(), {"is a strategy file", "a checkpoint", "give it as the layout"}};
  if (file_bytes == 0)
    error = {Kind::input,
             file.path(),
             {"is empty", "", "MindSpore writes nothing of tensors without elements: was there anything else?"}};
  throw std::move(error).in_file(file.path());
}

/// Remembers the files whose CRC has been compared, so that a process sums each once, however often it is opened.
class CheckedFiles {
 public:
  void check(const std::filesystem::path& path, const FileCatalog& catalog) {
    const PosixFile file = PosixFile::open_for_reading(path);
    if (mindspore::end_of_records(file, catalog.bytes) == catalog.bytes) return;
    const std::lock_guard lock(mutex_);
    const auto found = times_.find(path);
    if (found != times_.end() && found->second == catalog.modified_ns) return;
    mindspore::check_crc(file, catalog.bytes, *catalog.schema);
    times_[path] = catalog.modified_ns;
  }

 private:
  std::mutex mutex_;
  std::map<std::filesystem::path, std::int64_t> times_;
};

class MindSporeChecksum final : public FileChecksum {
 public:
  void write(const std::filesystem::path& path, const FileRoom& room) const override {
    if (!room.checksum) return;
    const PosixFile file = PosixFile::open_for_writing(path);
    const std::string digits = mindspore::crc_digits(crc32.of(file, {0, room.bytes - mindspore::crc_bytes}));
    file.write(room.checksum->lo, std::as_bytes(std::span(digits)));
  }
};

class MindSporeStore final : public Store {
 public:
  std::string_view name() const noexcept override { return mindspore::format_name; }

  bool recognises(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    return mindspore::beginning_of(file, file.status().bytes) != Beginning::other;
  }

  FileCatalog catalog(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    const PosixFile::Status status = file.status();
    check_beginning(file, status.bytes);
    auto schema = schemas_.find(file, status.bytes);
    if (!schema) {
      schema = with_file(path.string(), [&] { return read_mindspore(file, status.bytes); });
      schemas_.remember(file, status, schema);
    }
    return {std::move(schema), status.bytes, status.modified_ns};
  }

  std::unique_ptr<SourceFile> open(const std::filesystem::path& path, const FileCatalog& catalog) override {
    auto file = std::make_unique<OffsetFile>(path, catalog);
    checked_.check(path, catalog);
    return file;
  }

  void check_names(const std::vector<std::string>& datasets,
                   const std::vector<std::string>& /*groups*/) const override {
    mindspore::check_names(datasets);
  }

  std::vector<std::string> losses(const FileSpec& spec) const override { return mindspore::losses(spec); }

  /// MindSpore's save_checkpoint writes these types nevertheless.
  std::string_view refused_by(const DType& dtype) const noexcept override {
    const bool is_refused = dtype.kind == ElementKind::complex || dtype.kind == ElementKind::f8_e4m3 ||
                            dtype.kind == ElementKind::f8_e5m2 || dtype.name == "hif8";
    return is_refused ? "MindSpore's load_checkpoint" : "";
  }

  DType text_dtype(const DType& /*dtype*/) const override { return text_type(); }

  const FileChecksum* checksum() const noexcept override { return &checksum_; }

  std::shared_ptr<const NewFile> form(const FileSpec& spec) override {
    return std::make_shared<const NewFile>(mindspore::form_of(spec));
  }

 private:
  KnownSchemas schemas_;
  CheckedFiles checked_;
  MindSporeChecksum checksum_;
};

}  // namespace

std::unique_ptr<Store> mindspore_store() {
  return std::make_unique<MindSporeStore>();
}

}  // namespace ckpt
