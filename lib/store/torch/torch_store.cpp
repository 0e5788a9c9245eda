#include "store/torch/torch_store.hpp"

#include <mutex>

#include "base/lru.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "store/guarded_reading.hpp"
#include "store/pdparams/paddle_file.hpp"
#include "store/pickle/opaque.hpp"
#include "store/torch/admitted_tree.hpp"
#include "store/torch/carried_tree.hpp"
#include "store/torch/tree.hpp"
#include "store/torch/write_file.hpp"
#include "store/zip/archive.hpp"
#include "store/zip/checked_file.hpp"

namespace ckpt {

namespace {

constexpr const char* format_name = "torch";

Schema read_schema(const PosixFile& file, std::uint64_t file_bytes) {
  const torch::Archive archive = torch::read_archive(file, file_bytes);
  Schema schema = torch::read_tree(archive.tree, archive.storages,
                                   parse_global_shapes(archive.global_shapes, torch::global_shapes_entry));
  schema.format = format_name;
  schema.has_tree = true;
  schema.layout = archive.layout;
  schema.manifest = archive.manifest;
  return schema;
}

/// Frees the pickle's nodes before the schema is encoded.
std::string read_metadata(const PosixFile& file, std::uint64_t file_bytes) {
  return wire::packed(read_schema(file, file_bytes));
}

std::string read_carried_tree(const PosixFile& file, std::uint64_t file_bytes) {
  return torch::carried_tree(torch::read_archive(file, file_bytes), file);
}

/// Recently read schemas by a child's output: files of different cards mostly have equal ones.
class RecentSchemas {
 public:
  std::shared_ptr<const Schema> shared(std::string said) {
    const std::lock_guard lock(mutex_);
    if (const auto* const known = recent_.find(said)) return *known;
    auto schema = wire::unpacked<std::shared_ptr<const Schema>>(said, "metadata from a child process");
    const std::size_t bytes = said.size();
    return recent_.insert(std::move(said), std::move(schema), bytes);
  }

 private:
  /// Limit on the children's output that is kept.
  static constexpr std::uint64_t most_bytes = 64U << 20;
  using Recent = Lru<std::string, std::shared_ptr<const Schema>>;

  std::mutex mutex_;
  Recent recent_{Recent::no_limit, most_bytes};
};

class TorchTrees final : public TreeFormat {
 public:
  bool takes(std::string_view format) const noexcept override {
    return format == format_name || format == torch::dcp_format || format == pdparams::format_name;
  }
  std::string admitted(const std::string& tree) const override { return torch::admitted_tree(tree); }
};

class TorchStore final : public Store {
 public:
  std::string_view name() const noexcept override { return format_name; }

  FormatTraits traits() const override { return {.is_read_by_ranks = true}; }
  const TreeFormat* trees() const noexcept override { return &trees_; }

  bool recognises(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    return torch::is_torch_file(file, file.status().bytes);
  }

  FileCatalog catalog(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    const PosixFile::Status status = file.status();
    if (!torch::is_torch_file(file, status.bytes)) throw misses_file(path, "is no file of torch.save");
    auto said = with_file(path.string(), [&] {
      return read_guarded<read_metadata>(file, status.bytes, format_name, torch::limits_of_file(status.bytes));
    });
    return {schemas_.shared(std::move(said)), status.bytes, status.modified_ns};
  }

  std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) override {
    return checked_.open(file, catalog);
  }

  std::string tree(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    const std::uint64_t bytes = file.status().bytes;
    IsolationLimits limits = torch::limits_of_file(bytes);
    limits.memory_bytes += torch::memory_of_child(bytes);
    return with_file(path.string(), [&] { return read_guarded<read_carried_tree>(file, bytes, format_name, limits); });
  }

  void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups) const override {
    torch::check_names(datasets, groups);
  }

  std::vector<std::string> losses(const FileSpec& spec) const override { return torch::losses(spec); }

  std::shared_ptr<const NewFile> form(const FileSpec& spec) override {
    return std::make_shared<const NewFile>(torch::form_of(spec));
  }

 private:
  RecentSchemas schemas_;
  torch::CheckedFiles checked_;
  TorchTrees trees_;
};

}  // namespace

std::unique_ptr<Store> torch_store() {
  return std::make_unique<TorchStore>();
}

}  // namespace ckpt
