#include "store/tensorflow/tensorflow_store.hpp"

#include <utility>

#include "io/crc.hpp"
#include "io/posix_file.hpp"
#include "store/checked_file.hpp"
#include "store/narrow_numbers.hpp"
#include "store/number_words.hpp"
#include "store/tensorflow/read_bundle.hpp"
#include "store/tensorflow/string_tensor.hpp"
#include "store/tensorflow/table.hpp"
#include "store/tensorflow/write_file.hpp"

namespace ckpt {

namespace {

constexpr std::string_view written_prefix = "model.ckpt";
/// By it readers find the index, which may have any name.
constexpr const char* state_file = "checkpoint";
constexpr std::string_view state_text =
    "model_checkpoint_path: \"model.ckpt\"\nall_model_checkpoint_paths: \"model.ckpt\"\n";

/// The bundle of a data file.
tensorflow::BundlePlace place_of(const std::filesystem::path& data) {
  return {data.has_parent_path() ? data.parent_path() : ".",
          tensorflow::prefix_of_data(data.filename().string()).value_or("")};
}

/// The data of a data file, with integers of fewer than 8 bits as those that their bytes are to hold.
class Data final : public OffsetFile {
 public:
  using OffsetFile::OffsetFile;

 private:
  void read_by_format(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    const Dataset& of = schema()->datasets.at(dataset);
    file().read(of.extents.offset() + offset, out);
    for (const Attribute& attribute : of.attributes)
      if (attribute.name == dtype_attribute)
        if (const auto narrow = narrow_number(text_in(attribute.value).value_or(""))) widen(*narrow, out);
  }
};

/// A data file, whose checksums are in the index.
class DataFile final : public CheckedFile {
 public:
  DataFile(const std::filesystem::path& path, const FileCatalog& catalog)
      : CheckedFile(std::make_unique<Data>(path, catalog), path, catalog) {}

  std::optional<StoredSum> stored_sum(std::size_t number) const override {
    const Dataset& of = dataset(number);
    if (!of.crc32c || of.extents.bytes() == 0) return std::nullopt;
    return StoredSum{&crc32c, *of.crc32c, {of.extents.offset(), of.extents.offset() + of.extents.bytes()}};
  }
};

class StringTrees final : public TreeFormat {
 public:
  bool takes(std::string_view format) const noexcept override { return format == tensorflow::format_name; }
  std::string admitted(const std::string& tree) const override { return tensorflow::admitted_tree(tree); }
};

class BundleIndex final : public DirectoryIndex {
 public:
  std::string_view name() const noexcept override { return tensorflow_index; }
  std::string file_name(const IndexedPlace& place) const override {
    return tensorflow::data_name(std::string(written_prefix), place.number, place.count);
  }
  std::string file_template(std::uint64_t count) const override {
    std::string name = tensorflow::data_name(std::string(written_prefix), 0, count);
    return name.replace(name.find("00000"), 5, "{card:05}");
  }
  bool has_sums() const noexcept override { return true; }
  std::vector<std::string_view> companions() const override { return {state_file}; }
  std::vector<Text> texts(const std::vector<IndexedFile>& files) const override {
    return {{state_file, std::string(state_text)}, {std::string(name()), tensorflow::index_text(files)}};
  }
  bool recognises(const std::filesystem::path& path) const override {
    const PosixFile file = PosixFile::open_for_reading(path);
    return tensorflow::ends_as_table(file, file.status().bytes);
  }
};

class TensorflowStore final : public Store {
 public:
  std::string_view name() const noexcept override { return tensorflow::format_name; }

  const TreeFormat* trees() const noexcept override { return &trees_; }
  const DirectoryIndex* index() const noexcept override { return &index_; }

  /// A data file is nothing but data: its name and the index beside it identify it.
  bool recognises(const std::filesystem::path& path) override {
    const tensorflow::BundlePlace place = place_of(path);
    std::error_code none;
    return !place.prefix.empty() && std::filesystem::is_regular_file(place.index(), none);
  }

  FileCatalog catalog(const std::filesystem::path& path) override {
    throw Error(Kind::input, path.string(),
                {"is one data file of a checkpoint of TensorFlow", "the checkpoint, whose index says what is in it",
                 "give " + place_of(path).index().string()});
  }

  std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) override {
    return std::make_unique<DataFile>(file, catalog);
  }

  std::string tree(const std::filesystem::path& path) override { return tensorflow::read_tree(place_of(path)); }

  void check_names(const std::vector<std::string>& datasets,
                   const std::vector<std::string>& /*groups*/) const override {
    tensorflow::check_names(datasets);
  }

  std::vector<std::string> losses(const FileSpec& spec) const override { return tensorflow::losses(spec); }

  std::shared_ptr<const NewFile> form(const FileSpec& spec) override {
    return std::make_shared<const NewFile>(tensorflow::form_of(spec));
  }

 private:
  StringTrees trees_;
  BundleIndex index_;
};

}  // namespace

std::unique_ptr<Store> tensorflow_store() {
  return std::make_unique<TensorflowStore>();
}

}  // namespace ckpt
