#include "store/hdf5/hdf5_store.hpp"

#include <mutex>

#include "base/wire.hpp"
#include "io/file_lock.hpp"
#include "io/posix_file.hpp"
#include "store/hdf5/datatype.hpp"
#include "store/hdf5/global_heap.hpp"
#include "store/hdf5/guarded_schema.hpp"
#include "store/hdf5/known_skeletons.hpp"
#include "store/hdf5/library.hpp"
#include "store/hdf5/marked_type.hpp"
#include "store/hdf5/object_names.hpp"
#include "store/hdf5/source_file.hpp"
#include "store/hdf5/text_heap.hpp"
#include "store/known_schemas.hpp"
#include "store/value_memory.hpp"
#include "store/viewed_files.hpp"

namespace ckpt {

namespace {

constexpr std::string_view signature = "\211HDF\r\n\032\n";

/// The signature is at the start, or after a user block of 512, 1024, … bytes.
bool has_signature(const PosixFile& file, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at + signature.size() <= bytes; at = at == 0 ? 512 : at * 2) {
    if (file.text(at, signature.size()) == signature) return true;
  }
  return false;
}

/// HDF5 itself would refuse such a file, but also every file on a file system without locks.
void refuse_open_for_writing(const PosixFile& file) {
  if (!is_locked_by_writer(file.fd())) return;
  throw Error(Kind::input, file.path(),
              {"it is open for writing by another process, which holds a lock on it",
               "a file that nobody writes",
               "wait until it has closed it",
               {Advice::What::wait_for_writer, ""}});
}

class Hdf5Store final : public Store {
 public:
  /// Starts the library before threads take up the memory: it does not survive a failing start.
  explicit Hdf5Store(std::uint64_t value_bytes)
      : skeletons_(hdf5::most_text_bytes(value_bytes)), most_values_(value_bytes) {
    const hdf5::Lock started;
  }

  std::string_view name() const noexcept override { return "hdf5"; }

  FormatTraits traits() const override {
    return {.keeps_trees = true,
            .shows_others = true,
            .ends_with_manifest = true,
            .lacks_small_floats = true,
            .streams_texts = true};
  }

  bool recognises(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    return has_signature(file, file.status().bytes);
  }

  FileCatalog catalog(const std::filesystem::path& path) override { return viewed_->checked(path, said_by(path)); }

  std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) override {
    return hdf5::open_source(file, catalog, chunks_, viewed_);
  }

  DType read_as(const DType& wanted, const DType& stored) const override {
    const hdf5::Lock lock;
    return hdf5::stored_as(wanted, stored);
  }

  Value whole_texts(const TextsOfFile& source) override {
    const LongTexts& texts = source.texts;
    {
      const std::lock_guard lock(reading_);
      with_file(source.file.string(), [&] { keep(texts.bytes, texts.bytes); });
    }
    Value value{texts.dtype, texts.shape, {}};
    value.bytes.reserve(texts.bytes);
    hdf5::for_each_text(source, hdf5::most_text_bytes(most_values_), [&](std::optional<std::string_view> text) {
      value.bytes += text ? wire::packed(*text) : wire::packed(no_text);
    });
    return value;
  }

  DecodedChunks* chunks() noexcept override { return chunks_.get(); }
  void decode_into(const std::shared_ptr<DecodedChunks>& chunks) noexcept override { chunks_ = chunks; }
  ViewedFiles* viewed() noexcept override { return viewed_.get(); }

  void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups) const override {
    hdf5::check_names(datasets, groups);
  }

  std::vector<std::string> losses(const FileSpec& spec) const override {
    const hdf5::Lock lock;
    for (const auto& array : spec.arrays)
      with_parameter(array.name.str(), [&] { with_context("/" + array.name, [&] { hdf5::make_type(array.dtype); }); });
    return {};
  }

  DType text_dtype(const DType& dtype) const override {
    const hdf5::Lock lock;
    return dtype == text_type() ? hdf5::describe(hdf5::make_type(dtype).get()) : dtype;
  }

  std::shared_ptr<const NewFile> form(const FileSpec& spec) override { return skeletons_.get(spec); }

 private:
  /// Returns a file's catalog without opening the files that it shows.
  FileCatalog said_by(const std::filesystem::path& path) {
    const PosixFile file = PosixFile::open_for_reading(path);
    const PosixFile::Status status = file.status();
    if (status.bytes == 0)
      throw Error(Kind::input, path.string(), {"is empty", "an HDF5 file", "was its writer killed?"});
    if (!has_signature(file, status.bytes)) throw misses_file(path, "is no HDF5 file");
    refuse_open_for_writing(file);
    const std::uint64_t seen = schemas_.version();
    auto schema = schemas_.find(file, status.bytes);
    if (!schema) schema = with_file(path.string(), [&] { return read_new(file, status, seen); });
    return {std::move(schema), status.bytes, status.modified_ns};
  }

  /// HDF5 serves one thread at a time: a thread that had to wait looks again for the schema first.
  std::shared_ptr<const Schema> read_new(const PosixFile& file, const PosixFile::Status& status, std::uint64_t seen) {
    const std::lock_guard lock(reading_);
    if (schemas_.version() != seen)
      if (auto schema = schemas_.find(file, status.bytes)) return schema;
    hdf5::Share whole;
    whole.most_value_bytes = most_values_ - values_;
    whole.values_before = values_;
    whole.wanted_before = wanted_;
    const hdf5::SchemaReading reading =
        hdf5::read_schema_guarded(file, status.bytes, whole, [&] { return files_after(file.path()); });
    ++files_;
    // Several children together may exceed it. Files that are read at the same time come in any order: which of them
    // exceeds the limit is chance.
    keep(value_bytes(*reading.schema), reading.values);
    schemas_.remember(file, status, reading.schema);
    return reading.schema;
  }

  /// How many files beside this one are probably read after it, for an error's advice.
  std::uint64_t files_after(const std::filesystem::path& path) const {
    std::uint64_t files = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator each(path.parent_path(), error), end; !error && each != end;
         each.increment(error))
      if (each->path().extension() == path.extension()) ++files;
    return files > files_ ? files - files_ - 1 : 0;
  }

  /// Throws input if `values` bytes exceed the limit. `wanted`: includes values refused earlier. The caller holds
  /// reading_.
  void keep(std::uint64_t values, std::uint64_t wanted) {
    wanted_ += wanted;
    if (values > most_values_ - values_) throw hdf5::too_many_values(most_values_, wanted_);
    values_ += values;
  }

  std::shared_ptr<DecodedChunks> chunks_ = std::make_shared<DecodedChunks>();
  KnownSchemas schemas_;
  hdf5::KnownSkeletons skeletons_;
  std::mutex reading_;
  std::uint64_t most_values_;  // memory for values of variable length
  // Guarded by reading_:
  std::uint64_t values_ = 0;  // what they take
  std::uint64_t wanted_ = 0;  // what they would take, were none refused
  std::uint64_t files_ = 0;   // whose metadata were read
  std::shared_ptr<ViewedFiles> viewed_ = std::make_shared<ViewedFiles>(
      [this](const std::filesystem::path& file) { return said_by(file); },
      [this](const std::filesystem::path& file, const FileCatalog& catalog) { return open(file, catalog); });
};

}  // namespace

std::unique_ptr<Store> hdf5_store(std::uint64_t value_bytes) {
  return std::make_unique<Hdf5Store>(value_bytes);
}

}  // namespace ckpt
