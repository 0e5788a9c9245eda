#include "store/stores.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "io/posix_file.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "store/dcp/dcp_store.hpp"
#include "store/gguf/gguf_store.hpp"
#include "store/hdf5/hdf5_store.hpp"
#include "store/hdf5/library.hpp"
#include "store/likely_content.hpp"
#include "store/mindspore/mindspore_store.hpp"
#include "store/npz/npz_store.hpp"
#include "store/number_rules.hpp"
#include "store/orbax/orbax_store.hpp"
#include "store/paddle/shard_file.hpp"
#include "store/paddle_static/paddle_static_store.hpp"
#include "store/pdparams/dist_store.hpp"
#include "store/pdparams/paddle_store.hpp"
#include "store/safetensors/safetensors_store.hpp"
#include "store/tensorflow/tensorflow_store.hpp"
#include "store/torch/torch_store.hpp"

namespace ckpt {

namespace {

/// Makes the store of a format without values of variable length beyond its files' small headers.
template <std::unique_ptr<Store> (*make)()>
std::unique_ptr<Store> small_values(std::uint64_t /*value_bytes*/) {
  return make();
}

}  // namespace

const std::vector<Format>& formats() {
  constexpr std::string_view lightning = ".ckpt";  // the ending of PyTorch Lightning's files, which are torch's
  static const std::vector<Format> all{
      {.name = "hdf5",
       .ending = ".h5",
       .other_endings = {".hdf5", ".he5"},
       .make = hdf5_store,
       .library_version = hdf5::version},
      {.name = "safetensors", .ending = ".safetensors", .make = small_values<safetensors_store>},
      {.name = "mindspore", .ending = ".ckpt", .make = small_values<mindspore_store>},
      {.name = "torch",
       .ending = ".pt",
       .other_endings = {".pth", ".bin"},
       .make = small_values<torch_store>,
       .shared_ending = lightning},
      {.name = "npz",
       .ending = ".npz",
       .other_endings = {".npy"},
       .make = small_values<npz_store>,
       .is_written = false},
      {.name = "gguf", .ending = ".gguf", .make = small_values<gguf_store>, .is_written = false},
      {.name = "orbax",
       .about = "a directory as Orbax (JAX) writes it",
       .ending = "manifest.ocdbt",
       .other_endings = {"_METADATA"},
       .make = small_values<orbax_store>,
       .index_name = "manifest.ocdbt",
       .beginning = orbax_data,
       .is_directory = true},
      {.name = "paddle", .ending = ".pdparams", .other_endings = {".pdopt"}, .make = small_values<paddle_store>},
      {.name = "paddle_static", .ending = ".pdiparams", .make = small_values<paddle_static_store>, .is_written = false},
      {.name = "dcp",
       .about = "a directory as torch.distributed.checkpoint writes it",
       .ending = ".distcp",
       .make = small_values<dcp_store>,
       .index_name = torch::dcp_index,
       .shared_ending = lightning},
      {.name = "torch_dist",
       .about = "one as Megatron does, of what it saved with --ckpt-format torch",
       .ending = ".distcp",
       .make = small_values<torch_dist_store>,
       .index_name = torch::dcp_index,
       .shared_ending = lightning},
      {.name = "tensorflow",
       .about = "a directory with a checkpoint as TensorFlow's Saver writes it",
       .ending = ".data-00000-of-00001",
       .make = small_values<tensorflow_store>,
       .index_name = tensorflow_index,
       .beginning = "model.ckpt.data-"},
      {.name = "paddle_dist",
       .about = "one as paddle.distributed.save_state_dict does",
       .ending = ".distcp",
       .make = small_values<paddle_dist_store>,
       .index_name = pdparams::dist_index}};
  return all;
}

std::string names_of_files(const std::vector<Format>& formats) {
  std::vector<std::string> names;
  for (const Format& format : formats)
    if (format.index_name.empty()) names.emplace_back(format.name);
  return join(names, names.size());
}

void leave_libraries_at_exit() {
  hdf5::leave_open_at_exit();
}

const Format* format_by_ending(const std::vector<Format>& formats, std::string_view name) {
  for (const Format& format : formats)
    if (name.ends_with(format.ending) || std::any_of(format.other_endings.begin(), format.other_endings.end(),
                                                     [&](std::string_view ending) { return name.ends_with(ending); }))
      return &format;
  return nullptr;
}

class Stores::ByContent final : public SourceStore {
 public:
  /// `chunks`: the cache of all stores.
  ByContent(Stores& stores, std::shared_ptr<DecodedChunks> chunks) : stores_(stores), chunks_(std::move(chunks)) {}

  std::optional<FileStatus> look_at(const std::filesystem::path& path) override {
    for (const auto& store : stores_.stores_)
      if (auto found = store->look_at(path)) return found;
    return std::nullopt;
  }

  bool recognises(const std::filesystem::path& file) override { return find(file) != nullptr; }

  FileCatalog catalog(const std::filesystem::path& file) override {
    Store* const store = find(file);
    if (store == nullptr) check_likely(file);
    Store& reader = store != nullptr ? *store : likeliest(file);
    return stores_.numbers_.applied(file.string(), reader.catalog(file), reader);
  }

  std::string tree(const std::filesystem::path& file) override {
    SourceStore* const store = find(file);
    return store != nullptr ? store->tree(file) : std::string();
  }

  Value whole_texts(const TextsOfFile& source) override {
    SourceStore* const store = find(source.file);
    return store != nullptr ? store->whole_texts(source) : SourceStore::whole_texts(source);
  }

  std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) override {
    if (catalog.schema->format == paddle_text_format) return open_shard(file, catalog, paused_);
    return stores_.named(catalog.schema->format).open(file, catalog);
  }

  DecodedChunks* chunks() noexcept override { return chunks_.get(); }

  /// One format alone has files that show others.
  ViewedFiles* viewed() noexcept override {
    for (const auto& store : stores_.stores_)
      if (ViewedFiles* const found = store->viewed()) return found;
    return nullptr;
  }

 private:
  /// Throws if the content is recognised as something else, whatever the name, and if neither content nor name is
  /// known.
  void check_likely(const std::filesystem::path& file) {
    if (!look_at(file)) return;  // its format reports that
    const LikelyContent likely = likely_content(file);
    if (likely.what.empty() && format_by_ending(stores_.formats_, file.native()) != nullptr) return;
    throw Error(Kind::input, file.string(),
                {"it has none of the known formats" + likely.seeming(), names_of_files(stores_.formats_),
                 likely.remedy.empty() ? "check the path" : likely.remedy});
  }

  /// Asks the likeliest store first: others may have to read many places of the file.
  Store* find(const std::filesystem::path& file) {
    Store& first = likeliest(file);
    if (first.recognises(file)) return &first;
    for (const auto& store : stores_.stores_)
      if (store.get() != &first && store->recognises(file)) return store.get();
    return nullptr;
  }

  Store& likeliest(const std::filesystem::path& file) {
    const Format* const format = format_by_ending(stores_.formats_, file.native());
    return format != nullptr ? stores_.named(format->name) : *stores_.stores_.front();
  }

  Stores& stores_;
  std::shared_ptr<DecodedChunks> chunks_;
  std::shared_ptr<PausedReads> paused_ = resting_readings();
};

Stores::Stores(std::vector<Format> formats, std::uint64_t value_bytes) : formats_(std::move(formats)) {
  const auto chunks = std::make_shared<DecodedChunks>();
  reading_ = std::make_unique<ByContent>(*this, chunks);
  for (const Format& format : formats_) {
    stores_.push_back(format.make(value_bytes));
    stores_.back()->decode_into(chunks);
  }
}

Stores::~Stores() = default;

Store& Stores::named(std::string_view name) {
  for (std::size_t i = 0; i < formats_.size(); ++i)
    if (formats_[i].name == name) return *stores_[i];
  throw Error(Kind::usage, std::string(name), {"no file format", "", ""});
}

}  // namespace ckpt
