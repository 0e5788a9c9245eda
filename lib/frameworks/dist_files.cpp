#include "frameworks/dist_files.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "frameworks/piece_files.hpp"
#include "store/catalog.hpp"
#include "store/torch/element_types.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

/// A run of the elements that a file has of a tensor: a box of the tensor.
struct Run {
  const DistTensor* tensor = nullptr;
  const DistPiece* piece = nullptr;
  Box box;
  std::uint64_t first = 0;  ///< the element of the file's array with which it begins
};

/// Divides a piece into boxes whose elements lie together.
std::vector<Run> runs_of(const DistTensor& tensor, const DistPiece& piece) {
  if (!piece.flat || piece.flat->empty()) return {{&tensor, &piece, piece.box, 0}};
  std::vector<Run> runs;
  std::uint64_t first = 0;
  for_each_box(piece.box.shape(), *piece.flat, [&](Box box) {
    const std::uint64_t count = numel(box.shape());
    for (std::size_t d = 0; d < box.rank(); ++d) box.set(d, {box.lo[d] + piece.box.lo[d], box.hi[d] + piece.box.lo[d]});
    runs.push_back({&tensor, &piece, std::move(box), first});
    first += count;
  });
  return runs;
}

class DistDescription {
 public:
  DistDescription(const DistSource& source, const DistMetadata& metadata, SourceStore& store)
      : source_(source),
        directory_(source.metadata.parent_path()),
        store_(store),
        metadata_(metadata),
        slots_(place_runs()),
        files_(metadata_.files, slot_counts(), source_.metadata.string()) {}

  DirectoryDescription describe() {
    std::vector<CutTensor> tensors;
    for (const DistTensor& tensor : metadata_.tensors) tensors.push_back({tensor.name, tensor.shape, {}});
    for (std::uint32_t file = 0; file < slots_.size(); ++file)
      for (std::uint32_t slot = 0; slot < slots_[file].size(); ++slot)
        for (const Run& run : slots_[file][slot])
          tensors[static_cast<std::size_t>(run.tensor - metadata_.tensors.data())].held.push_back(
              {files_.card(file, slot), run.box});
    return files_.described(
        tensors, {source_.metadata.string(), "what " + directory_.string() + " says of itself", source_.usual},
        [this] { return catalogs(); });
  }

 private:
  using Slots = std::vector<std::vector<std::vector<Run>>>;  // by file and slot

  /// A slot has at most one piece of each tensor.
  Slots place_runs() const {
    Slots slots(metadata_.files.size());
    for (const DistTensor& tensor : metadata_.tensors) {
      std::map<std::uint32_t, std::size_t> used;  // by file
      for (const DistPiece& piece : tensor.pieces) {
        const std::vector<Run> runs = runs_of(tensor, piece);
        for (const std::uint32_t file : piece.files) {
          if (used.contains(file))
            throw Error(Kind::input, source_.metadata.string() + ": /" + tensor.name,
                        {"has two pieces in " + metadata_.files[file], "one in each file", "is the file damaged?"});
          used[file] = runs.size();
          if (slots[file].size() < runs.size()) slots[file].resize(runs.size());
          for (std::size_t slot = 0; slot < runs.size(); ++slot) slots[file][slot].push_back(runs[slot]);
        }
      }
    }
    for (auto& of_file : slots)
      if (of_file.empty()) of_file.resize(1);
    return slots;
  }

  std::vector<std::uint32_t> slot_counts() const {
    std::vector<std::uint32_t> counts;
    for (const auto& of_file : slots_) counts.push_back(static_cast<std::uint32_t>(of_file.size()));
    return counts;
  }

  std::vector<FileCatalog> catalogs() const {
    std::vector<FileCatalog> catalogs;
    for (std::size_t file = 0; file < metadata_.files.size(); ++file) {
      const fs::path path = directory_ / metadata_.files[file];
      std::error_code error;
      if (!fs::exists(path, error))
        throw Error(Kind::input, path.string(),
                    {"no such file, which " + source_.metadata.filename().string() + " names", "",
                     "copy it into " + shell_word(directory_.string())});
      const FileCatalog whole = store_.catalog(path);
      with_file(path.string(), [&] {
        if (!source_.has_others) check_listed(*whole.schema, slots_[file]);
        for (std::size_t slot = 0; slot < slots_[file].size(); ++slot)
          catalogs.push_back({schema_of(*whole.schema, slots_[file][slot], slot), whole.bytes, whole.modified_ns});
      });
    }
    return catalogs;
  }

  /// Arrays that the metadata do not name are of another save.
  void check_listed(const Schema& schema, const std::vector<std::vector<Run>>& slots) const {
    std::set<std::string_view> listed;
    for (const auto& runs : slots)
      for (const Run& run : runs) listed.insert(run.tensor->name);
    for (const StoredArray& array : *schema.arrays)
      if (!listed.contains(array.name.str()))
        throw Error(Kind::input, "/" + array.name.str(),
                    {"is an array that " + source_.metadata.filename().string() + " does not name",
                     "only those that it names", source_.remedy});
  }

  std::shared_ptr<const Schema> schema_of(const Schema& whole, const std::vector<Run>& runs, std::size_t slot) const {
    auto schema = std::make_shared<Schema>();
    schema->format = whole.format;
    std::vector<StoredArray> arrays;
    for (const Run& run : runs) {
      with_context("/" + run.tensor->name, [&] {
        const std::size_t index = whole.find(run.tensor->name);
        if (index == whole.arrays->size())
          throw Error(
              Kind::input, "",
              {"not in this file, where " + source_.metadata.filename().string() + " says it is", "", source_.remedy});
        const StoredArray& array = (*whole.arrays)[index];
        check_shape(array, run);
        StoredArray made{run.tensor->name, type_of(array, *run.tensor), run.box.shape(), run.tensor->shape, false, {}};
        schema->datasets.push_back(part_of(whole.datasets[index], run, made));
        arrays.push_back(std::move(made));
      });
    }
    schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
    if (slot == 0) schema->attributes = whole.attributes;
    return schema;
  }

  void check_shape(const StoredArray& array, const Run& run) const {
    if (array.refusal) throw Error(*array.refusal);
    const Shape found(array.shape);
    const Shape expected = run.piece->flat ? Shape{run.piece->flat->size()} : run.piece->box.shape();
    if (!(found == expected))
      throw Error(Kind::input, "",
                  {"is " + to_string(found),
                   to_string(expected) + ", as " + source_.metadata.filename().string() + " says", source_.remedy});
  }

  /// NumPy lacks some of Paddle's types: arrays of them are stored as integers of the same size.
  DType type_of(const StoredArray& array, const DistTensor& tensor) const {
    const auto stated = torch::element_type("torch." + tensor.type);
    if (!stated || *stated == array.dtype) return array.dtype;
    const bool is_stand_in = stated->size == array.dtype.size &&
                             (array.dtype.name == "i8" || array.dtype.name == "u8" || array.dtype.name == "u16");
    if (!is_stand_in)
      throw Error(Kind::input, "",
                  {"has elements of type " + array.dtype.name.str(), stated->name.str() + ", as the metadata say",
                   source_.remedy});
    return *stated;
  }

  static Dataset part_of(const Dataset& stored, const Run& run, const StoredArray& made) {
    Dataset part = stored;
    const std::uint64_t bytes = bytes_of(made);
    if (!run.piece->flat || stored.storage == Storage::empty) return part;
    if (stored.storage != Storage::raw)
      throw Error(Kind::input, "",
                  {"is stored as a text", "bytes", "load it with Paddle, and save it with protocol 4"});
    std::vector<Interval> places;
    const std::uint64_t begin = checked_mul(run.first, made.dtype.size);
    if (checked_add(begin, bytes) > stored.extents.bytes())
      throw Error(Kind::input, "",
                  {"has " + std::to_string(stored.extents.bytes()) + " bytes in this file",
                   std::to_string(begin + bytes) + " at least", "is the file damaged?"});
    stored.extents.for_each_part({begin, begin + bytes}, [&](std::uint64_t place, Interval each) {
      places.push_back({place, place + each.size()});
    });
    part.extents = FileExtents(places);
    return part;
  }

  const DistSource& source_;
  fs::path directory_;
  SourceStore& store_;
  const DistMetadata& metadata_;
  Slots slots_;  // point into metadata_
  PieceFiles files_;
};

}  // namespace

bool DistMetadata::is_consistent() const {
  return std::all_of(tensors.begin(), tensors.end(), [&](const DistTensor& tensor) {
    return std::all_of(tensor.pieces.begin(), tensor.pieces.end(), [&](const DistPiece& piece) {
      return piece.box.rank() == tensor.shape.size() && contains(whole(tensor.shape), piece.box) &&
             (!piece.flat || piece.flat->hi <= numel(piece.box.shape())) &&
             std::all_of(piece.files.begin(), piece.files.end(),
                         [&](std::uint32_t file) { return file < files.size(); });
    });
  });
}

DirectoryDescription describe_dist_files(const DistSource& source, const DistMetadata& metadata, SourceStore& store) {
  return DistDescription(source, metadata, store).describe();
}

}  // namespace ckpt
