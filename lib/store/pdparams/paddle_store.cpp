#include "store/pdparams/paddle_store.hpp"

#include <array>

#include "store/guarded_reading.hpp"
#include "store/known_schemas.hpp"
#include "store/pdparams/paddle_file.hpp"
#include "store/pdparams/write_file.hpp"
#include "store/pickle/opaque.hpp"
#include "store/torch/admitted_tree.hpp"
#include "store/torch/write_file.hpp"
#include "store/zip/archive.hpp"

namespace ckpt {

namespace {

std::shared_ptr<const Schema> schema_of(const PosixFile& file, std::uint64_t file_bytes) {
  return std::make_shared<const Schema>(pdparams::read_schema(file, file_bytes));
}

class PaddleTrees final : public TreeFormat {
 public:
  bool takes(std::string_view format) const noexcept override { return format == pdparams::format_name; }
  std::string admitted(const std::string& tree) const override { return torch::admitted_tree(tree); }
};

class PaddleStore final : public Store {
 public:
  std::string_view name() const noexcept override { return pdparams::format_name; }

  FormatTraits traits() const override { return {.is_read_by_ranks = true}; }
  const TreeFormat* trees() const noexcept override { return &trees_; }

  bool recognises(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    return pdparams::is_paddle_file(file, file.status().bytes);
  }

  FileCatalog catalog(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    const PosixFile::Status status = file.status();
    if (!pdparams::is_paddle_file(file, status.bytes)) throw misses_file(path, "is no file of paddle.save");
    KnownSchemas& schemas = schemas_[pdparams::is_named_by_paddle(path) ? 1 : 0];
    auto schema = schemas.find(file, status.bytes);
    if (!schema) {
      schema = with_file(path.string(), [&] {
        return read_guarded<schema_of>(file, status.bytes, pdparams::format_name, torch::limits_of_file(status.bytes));
      });
      schemas.remember(file, status, schema);
    }
    return {std::move(schema), status.bytes, status.modified_ns};
  }

  std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) override {
    return pdparams::open_paddle_file(file, catalog);
  }

  std::string tree(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    const std::uint64_t bytes = file.status().bytes;
    IsolationLimits limits = torch::limits_of_file(bytes);
    limits.memory_bytes += torch::memory_of_child(bytes);
    return with_file(path.string(),
                     [&] { return read_guarded<pdparams::read_tree_of>(file, bytes, pdparams::format_name, limits); });
  }

  void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups) const override {
    torch::check_names(datasets, groups);
  }

  std::string_view refused_by(const DType& dtype) const noexcept override { return pdparams::refused_by(dtype); }

  std::vector<std::string> losses(const FileSpec& spec) const override { return pdparams::losses(spec); }

  std::shared_ptr<const NewFile> form(const FileSpec& spec) override {
    return std::make_shared<const NewFile>(pdparams::form_of(spec));
  }

 private:
  std::array<KnownSchemas, 2> schemas_;  // a file's name decides about its types: files that Paddle names, apart
  PaddleTrees trees_;
};

}  // namespace

std::unique_ptr<Store> paddle_store() {
  return std::make_unique<PaddleStore>();
}

}  // namespace ckpt
