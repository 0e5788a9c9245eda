#include "store/mindspore/read_schema.hpp"

#include <algorithm>
#include <map>

#include "base/checked.hpp"
#include "io/crc.hpp"
#include "store/element_words.hpp"
#include "store/mindspore/element_types.hpp"
#include "store/mindspore/format.hpp"
#include "store/mindspore/records.hpp"
#include "store/mindspore/text.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt::mindspore {

namespace {

struct Array {
  StoredArray stored;
  Dataset dataset;
};

std::uint64_t bytes_of_slices(const Parameter& parameter) {
  std::uint64_t bytes = 0;
  for (const protobuf::Range& slice : parameter.slices) bytes = checked_add(bytes, slice.size());
  return bytes;
}

Array text_array(const PosixFile& file, const Parameter& parameter) {
  if (parameter.slices.size() > 1) throw Error(Kind::input, "", {"a text in several records", "one", ""});
  Array array;
  array.stored = {parameter.tag, text_type(), {}, std::nullopt, true};
  array.dataset.storage = Storage::verbatim;
  array.dataset.verbatim = text_value(read_text(file, parameter.slices.front()));
  return array;
}

/// If dims mean nothing, the shape is the number of bytes. Before 2.0, a tensor of no dimensions had dims [0], like an
/// empty one of one dimension.
Shape shape_of(const Parameter& parameter, const DType& dtype, std::uint64_t bytes) {
  if (parameter.is_table || parameter.type == random_word) return {bytes};
  if (parameter.dims == std::vector<std::uint64_t>{0} && bytes == dtype.size) return {};
  return Shape(std::span<const std::uint64_t>(parameter.dims));
}

Array tensor_array(const Parameter& parameter) {
  const auto dtype = parameter.is_table ? opaque_type(hash_table) : element_type(parameter.type);
  if (!dtype)
    throw Error(Kind::input, "",
                {"elements of type '" + parameter.type + "'", "a type of MindSpore, such as Float32 or BFloat16",
                 "is it from a newer version?"});
  const std::uint64_t bytes = bytes_of_slices(parameter);
  const Shape shape = shape_of(parameter, *dtype, bytes);
  if (const std::uint64_t expected = checked_mul(numel(shape), dtype->size, "its number of bytes"); bytes != expected)
    throw Error(Kind::input, "",
                {std::to_string(bytes) + " bytes in " + std::to_string(parameter.slices.size()) +
                     (parameter.slices.size() == 1 ? " record" : " records"),
                 std::to_string(expected) + " for " + to_string(shape) + " of " + parameter.type,
                 "is the file cut off where a record ends?"});
  Array array;
  array.stored = {parameter.tag, *dtype, shape, std::nullopt, false};
  std::vector<Interval> places;
  for (const protobuf::Range& slice : parameter.slices) places.push_back({slice.begin, slice.end});
  array.dataset.extents = FileExtents(places);
  array.dataset.storage = bytes == 0 ? Storage::empty : Storage::raw;
  return array;
}

/// Keeps an error with the array, to be thrown only if the array is used: a type that MindSpore does not have yet, or
/// an incomplete tensor.
Array array_of(const PosixFile& file, const Parameter& parameter) {
  try {
    const bool is_text = !parameter.is_table && parameter.type == text_word;
    return is_text ? text_array(file, parameter) : tensor_array(parameter);
  } catch (const Error& why) {
    if (why.kind() != Kind::input) throw;
    return {unreadable(parameter.tag, why), {}};
  }
}

/// Adds what ckpt-reshard has written beside the tensors.
void add_own(OwnHeader header, Schema& schema, std::map<std::string, Shape>& shapes) {
  schema.layout = std::move(header.layout);
  schema.manifest = std::move(header.manifest);
  for (const OwnHeader::Text& each : header.attributes) schema.attributes.push_back({each.name, text_value(each.text)});
  std::sort(schema.attributes.begin(), schema.attributes.end(),
            [](const Attribute& a, const Attribute& b) { return a.name < b.name; });
  for (const OwnHeader::ParameterShape& each : header.shapes)
    shapes[each.name] = Shape(std::span<const std::uint64_t>(each.extents));
}

}  // namespace

std::shared_ptr<const Schema> read_schema(const PosixFile& file, std::uint64_t file_bytes) {
  Records records = read_records(file, file_bytes);
  auto schema = std::make_shared<Schema>();
  if (const std::uint64_t end = end_of_records(file, file_bytes); end < file_bytes)
    schema->checksum = Interval{end + crc_mark.size(), file_bytes};
  schema->format = format_name;
  std::map<std::string, Shape> global_shapes;
  add_own(std::move(records.header), *schema, global_shapes);
  std::vector<Array> arrays;
  arrays.reserve(records.parameters.size());
  for (const Parameter& parameter : records.parameters) arrays.push_back(array_of(file, parameter));
  std::sort(arrays.begin(), arrays.end(), [](const Array& a, const Array& b) { return a.stored.name < b.stored.name; });
  std::vector<StoredArray> stored;
  stored.reserve(arrays.size());
  for (Array& array : arrays) {
    if (const auto shape = global_shapes.extract(array.stored.name))
      array.stored.global_shape = std::move(shape.mapped());
    stored.push_back(std::move(array.stored));
    schema->datasets.push_back(std::move(array.dataset));
  }
  schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(stored));
  return schema;
}

void check_crc(const PosixFile& file, std::uint64_t file_bytes, const Schema& schema) {
  const std::uint64_t end = end_of_records(file, file_bytes);
  // MindSpore leaves the records of hash tables out of the CRC.
  const bool has_table = std::any_of(schema.arrays->begin(), schema.arrays->end(),
                                     [](const StoredArray& array) { return array.dtype == opaque_type(hash_table); });
  if (end == file_bytes || has_table) return;
  const std::string digits = file.text(end + crc_mark.size(), crc_bytes - crc_mark.size());
  std::uint64_t expected = 0;
  bool is_too_large = false;  // there is room for 80 bits
  for (const char digit : digits) {
    is_too_large = is_too_large || expected >> 56 != 0;
    expected = expected << 8 | static_cast<std::uint8_t>(digit);
  }
  const std::uint64_t sum = crc32.of(file, {0, end});
  if (sum != expected || is_too_large)
    throw Error(
        Kind::input, file.path(),
        {"its bytes have the CRC " + std::to_string(sum),
         (is_too_large ? "a number of more than 64 bits" : std::to_string(expected)) + ", which stands at its end",
         "it is damaged: copy or save it again"})
        .in_file(file.path());
}

}  // namespace ckpt::mindspore
