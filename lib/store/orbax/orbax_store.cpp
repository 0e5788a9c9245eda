#include "store/orbax/orbax_store.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/lru.hpp"
#include "store/guarded_reading.hpp"
#include "store/number_words.hpp"
#include "store/offset_file.hpp"
#include "store/orbax/chunk_reader.hpp"
#include "store/orbax/item.hpp"
#include "store/orbax/write_file.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;
using orbax::Item;
using orbax::ItemArray;

/// Items kept between the reading of their catalog and their opening.
constexpr std::size_t most_items = 4;
/// Memory for a child that reads an item's metadata: an entry of 60 bytes becomes some 300.
constexpr std::uint64_t index_memory_bytes = 8ULL << 30;
constexpr std::uint64_t index_processor_s = 120;

fs::path checkpoint_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// Whether a file represents an item: the manifest of a database, or the description of a tree.
bool is_item(const fs::path& path) {
  const bool is_tree = path.filename() == orbax::item_metadata;
  if (!is_tree && path.filename() != orbax::ocdbt_manifest) return false;
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::string begin = file.text(0, std::min<std::uint64_t>(file.status().bytes, 4));
  return is_tree ? begin.starts_with("{") : begin.starts_with(orbax::ocdbt_manifest_magic);
}

std::string item_in_child(std::string_view directory, int /*fd*/) {
  return wire::packed(orbax::read_item(fs::path(directory)));
}

Item guarded_item(const fs::path& directory) {
  IsolationLimits limits;
  limits.memory_bytes += index_memory_bytes;
  limits.processor_s += index_processor_s;
  if (const auto said = isolated({item_in_child, directory.string(), -1, orbax::format_name, limits}))
    return wire::unpacked<Item>(*said, "metadata from a child process");
  warn_of_unguarded_reading();
  return orbax::read_item(directory);
}

/// An array as a catalog lists it.
struct Listed {
  StoredArray array;
  Dataset dataset = {};
};

Listed listed(const ItemArray& array) {
  if (array.refusal) return {unreadable(array.name, *array.refusal)};
  const orbax::ZarrArray& form = array.form;
  Listed entry{{array.name, form.dtype, form.shape, std::nullopt, false, {}}};
  if (!form.mark.empty()) entry.dataset.attributes.push_back({dtype_attribute, text_value(form.mark)});
  if (!array.random_key.empty()) entry.dataset.attributes.push_back({"random_key_impl", text_value(array.random_key)});
  entry.dataset.chunk = form.grid;
  for (const ItemArray::Stored& value : array.values)
    if (value.place.file != orbax::Place::inlined) entry.dataset.bytes_elsewhere += value.place.bytes;
  if (numel(form.shape) == 0) return entry;
  const DecodedChunks::Size size = orbax::decoding_size(array);
  entry.dataset.storage = Storage::filtered;
  entry.dataset.chunk_bytes = size.bytes;
  entry.dataset.decoding_bytes = size.decoding;
  return entry;
}

std::shared_ptr<const Schema> item_schema(const Item& item) {
  auto schema = std::make_shared<Schema>();
  schema->format = orbax::format_name;
  for (const auto& [name, text] : item.texts) schema->attributes.push_back({name, text_value(text)});
  std::vector<StoredArray> arrays;
  for (const ItemArray& array : item.arrays) {
    Listed entry = listed(array);
    arrays.push_back(std::move(entry.array));
    schema->datasets.push_back(std::move(entry.dataset));
  }
  schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
  schema->has_tree = !item.tree.empty();
  return schema;
}

/// Returns what a data file of our own has: of each array one piece, whose chunks lie in it as in one array. Chunks at
/// the array's end may extend the piece beyond it.
std::shared_ptr<const Schema> pieces_in(const Item& item, const fs::path& path) {
  const auto file = static_cast<std::uint32_t>(
      std::find(item.files.begin(), item.files.end(), path.filename().string()) - item.files.begin());
  auto schema = std::make_shared<Schema>();
  schema->format = orbax::format_name;
  std::vector<StoredArray> arrays;
  for (const ItemArray& array : item.arrays) {
    const auto piece = with_file(path.string(), [&] { return orbax::piece_in(array, file); });
    if (!piece) continue;
    Listed entry = listed(array);
    entry.array.shape = piece->box.shape();
    entry.array.global_shape = array.form.shape;
    entry.dataset.storage = Storage::raw;
    entry.dataset.chunk_bytes = entry.dataset.decoding_bytes = entry.dataset.bytes_elsewhere = 0;
    entry.dataset.chunk.reset();
    entry.dataset.extents = FileExtents(piece->offset, bytes_of(entry.array));
    arrays.push_back(std::move(entry.array));
    schema->datasets.push_back(std::move(entry.dataset));
  }
  schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
  return schema;
}

class OrbaxSource final : public OffsetFile {
 public:
  OrbaxSource(const fs::path& path, const FileCatalog& catalog, std::shared_ptr<const Item> item,
              std::shared_ptr<DecodedChunks> chunks)
      : OffsetFile(path, catalog),
        item_(std::move(item)),
        reader_(checkpoint_of(path), item_, std::move(chunks), key_of(file().status())) {}

 private:
  static DecodedChunks::Key key_of(const PosixFile::Status& status) {
    return {status.device, status.inode, status.modified_ns, 0, 0};
  }

  void read_by_format(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    const StoredArray& array = (*schema()->arrays)[dataset];
    const std::size_t found = item_->find(array.name.str());
    if (found == item_->arrays.size() || item_->arrays[found].form.dtype != array.dtype ||
        item_->arrays[found].form.shape != Shape(array.shape))
      throw Error(Kind::input, "",
                  {"is another one now", "what was catalogued", "is the checkpoint still being written?"});
    const std::uint64_t element = array.dtype.size;
    if (offset % element != 0 || out.size() % element != 0)
      throw Error(Kind::input, "", {"read of a part of an element", "", ""});
    const Dataset& size = schema()->datasets[dataset];
    reader_.read(found, {size.chunk_bytes, size.decoding_bytes}, {offset / element, (offset + out.size()) / element},
                 out.data());
  }

  std::shared_ptr<const Item> item_;
  orbax::ChunkReader reader_;
};

/// Whether a file has the data of an item, which its name and the manifest beside it tell.
bool is_data(const fs::path& path) {
  std::error_code none;
  return path.filename().string().starts_with(orbax_data) &&
         fs::is_regular_file(checkpoint_of(path) / orbax::ocdbt_manifest, none);
}

class OcdbtIndex final : public DirectoryIndex {
 public:
  std::string_view name() const noexcept override { return orbax::ocdbt_manifest; }
  std::string file_name(const IndexedPlace& place) const override {
    const std::string number = std::to_string(place.number);
    constexpr std::size_t digits = 7;  // the list of files ascends
    return std::string(orbax_data) + std::string(digits - std::min(digits, number.size()), '0') + number;
  }
  std::string file_template(std::uint64_t /*count*/) const override { return std::string(orbax_data) + "{card:07}"; }
  std::string tensor_name(const std::string& name) const override { return orbax::tensor_name(name); }
  void check(const std::vector<IndexedTensor>& tensors) const override { orbax::check_tensors(tensors); }
  bool has_equal_pieces() const noexcept override { return true; }
  std::vector<std::string_view> companions() const override { return orbax::companions(); }
  std::vector<Text> texts(const std::vector<IndexedFile>& files) const override { return orbax::index_texts(files); }
  bool recognises(const fs::path& path) const override { return is_item(path); }
};

/// Which containers the arrays lie in, and the leaves that are no arrays.
class ItemTrees final : public TreeFormat {
 public:
  bool takes(std::string_view format) const noexcept override { return format == orbax::format_name; }
  std::string admitted(const std::string& tree) const override { return orbax::tree_of(orbax::leaves_in(tree)); }
  bool holds_array_attributes() const noexcept override { return false; }
};

class OrbaxStore final : public Store {
 public:
  std::string_view name() const noexcept override { return orbax::format_name; }

  FormatTraits traits() const override { return {.lacks_empty = true}; }
  const TreeFormat* trees() const noexcept override { return &trees_; }
  const DirectoryIndex* index() const noexcept override { return &index_; }

  bool recognises(const fs::path& path) override { return is_item(path) || is_data(path); }

  FileCatalog catalog(const fs::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    const PosixFile::Status status = file.status();
    if (is_data(path)) {
      const fs::path manifest = checkpoint_of(path) / orbax::ocdbt_manifest;
      const PosixFile::Status version = PosixFile::open_for_reading(manifest).status();
      return {pieces_in(*item(manifest, {version.bytes, version.modified_ns}), path), status.bytes, status.modified_ns};
    }
    if (!is_item(path)) throw misses_file(path, "is no checkpoint of Orbax");
    return {item_schema(*item(path, {status.bytes, status.modified_ns})), status.bytes, status.modified_ns};
  }

  std::unique_ptr<SourceFile> open(const fs::path& path, const FileCatalog& catalog) override {
    if (is_data(path)) return std::make_unique<OffsetFile>(path, catalog);
    return std::make_unique<OrbaxSource>(path, catalog, item(path, {catalog.bytes, catalog.modified_ns}), chunks_);
  }

  std::string tree(const fs::path& path) override {
    const PosixFile::Status status = PosixFile::open_for_reading(path).status();
    return item(path, {status.bytes, status.modified_ns})->tree;
  }

  DecodedChunks* chunks() noexcept override { return chunks_.get(); }
  void decode_into(const std::shared_ptr<DecodedChunks>& chunks) noexcept override { chunks_ = chunks; }

  void check_names(const std::vector<std::string>& datasets,
                   const std::vector<std::string>& /*groups*/) const override {
    orbax::check_names(datasets);
  }
  std::vector<std::string> losses(const FileSpec& spec) const override { return orbax::losses(spec); }
  std::shared_ptr<const NewFile> form(const FileSpec& spec) override {
    return std::make_shared<const NewFile>(orbax::form_of(spec));
  }

 private:
  struct Version {
    std::string path;
    std::uint64_t bytes;
    std::int64_t modified_ns;
    friend bool operator==(const Version&, const Version&) = default;
  };

  std::shared_ptr<const Item> item(const fs::path& path, const FileCatalog::Version& version) {
    const Version key{path.string(), version.bytes, version.modified_ns};
    const std::lock_guard lock(mutex_);
    if (const auto* known = items_.find(key)) return *known;
    return items_.insert(key, std::make_shared<const Item>(guarded_item(checkpoint_of(path))));
  }

  ItemTrees trees_;
  OcdbtIndex index_;
  std::shared_ptr<DecodedChunks> chunks_ = std::make_shared<DecodedChunks>();
  std::mutex mutex_;
  Lru<Version, std::shared_ptr<const Item>> items_{most_items};
};

}  // namespace

std::unique_ptr<Store> orbax_store() {
  return std::make_unique<OrbaxStore>();
}

}  // namespace ckpt
