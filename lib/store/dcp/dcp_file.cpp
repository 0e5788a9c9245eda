#include "store/dcp/dcp_file.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/wire.hpp"
#include "store/dcp/dcp_parts.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/zip/zip_layout.hpp"

namespace ckpt::torch {

namespace {

constexpr const char* item_folder = "archive";
/// Aligns each item, so that its data is aligned as in a file of its own.
constexpr std::uint64_t item_alignment = 64;

/// Items, one after another.
class Items {
 public:
  /// Returns the item's place, and sets `data` to the place of its room for `bytes` bytes.
  Interval add(const PickledTree& tree, std::uint64_t bytes, Interval& data) {
    ZipLayout zip(item_folder);
    zip.add("data.pkl", tree.pickle);
    zip.add("byteorder", "little");
    for (const std::string& key : tree.keys) data = zip.add_room("data/" + key, bytes);
    for (const PickledTree::Known& other : tree.others) zip.add("data/" + other.key, other.bytes);
    zip.add("version", "3\n");
    ZipForm item = zip.take();
    const std::uint64_t begin = round_up(form_.bytes, item_alignment);
    put(form_.bytes, std::string(begin - form_.bytes, '\0'));
    for (FileSegment& segment : item.segments) put(begin + segment.offset, std::move(segment.bytes));
    form_.bytes = checked_add(begin, item.bytes, "a file");
    data = {begin + data.lo, begin + data.hi};
    return {begin, form_.bytes};
  }

  ZipForm take() { return std::move(form_); }

 private:
  void put(std::uint64_t offset, std::string bytes) {
    auto& segments = form_.segments;
    if (!segments.empty() && segments.back().offset + segments.back().bytes.size() == offset)
      segments.back().bytes += bytes;
    else if (!bytes.empty())
      segments.push_back({offset, std::move(bytes)});
  }

  ZipForm form_;
};

DcpTensor tensor_of(const FileSpec::Array& array, Interval item) {
  Box box{array.origin.value_or(Shape(array.shape.size())), array.shape};
  for (std::size_t d = 0; d < box.hi.size(); ++d) box.hi[d] += box.lo[d];
  DcpPath path = dcp_path(array.source_name);
  if (dcp_name(path) != array.name) path = {{array.name}};
  return {array.name, array.dtype, array.global_shape.value_or(array.shape), {{box, 0, 0, item}}, std::move(path)};
}

}  // namespace

NewFile dcp_form(const FileSpec& spec) {
  NewFile made;
  Items items;
  DcpMetadata index{{""}, {}, {}};
  for (FileSpec::Array array : spec.arrays) {
    array.same_as.reset();
    if (whole(array.shape).empty() && !whole(array.global_shape.value_or(array.shape)).empty()) {
      made.room.data.emplace_back();  // an empty piece is no chunk, unless the whole tensor is empty
      continue;
    }
    const std::uint64_t bytes = checked_mul(numel(array.shape), array.dtype.size, "a tensor");
    Interval data;
    index.tensors.push_back(tensor_of(array, items.add(write_tensor(array), bytes, data)));
    made.room.data.push_back(bytes > 0 ? FileExtents(data.lo, bytes) : FileExtents());
  }
  DcpParts parts = dcp_parts(spec);
  index.mcore_data = std::move(parts.mcore_data);
  for (DcpParts::Object& object : parts.objects) {
    Interval none;
    const Interval item = items.add(object.pickled, 0, none);
    index.objects.push_back({dcp_name(object.path), std::move(object.path), 0, item});
  }
  for (DcpParts::Tensor& tensor : parts.tensors)
    index.tensors.push_back({std::move(tensor.name), {}, {}, {}, std::move(tensor.path)});
  ZipForm form = items.take();
  made.room.bytes = form.bytes;
  made.room.is_in_order = false;
  made.room.metadata = sum_of_segments(form);
  made.room.index = wire::packed(index);
  made.segments = std::move(form.segments);
  return made;
}

DcpMetadata dcp_metadata_of(const std::vector<IndexedFile>& files) {
  DcpMetadata all;
  std::unordered_map<std::string, DcpTensor> tensors;
  std::set<std::string> objects;
  for (const IndexedFile& file : files) {
    const auto number = static_cast<std::uint32_t>(all.files.size());
    all.files.push_back(file.name);
    auto part = wire::unpacked<DcpMetadata>(file.index);
    if (!part.mcore_data.empty()) all.mcore_data = std::move(part.mcore_data);
    for (DcpTensor& tensor : part.tensors) {
      for (DcpChunk& chunk : tensor.chunks) chunk.file = number;
      DcpTensor& known = tensors.try_emplace(tensor.name, DcpTensor{tensor.name, {}, {}, {}, {}}).first->second;
      const bool is_of_tree = tensor.chunks.empty();
      if (is_of_tree || known.path.empty()) known.path = std::move(tensor.path);
      if (is_of_tree) continue;
      known.dtype = std::move(tensor.dtype);
      known.shape = std::move(tensor.shape);
      known.chunks.insert(known.chunks.end(), tensor.chunks.begin(), tensor.chunks.end());
    }
    for (DcpObject& object : part.objects) {
      if (!objects.insert(object.name).second) refuse_twice(object.name);
      object.file = number;
      all.objects.push_back(std::move(object));
    }
  }
  for (auto& [name, tensor] : tensors) {
    if (tensor.chunks.empty()) continue;  // in the source, but not chosen
    if (objects.contains(name)) refuse_twice(name);
    std::sort(tensor.chunks.begin(), tensor.chunks.end(), [](const DcpChunk& a, const DcpChunk& b) {
      return std::lexicographical_compare(a.box.lo.begin(), a.box.lo.end(), b.box.lo.begin(), b.box.lo.end());
    });
    all.tensors.push_back(std::move(tensor));
  }
  std::sort(all.tensors.begin(), all.tensors.end(),
            [](const DcpTensor& a, const DcpTensor& b) { return a.name < b.name; });
  return all;
}

}  // namespace ckpt::torch
