#include "store/safetensors/read_schema.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "store/attributes_json.hpp"
#include "store/global_shapes.hpp"
#include "store/kept_tree.hpp"
#include "store/safetensors/header.hpp"

namespace ckpt::safetensors {

namespace {

std::string take(std::map<std::string, std::string>& metadata, const char* key) {
  const auto found = metadata.extract(key);
  return found ? std::move(found.mapped()) : "";
}

}  // namespace

std::uint64_t header_bytes(const PosixFile& file, std::uint64_t begin) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t length = 0;
  file.read(begin, std::as_writable_bytes(std::span(&length, 1)));
  return length;
}

bool is_safetensors(const PosixFile& file, Interval place) {
  if (place.lo > place.hi || place.size() < length_bytes + 2) return false;
  return file.text(place.lo + length_bytes, 1) == "{" && header_bytes(file, place.lo) <= max_header_bytes;
}

std::shared_ptr<const Schema> read_schema(const PosixFile& file, Interval place) {
  const std::uint64_t length = header_bytes(file, place.lo);
  if (length > place.size() - length_bytes)
    throw Error(Kind::input, "its header",
                {std::to_string(length) + " bytes", "at most " + std::to_string(place.size()) + ", which the file has",
                 "is it truncated?"});
  const std::uint64_t begin = place.lo + length_bytes;
  const std::string text = file.text(begin, length);
  const std::uint64_t data = begin + length;
  Header header = parse_header(text, place.hi - data);

  auto schema = std::make_shared<Schema>();
  schema->format = "safetensors";
  schema->kept_tree = take(header.metadata, tree_attribute);
  schema->layout = take(header.metadata, layout_key);
  schema->manifest = take(header.metadata, manifest_key);
  auto shapes = parse_global_shapes(take(header.metadata, global_shapes_key), global_shapes_key);
  const std::string others = take(header.metadata, attributes_key);
  for (const auto& [key, value] : header.metadata) schema->attributes.push_back({key, text_value(value)});
  add_attributes(others, attributes_key, *schema);
  std::vector<StoredArray> arrays;
  for (Tensor& tensor : header.tensors) {
    StoredArray array =
        tensor.refusal
            ? unreadable(tensor.name, *tensor.refusal)
            : StoredArray{tensor.name, std::move(tensor.dtype), std::move(tensor.shape), std::nullopt, false, {}};
    if (const auto shape = shapes.extract(tensor.name)) array.global_shape = std::move(shape.mapped());
    arrays.push_back(std::move(array));
    Dataset dataset;
    dataset.storage = tensor.begin == tensor.end ? Storage::empty : Storage::raw;
    dataset.extents = FileExtents(data + tensor.begin, tensor.end - tensor.begin);
    schema->datasets.push_back(std::move(dataset));
  }
  schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
  return schema;
}

}  // namespace ckpt::safetensors
