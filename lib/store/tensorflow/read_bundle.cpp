#include "store/tensorflow/read_bundle.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/shell_word.hpp"
#include "base/wire.hpp"
#include "store/guarded_reading.hpp"
#include "store/narrow_numbers.hpp"
#include "store/number_words.hpp"
#include "store/tensorflow/element_types.hpp"
#include "store/tensorflow/string_tensor.hpp"

namespace ckpt::tensorflow {

namespace {

/// Tensors of strings beyond this size are not carried.
constexpr std::uint64_t most_string_bytes = 256ULL << 20;

/// An entry of some twenty bytes becomes a tensor with its pieces, an array and a dataset, of which there are copies.
constexpr std::uint64_t memory_per_index_byte = 512;
constexpr std::uint64_t index_bytes_per_second = 1U << 17;

/// The child's answer: a bundle, its files' slots, and their catalogs; or a tree.
using Answer = std::tuple<Bundle, std::vector<std::uint32_t>, std::string, std::string>;

class BundleReader {
 public:
  explicit BundleReader(const BundlePlace& place) : place_(place) {
    const std::filesystem::path index = place.index();
    const PosixFile file = PosixFile::open_for_reading(index);
    with_file(index.string(), [&] { bundle_ = read_index(file, file.status().bytes, place.prefix); });
    for (const std::string& name : bundle_.files) open(name);
    slots_.resize(files_.size(), 1);
  }

  Answer contents() {
    for (const BundleTensor& tensor : bundle_.tensors)
      for (const BundlePiece& piece : tensor.pieces) slots_[piece.file] = std::max(slots_[piece.file], piece.slot + 1);
    parts_.resize(files_.size());
    for (std::size_t file = 0; file < files_.size(); ++file) parts_[file].resize(slots_[file]);
    std::vector<BundleTensor> kept;
    for (BundleTensor& tensor : bundle_.tensors)
      if (add(tensor)) kept.push_back(std::move(tensor));
    bundle_.tensors = std::move(kept);
    std::vector<FileCatalog> catalogs = finish();
    return {std::move(bundle_), std::move(slots_), encode(catalogs), ""};
  }

  std::string tree() {
    std::vector<StringTensor> tensors;
    for (const BundleTensor& tensor : bundle_.tensors) {
      if (tensor.type != string_number || tensor.refusal) continue;
      const BundlePiece& piece = tensor.pieces.front();
      with_place(tensor, piece, [&] {
        if (auto elements = strings_of(tensor); elements && !are_texts(tensor.name, *elements))
          tensors.push_back({tensor.name, tensor.shape, std::move(*elements)});
      });
    }
    return tree_of(tensors);
  }

 private:
  /// A data file, of which there may be more than a process may have open.
  struct DataFile {
    std::filesystem::path path;
    PosixFile::Status status;
  };
  struct Part {
    std::vector<StoredArray> arrays;
    std::vector<Dataset> datasets;
  };

  void open(const std::string& name) {
    const std::filesystem::path path = place_.directory / name;
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      throw Error(Kind::input, path.string(),
                  {"no such file, which " + place_.index().filename().string() + " names", "",
                   "copy it into " + shell_word(place_.directory.string())})
          .in_file(path.string());
    files_.push_back({path, PosixFile::open_for_reading(path).status()});
  }

  template <class Work>
  void with_place(const BundleTensor& tensor, const BundlePiece& piece, Work&& work) const {
    with_file(files_[piece.file].path.string(), [&] { with_context("/" + tensor.name, work); });
  }

  /// Returns the strings, or nothing beyond the limit of all strings.
  std::optional<std::vector<std::string>> strings_of(const BundleTensor& tensor) {
    const BundlePiece& piece = tensor.pieces.front();
    check_place(piece);
    if (piece.place.size() > string_room_) return std::nullopt;
    string_room_ -= piece.place.size();
    const std::string stored =
        PosixFile::open_for_reading(files_[piece.file].path).text(piece.place.lo, piece.place.size());
    return elements_in(stored, numel(tensor.shape), piece.crc);
  }

  void check_place(const BundlePiece& piece) const {
    const std::uint64_t bytes = files_[piece.file].status.bytes;
    if (piece.place.hi <= bytes) return;
    throw Error(Kind::input, "",
                {"its data ends at byte " + std::to_string(piece.place.hi),
                 "it within the file's " + std::to_string(bytes) + " bytes",
                 "was the file cut off when it was copied, or is it of another step? Copy it again"});
  }

  /// Returns whether the layout lists a tensor. Strings that are not texts are leaves.
  bool add(const BundleTensor& tensor) {
    if (tensor.refusal) return add_unreadable(tensor, *tensor.refusal);
    if (tensor.type == string_number) return add_strings(tensor);
    const ElementType type = element_type(tensor.type).value();
    for (const BundlePiece& piece : tensor.pieces) {
      with_place(tensor, piece, [&] { check_place(piece); });
      Dataset dataset;
      if (!piece.place.empty()) {
        dataset.storage = narrow_number(type.mark) ? Storage::filtered : Storage::raw;
        dataset.extents = FileExtents(piece.place.lo, piece.place.size());
        dataset.crc32c = piece.crc;
      }
      if (!type.mark.empty()) dataset.attributes = {{dtype_attribute, text_value(std::string(type.mark))}};
      put(piece, {tensor.name, type.dtype, piece.box.shape(), tensor.shape, false}, std::move(dataset));
    }
    return true;
  }

  bool add_unreadable(const BundleTensor& tensor, const Error& why) {
    put(tensor.pieces.front(), unreadable(tensor.name, why), {});
    return true;
  }

  bool add_strings(const BundleTensor& tensor) {
    const BundlePiece& piece = tensor.pieces.front();
    std::optional<std::vector<std::string>> elements;
    with_place(tensor, piece, [&] { elements = strings_of(tensor); });
    if (!elements)
      throw Error(Kind::input, place_.index().string() + ": /" + tensor.name,
                  {"has " + std::to_string(piece.place.size()) + " bytes of strings", "at most 256 MiB in all",
                   "load the checkpoint with TensorFlow, and save it without this tensor"});
    if (!are_texts(tensor.name, *elements)) {
      const char* const what = tensor.name == object_graph ? "TensorFlow's graph of objects" : "strings of TensorFlow";
      leaves_.push_back({tensor.name, what, "", piece.place.size() << 32U | piece.crc});
      return false;
    }
    Dataset dataset;
    dataset.storage = Storage::verbatim;
    Value value{text_type(), tensor.shape, {}};
    for (const std::string& element : *elements) value.bytes += wire::packed(element);
    dataset.verbatim = std::move(value);
    put(piece, {tensor.name, text_type(), tensor.shape, std::nullopt, true}, std::move(dataset));
    return true;
  }

  void put(const BundlePiece& piece, StoredArray array, Dataset dataset) {
    Part& part = parts_[piece.file][piece.slot];
    part.arrays.push_back(std::move(array));
    part.datasets.push_back(std::move(dataset));
  }

  std::vector<FileCatalog> finish() {
    std::vector<FileCatalog> catalogs;
    for (std::size_t file = 0; file < files_.size(); ++file)
      for (Part& part : parts_[file]) {
        auto schema = std::make_shared<Schema>();
        schema->format = format_name;
        schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(part.arrays));
        schema->datasets = std::move(part.datasets);
        if (catalogs.empty()) {
          schema->has_tree = !leaves_.empty();
          schema->leaves = std::move(leaves_);
        }
        catalogs.push_back({std::move(schema), files_[file].status.bytes, files_[file].status.modified_ns});
      }
    return catalogs;
  }

  const BundlePlace& place_;
  Bundle bundle_;
  std::vector<DataFile> files_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::vector<Part>> parts_;  // by file and slot
  std::vector<Leaf> leaves_;
  std::uint64_t string_room_ = most_string_bytes;
};

std::string answer_in_child(std::string_view argument, int /*fd*/) {
  const auto [directory, prefix, is_tree] =
      wire::unpacked<std::tuple<std::string, std::string, bool>>(argument, "a request for metadata");
  const BundlePlace place{directory, prefix};
  BundleReader reader(place);
  return wire::packed(is_tree ? Answer{{}, {}, "", reader.tree()} : reader.contents());
}

Answer answer_of(const BundlePlace& place, bool is_tree) {
  const std::uint64_t bytes = PosixFile::open_for_reading(place.index()).status().bytes;
  IsolationLimits limits = limits_for(bytes, memory_per_index_byte, index_bytes_per_second);
  limits.memory_bytes += most_string_bytes * 4;
  const std::string request = wire::packed(place.directory.string(), place.prefix, is_tree);
  if (const auto said = isolated({answer_in_child, request, -1, format_name, limits}))
    return wire::unpacked<Answer>(*said, "metadata from a child process");
  warn_of_unguarded_reading();
  return wire::unpacked<Answer>(answer_in_child(request, -1), "metadata");
}

}  // namespace

BundleContents read_bundle(const BundlePlace& place) {
  auto [bundle, slots, catalogs, none] = answer_of(place, false);
  BundleContents contents{std::move(bundle), std::move(slots), decode_catalogs({catalogs})};
  std::uint64_t count = 0;
  for (const std::uint32_t each : contents.slots) count += each;
  bool is_consistent = contents.slots.size() == contents.bundle.files.size() && contents.catalogs.size() == count;
  for (const BundleTensor& tensor : contents.bundle.tensors)
    for (const BundlePiece& piece : tensor.pieces)
      is_consistent = is_consistent && piece.slot < contents.slots[piece.file];
  if (!is_consistent)
    throw Error(Kind::input, place.index().string(), {"contradictory metadata", "that of its files", ""});
  return contents;
}

std::string read_tree(const BundlePlace& place) {
  return std::get<3>(answer_of(place, true));
}

}  // namespace ckpt::tensorflow
