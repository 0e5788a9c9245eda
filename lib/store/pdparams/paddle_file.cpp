#include "store/pdparams/paddle_file.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "store/global_shapes.hpp"
#include "store/offset_file.hpp"
#include "store/pdparams/latin1_data.hpp"
#include "store/pdparams/numpy_arrays.hpp"
#include "store/pdparams/skimmed_pickle.hpp"
#include "store/torch/carried_tree.hpp"
#include "store/torch/legacy_file.hpp"
#include "store/torch/tree.hpp"

namespace ckpt::pdparams {

namespace {

using torch::PickleId;
using torch::PickleKind;

constexpr std::uint64_t first_bytes = 4096;
constexpr std::string_view structured_names = "StructuredToParameterName@@";

bool begins_as_pickle(std::string_view begin) {
  return begin.size() > 2 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5;
}

/// Whether ckpt-reshard wrote a pickle: what it adds comes first, after the protocol and a text's opcode and length.
bool begins_with_own(std::string_view begin) {
  constexpr std::size_t first_text = 7;
  return begin.size() > first_text && begin.substr(first_text).starts_with("ckpt_");
}

std::string begin_of(const PosixFile& file, std::uint64_t file_bytes) {
  return file.text(0, std::min(file_bytes, first_bytes));
}

/// A file's pickle, with its arrays as torch's tensors.
struct PaddleFile {
  torch::Archive archive;
  std::map<std::uint64_t, ScatteredBytes> scattered;
};

/// Takes what ckpt-reshard has added, which stands before everything else: a name, and bytes.
void take_own(const PosixFile& file, SkimmedPickle& skimmed, torch::Archive& archive, std::set<PickleId>& taken) {
  const std::array own{std::pair(layout_name, &archive.layout), std::pair(manifest_name, &archive.manifest),
                       std::pair(global_shapes_name, &archive.global_shapes)};
  const torch::Pickle& pickle = skimmed.pickle();
  for (PickleId id = 0; id + 1 < pickle.nodes().size(); id += 2) {
    const auto* const found = std::find_if(own.begin(), own.end(), [&](const auto& each) {
      return pickle[id].kind == PickleKind::text && pickle[id].text == each.first;
    });
    if (found == own.end() || pickle[id + 1].kind != PickleKind::bytes) return;
    const Interval place = skimmed.place_of(pickle[id + 1].text);
    *found->second = file.text(place.lo, place.size());
    taken.insert(id + 1);
  }
}

PaddleFile read_file(const PosixFile& file, std::uint64_t file_bytes) {
  SkimmedPickle skimmed = SkimmedPickle::read(file, file_bytes);
  PaddleFile read;
  const torch::Pickle& pickle = skimmed.pickle();
  const bool is_paddles = is_named_by_paddle(file.path()) || begins_with_own(begin_of(file, file_bytes)) ||
                          pickle.value_of(pickle.root(), structured_names) != torch::no_node;
  FoundArrays arrays = arrays_as_tensors(skimmed, file_bytes, is_paddles);
  take_own(file, skimmed, read.archive, arrays.data);
  skimmed.complete(file, arrays.data);
  read.archive.tree = skimmed.take();
  read.archive.bytes = skimmed.take_bytes();
  read.archive.storages = std::move(arrays.storages);
  read.scattered = std::move(arrays.scattered);
  return read;
}

/// Arrays of protocol 2, decoded while they are read.
class PaddleSource final : public OffsetFile {
 public:
  using OffsetFile::OffsetFile;

 private:
  void read_by_format(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    data_of(dataset).read(offset, out);
  }

  Latin1Data& data_of(std::size_t dataset) {
    const std::lock_guard lock(mutex_);
    auto& data = data_[dataset];
    if (!data)
      data = std::make_unique<Latin1Data>(file(), schema()->datasets[dataset].extents,
                                          bytes_of((*schema()->arrays)[dataset]));
    return *data;
  }

  std::mutex mutex_;
  std::map<std::size_t, std::unique_ptr<Latin1Data>> data_;
};

}  // namespace

bool is_named_by_paddle(const std::filesystem::path& path) {
  constexpr std::array endings{".pdparams", ".pdopt", ".pdckpt", ".pdtensor", ".pdema", ".pdstates", ".distcp"};
  return std::find(endings.begin(), endings.end(), path.extension().string()) != endings.end();
}

bool is_paddle_file(const PosixFile& file, std::uint64_t file_bytes) {
  const std::string begin = begin_of(file, file_bytes);
  if (!begins_as_pickle(begin) || torch::is_legacy_file(file, file_bytes)) return false;
  return is_named_by_paddle(file.path()) || begins_with_own(begin) ||
         (begin.find("multiarray") != std::string::npos && begin.find("_reconstruct") != std::string::npos);
}

Schema read_schema(const PosixFile& file, std::uint64_t file_bytes) {
  const PaddleFile read = read_file(file, file_bytes);
  Schema schema = torch::read_tree(read.archive.tree, read.archive.storages,
                                   parse_global_shapes(read.archive.global_shapes, global_shapes_name));
  schema.format = format_name;
  schema.has_tree = true;
  schema.layout = read.archive.layout;
  schema.manifest = read.archive.manifest;
  for (Dataset& dataset : schema.datasets) {
    const auto found = read.scattered.find(dataset.extents.offset());
    if (dataset.storage == Storage::empty || found == read.scattered.end()) continue;
    if (dataset.storage == Storage::strided)
      throw Error(Kind::input, "an array of NumPy",
                  {"its columns come first, and protocol 2 stores it as a text", "rows first, or a newer protocol",
                   "load it with paddle, and save it again with protocol=4"});
    dataset.extents = FileExtents(found->second.runs);
    if (found->second.is_text) dataset.storage = Storage::filtered;
  }
  return schema;
}

std::string read_tree_of(const PosixFile& file, std::uint64_t file_bytes) {
  const PaddleFile read = read_file(file, file_bytes);
  return torch::carried_tree(read.archive, file);
}

std::unique_ptr<SourceFile> open_paddle_file(const std::filesystem::path& file, const FileCatalog& catalog) {
  return std::make_unique<PaddleSource>(file, catalog);
}

}  // namespace ckpt::pdparams
