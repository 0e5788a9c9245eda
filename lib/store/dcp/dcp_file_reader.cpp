#include "store/dcp/dcp_file_reader.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/posix_file.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "store/dcp/dcp_item.hpp"
#include "store/safetensors/read_schema.hpp"
#include "store/torch/branches.hpp"
#include "store/torch/leaf.hpp"
#include "store/torch/view_dataset.hpp"

namespace ckpt::torch {

namespace {

constexpr const char* are_of_one_save = "are the files those of one save?";

/// An item contains its tensor's shape but not its name: if two items share bytes, one is mistaken for the other.
void check_apart(std::vector<Interval> items) {
  std::sort(items.begin(), items.end(), [](Interval a, Interval b) { return a.lo < b.lo; });
  for (std::size_t i = 1; i < items.size(); ++i)
    if (items[i].lo < items[i - 1].hi)
      throw Error(Kind::input, "",
                  {"two items that share byte " + std::to_string(items[i].lo), "each in a place of its own",
                   "is .metadata that of these files?"});
}

void check(const std::string& found, const DType& dtype, const Shape& shape, const DcpTensor& tensor,
           const DcpChunk& chunk) {
  const Shape expected = chunk.box.shape();
  if (shape == expected && dtype.name == tensor.dtype.name) return;
  throw Error(Kind::input, "",
              {found + dtype.name + " " + to_string(shape),
               tensor.dtype.name + " " + to_string(expected) + ", as .metadata says", are_of_one_save});
}

class DcpFileReader {
 public:
  DcpFileReader(const std::filesystem::path& path, const DcpMetadata& metadata, const DcpFileContents& contents,
                std::uint32_t slots)
      : metadata_(metadata),
        contents_(contents),
        file_(PosixFile::open_for_reading(path)),
        status_(file_.status()),
        slots_(slots) {}

  void read(std::vector<FileCatalog>& catalogs) {
    std::vector<Interval> items;
    for (const std::uint32_t object : contents_.objects) items.push_back(metadata_.objects[object].item);
    const Interval behind = safetensors_place();
    if (!behind.empty())
      items.push_back(behind);
    else
      for (const DcpFileContents::Chunk& each : contents_.chunks) items.push_back(chunk_of(each).item);
    check_apart(std::move(items));
    if (!behind.empty())
      add_from(*safetensors::read_schema(file_, behind));
    else
      for (const DcpFileContents::Chunk& each : contents_.chunks) add(metadata_.tensors[each.tensor], chunk_of(each));
    for (const std::uint32_t object : contents_.objects) add(metadata_.objects[object]);
    finish(catalogs);
  }

 private:
  struct Slot {
    std::vector<StoredArray> arrays;
    std::vector<Dataset> datasets;
  };

  const DcpChunk& chunk_of(const DcpFileContents::Chunk& each) const {
    return metadata_.tensors[each.tensor].chunks[each.chunk];
  }

  /// Returns the place of the safetensors file with the tensors, which begins where the metadata places all of its
  /// items; empty if the tensors are archives.
  Interval safetensors_place() const {
    if (contents_.chunks.empty()) return {};
    const Interval rest{chunk_of(contents_.chunks.front()).item.lo, status_.bytes};
    return safetensors::is_safetensors(file_, rest) ? rest : Interval{};
  }

  void add_from(const Schema& own) {
    for (const DcpFileContents::Chunk& each : contents_.chunks)
      if (chunk_of(each).slot > 0)
        throw Error(Kind::input, "/" + metadata_.tensors[each.tensor].name,
                    {"has two chunks in this file, which is one of safetensors and holds one by each name", "one chunk",
                     "save it once more in torch's own serialisation"});
    for (const DcpFileContents::Chunk& each : contents_.chunks) {
      const DcpTensor& tensor = metadata_.tensors[each.tensor];
      with_context("/" + tensor.name, [&] { add_from(own, tensor, chunk_of(each)); });
    }
  }

  void add_unreadable(const DcpTensor& tensor, const DcpChunk& chunk, const Error& why) {
    slots_[chunk.slot].arrays.push_back(unreadable(tensor.name, why));
    slots_[chunk.slot].datasets.emplace_back();
  }

  void add_from(const Schema& own, const DcpTensor& tensor, const DcpChunk& chunk) {
    if (tensor.refusal) return add_unreadable(tensor, chunk, *tensor.refusal);
    const std::size_t at = own.find(tensor.name);
    if (at == own.arrays->size())
      throw Error(Kind::input, "", {"is not in this file, where .metadata says it is", "", are_of_one_save});
    const StoredArray& stored = (*own.arrays)[at];
    if (stored.refusal) return add_unreadable(tensor, chunk, *stored.refusal);
    check("is ", stored.dtype, stored.shape, tensor, chunk);
    slots_.front().arrays.push_back({tensor.name, stored.dtype, stored.shape, tensor.shape, false});
    slots_.front().datasets.push_back(own.datasets[at]);
  }

  void add(const DcpTensor& tensor, const DcpChunk& chunk) {
    if (tensor.refusal) return add_unreadable(tensor, chunk, *tensor.refusal);
    with_context("/" + tensor.name, [&] {
      const Archive archive = item(chunk.item);
      std::optional<TensorView> view;
      try {
        view = tensor_in(archive.tree, archive.tree.root(), archive.storages);
      } catch (const Error& why) {
        if (why.kind() != Kind::input) throw;
        return add_unreadable(tensor, chunk, why);
      }
      if (!view)
        throw Error(Kind::input, "", {"its item holds " + describe(archive.tree, archive.tree.root()), "a tensor", ""});
      check("its item is ", view->dtype, view->shape, tensor, chunk);
      Slot& slot = slots_[chunk.slot];
      slot.arrays.push_back({tensor.name, tensor.dtype, view->shape, tensor.shape, false});
      slot.datasets.push_back(dataset_of(*view));
    });
  }

  void add(const DcpObject& object) {
    with_context("/" + object.name, [&] {
      const Archive archive = item(object.item);
      const PickleId root = archive.tree.root();
      std::string group;
      for (std::size_t i = 0; i + 1 < object.path.size(); ++i) group = name_below(group, object.path[i].text);
      if (auto value = leaf_value(archive.tree, root)) {
        attributes_[group].insert_or_assign(object.path.back().text, std::move(*value));
        return;
      }
      leaves_.push_back(leaf_of(archive.tree, OpaqueSurvey(archive.tree, archive.storages).of(root), root,
                                name_below(group, object.path.back().text)));
    });
  }

  Archive item(Interval item) const {
    if (item.hi > status_.bytes)
      throw Error(Kind::input, "",
                  {"its item ends at byte " + std::to_string(item.hi),
                   "it within the file's " + std::to_string(status_.bytes) + " bytes", "is the file truncated?"});
    return read_dcp_item(file_, item);
  }

  void finish(std::vector<FileCatalog>& catalogs) {
    for (Slot& slot : slots_) {
      auto schema = std::make_shared<Schema>();
      schema->format = dcp_format;
      schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(slot.arrays));
      schema->datasets = std::move(slot.datasets);
      if (&slot == &slots_.front()) add_attributes(*schema);
      catalogs.push_back({std::move(schema), status_.bytes, status_.modified_ns});
    }
  }

  void add_attributes(Schema& schema) {
    schema.leaves = std::move(leaves_);
    for (auto& [group, values] : attributes_) {
      std::vector<Attribute> attributes;
      for (auto& [name, value] : values) attributes.push_back({name, std::move(value)});
      if (group.empty())
        schema.attributes = std::move(attributes);
      else
        schema.groups.push_back({group, std::move(attributes)});
    }
  }

  const DcpMetadata& metadata_;
  const DcpFileContents& contents_;
  PosixFile file_;
  PosixFile::Status status_;
  std::vector<Slot> slots_;
  std::map<std::string, std::map<std::string, Value>> attributes_;
  std::vector<Leaf> leaves_;
};

}  // namespace

void read_dcp_file(const std::filesystem::path& path, const DcpMetadata& metadata, const DcpFileContents& contents,
                   std::uint32_t slots, std::vector<FileCatalog>& catalogs) {
  DcpFileReader(path, metadata, contents, slots).read(catalogs);
}

}  // namespace ckpt::torch
