#include "store/dcp/dcp_store.hpp"

#include "base/utf8.hpp"
#include "io/posix_file.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "store/dcp/dcp_file.hpp"
#include "store/dcp/dcp_parts.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/safetensors/read_schema.hpp"
#include "store/torch/admitted_tree.hpp"
#include "store/zip/checked_file.hpp"
#include "store/zip/zip_directory.hpp"

namespace ckpt {

namespace {

constexpr std::string_view pickle_begin = "\x80";

class DcpTrees final : public TreeFormat {
 public:
  bool takes(std::string_view format) const noexcept override {
    return format == torch::dcp_format || format == torch::torch_dist_format || format == "torch";
  }
  std::string admitted(const std::string& tree) const override { return torch::admitted_tree(tree); }
};

class DcpIndex final : public DirectoryIndex {
 public:
  std::string_view name() const noexcept override { return torch::dcp_index; }
  std::string file_name(const IndexedPlace& place) const override {
    return "__" + std::to_string(place.card) + "_" + std::to_string(place.of_card) + torch::dcp_ending;
  }
  std::string file_template(std::uint64_t /*count*/) const override {
    return "__{card}_0" + std::string(torch::dcp_ending);
  }
  std::string tensor_name(const std::string& name) const override { return torch::dcp_name(torch::dcp_path(name)); }
  std::vector<Text> texts(const std::vector<IndexedFile>& files) const override {
    return {{std::string(name()), torch::pickled(torch::dcp_metadata_of(files))}};
  }
  bool recognises(const std::filesystem::path& path) const override {
    const PosixFile file = PosixFile::open_for_reading(path);
    return file.status().bytes > 0 && file.text(0, 1) == pickle_begin;
  }
};

class DcpStore : public Store {
 public:
  std::string_view name() const noexcept override { return torch::dcp_format; }

  FormatTraits traits() const override { return {.is_read_by_ranks = true}; }
  const TreeFormat* trees() const noexcept override { return &trees_; }
  const DirectoryIndex* index() const noexcept override { return &index_; }

  /// Recognises both serialisations.
  bool recognises(const std::filesystem::path& path) override {
    if (path.extension() != torch::dcp_ending) return false;
    const PosixFile file = PosixFile::open_for_reading(path);
    const std::uint64_t bytes = file.status().bytes;
    return !torch::first_entry(file, bytes).empty() || safetensors::is_safetensors(file, {0, bytes});
  }

  FileCatalog catalog(const std::filesystem::path& path) override {
    throw Error(Kind::input, path.string(),
                {"is one file of a checkpoint of torch.distributed.checkpoint",
                 "the directory with its " + std::string(torch::dcp_index) + ", which tells what is in it",
                 "give the directory"});
  }

  std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) override {
    return torch::open_items(file, catalog);
  }

  std::string tree(const std::filesystem::path& path) override {
    return with_file(path.string(), [&] { return torch::read_dcp_tree(path.parent_path()); });
  }

  void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups) const override {
    for (const auto* const names : {&datasets, &groups})
      for (const std::string& name : *names)
        if (name.empty() || !is_utf8(name))
          throw Error(Kind::input, "tensor name \"" + name + '"',
                      {"it is no UTF-8", "text, as torch files hold names", "", {Advice::What::rename, ""}});
  }

  std::vector<std::string> losses(const FileSpec& spec) const override { return torch::dcp_losses(spec); }

  std::shared_ptr<const NewFile> form(const FileSpec& spec) override {
    return std::make_shared<const NewFile>(torch::dcp_form(spec));
  }

 private:
  DcpTrees trees_;
  DcpIndex index_;
};

class TorchDistStore final : public DcpStore {
 public:
  std::string_view name() const noexcept override { return torch::torch_dist_format; }
};

}  // namespace

std::unique_ptr<Store> dcp_store() {
  return std::make_unique<DcpStore>();
}

std::unique_ptr<Store> torch_dist_store() {
  return std::make_unique<TorchDistStore>();
}

}  // namespace ckpt
