#include "store/safetensors/safetensors_store.hpp"

#include <filesystem>

#include "store/guarded_reading.hpp"
#include "store/known_schemas.hpp"
#include "store/offset_file.hpp"
#include "store/safetensors/header.hpp"
#include "store/safetensors/read_schema.hpp"
#include "store/safetensors/write_file.hpp"

namespace ckpt {

namespace {

/// Several copies of a header exist while it is read.
constexpr std::uint64_t memory_per_byte = 64;
constexpr std::uint64_t bytes_per_second = 1U << 20;

std::shared_ptr<const Schema> read_whole(const PosixFile& file, std::uint64_t file_bytes) {
  return safetensors::read_schema(file, {0, file_bytes});
}

std::shared_ptr<const Schema> read_safetensors(const PosixFile& file, std::uint64_t file_bytes) {
  const IsolationLimits limits = limits_for(safetensors::header_bytes(file), memory_per_byte, bytes_per_second);
  return read_guarded<read_whole>(file, file_bytes, "safetensors", limits);
}

class SafetensorsStore final : public Store {
 public:
  std::string_view name() const noexcept override { return "safetensors"; }

  FormatTraits traits() const override {
    // Transformers requires the attribute in a model's files.
    return {.keeps_trees = true, .is_read_by_ranks = true, .model_attribute = Attribute{"format", text_value("pt")}};
  }

  bool recognises(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    return safetensors::is_safetensors(file, {0, file.status().bytes});
  }

  FileCatalog catalog(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    const PosixFile::Status status = file.status();
    if (!safetensors::is_safetensors(file, {0, status.bytes})) throw misses_file(path, "is no safetensors file");
    auto schema = schemas_.find(file, status.bytes);
    if (!schema) {
      schema = with_file(path.string(), [&] { return read_safetensors(file, status.bytes); });
      schemas_.remember(file, status, schema);
    }
    return {std::move(schema), status.bytes, status.modified_ns};
  }

  std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) override {
    return std::make_unique<OffsetFile>(file, catalog);
  }

  void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups) const override {
    safetensors::check_names(datasets, groups);
  }

  std::vector<std::string> losses(const FileSpec& spec) const override { return safetensors::losses(spec); }

  std::string manifest_bytes(const std::string& text) const override { return safetensors::quoted_inside(text); }

  std::shared_ptr<const NewFile> form(const FileSpec& spec) override {
    return std::make_shared<const NewFile>(safetensors::form_of(spec));
  }

 private:
  KnownSchemas schemas_;
};

}  // namespace

std::unique_ptr<Store> safetensors_store() {
  return std::make_unique<SafetensorsStore>();
}

}  // namespace ckpt
