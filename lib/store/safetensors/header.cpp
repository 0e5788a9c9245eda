#include "store/safetensors/header.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "store/element_words.hpp"
#include "tensor/alignment.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt::safetensors {

namespace {

using nlohmann::json;

constexpr const char* metadata_key = "__metadata__";

const ElementWords& words() {
  static const ElementWords all{{"BOOL", "bool"},
                                {"I8", "i8"},
                                {"I16", "i16"},
                                {"I32", "i32"},
                                {"I64", "i64"},
                                {"U8", "u8"},
                                {"U16", "u16"},
                                {"U32", "u32"},
                                {"U64", "u64"},
                                {"F16", "f16"},
                                {"F32", "f32"},
                                {"F64", "f64"},
                                {"BF16", "bf16"},
                                {"F8_E4M3", "f8_e4m3"},
                                {"F8_E5M2", "f8_e5m2"},
                                {"C64", "c64"},
                                {"F8_E8M0", "f8_e8m0"},  // scales of blocks: an exponent in a byte
                                {"F8_E4M3FNUZ", "f8_e4m3fnuz"},
                                {"F8_E5M2FNUZ", "f8_e5m2fnuz"},
                                {"F4", "f4_e2m1x2"}};  // two in a byte; the last dimension counts them individually
  return all;
}

/// Returns how many of safetensors' elements make up one element of this library, which takes at least a byte.
std::uint64_t packed_in(const DType& dtype) {
  return dtype.name == "f4_e2m1x2" ? 2 : 1;
}

DType type_of(const std::string& word) {
  if (const auto known = words().type(word)) return *known;
  if (word.starts_with("F6_"))
    throw Error(Kind::input, "",
                {"elements of type " + word + ", of 6 bits",
                 "a type whose elements fill whole bytes",
                 "cut by these programs they would end within a byte",
                 {Advice::What::leave_out, ""}});
  throw Error(Kind::input, "",
              {"elements of the unknown type " + word,
               "one that safetensors files have, such as F32 or BF16",
               "is the file of a newer version of safetensors?",
               {Advice::What::leave_out, ""}});
}

/// Converts a shape to this library's count of elements.
Shape in_bytes(Shape shape, const DType& dtype) {
  const std::uint64_t packed = packed_in(dtype);
  if (packed == 1) return shape;
  if (shape.empty() || shape[shape.size() - 1] % packed != 0)
    throw Error(Kind::input, "",
                {to_string(shape) + " of elements of 4 bits, two of which share a byte",
                 "an even number in the last dimension",
                 "",
                 {Advice::What::leave_out, ""}});
  shape[shape.size() - 1] /= packed;
  return shape;
}

[[noreturn]] void refuse(const std::string& object, const std::string& found, const std::string& expected) {
  throw Error(Kind::input, object, {found, expected, "is the file damaged?"});
}

std::uint64_t number(const json& value, const char* what) {
  if (!value.is_number_unsigned()) refuse("", std::string(what) + " " + value.dump(), "a whole number");
  return value.get<std::uint64_t>();
}

std::map<std::string, std::string> metadata_of(const json& object) {
  std::map<std::string, std::string> metadata;
  if (!object.is_object()) refuse(metadata_key, "no object", "an object of texts");
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) refuse(metadata_key, "\"" + key + "\" is no text", "an object of texts");
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

Tensor tensor_of(const json& object, const std::string& name) {
  if (!object.is_object() || object.size() != 3 || !object.contains("dtype") || !object.contains("shape") ||
      !object.contains("data_offsets"))
    refuse("", "other keys", "dtype, shape and data_offsets");
  const json& dtype = object["dtype"];
  const json& shape = object["shape"];
  const json& offsets = object["data_offsets"];
  if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2)
    refuse("", "values of other kinds", "a text, a list of extents and a list of two offsets");
  Tensor tensor{name, {}, {}, number(offsets[0], "offset"), number(offsets[1], "offset")};
  if (tensor.begin > tensor.end)
    refuse("", "bytes " + std::to_string(tensor.begin) + " to " + std::to_string(tensor.end),
           "an end behind the begin");
  Shape extents;
  for (const json& extent : shape) extents.push_back(number(extent, "extent"));
  try {
    const DType known = type_of(dtype.get<std::string>());
    tensor.shape = in_bytes(std::move(extents), known);
    tensor.dtype = known;
  } catch (const Error& why) {
    tensor.refusal = why;
    return tensor;
  }
  const std::uint64_t bytes = checked_mul(numel(tensor.shape), tensor.dtype.size, "its number of bytes");
  if (tensor.end - tensor.begin != bytes)
    refuse("", "bytes " + std::to_string(tensor.begin) + " to " + std::to_string(tensor.end),
           std::to_string(bytes) + " bytes for " + to_string(tensor.shape) + " of " + tensor.dtype.name);
  return tensor;
}

/// The format has no gaps: bytes between tensors would be hidden.
void check_cover(const std::vector<Tensor>& tensors, std::uint64_t data_bytes) {
  std::vector<const Tensor*> by_place;
  by_place.reserve(tensors.size());
  for (const Tensor& tensor : tensors) by_place.push_back(&tensor);
  std::sort(by_place.begin(), by_place.end(),
            [](const Tensor* a, const Tensor* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  std::uint64_t at = 0;
  for (const Tensor* tensor : by_place) {
    if (tensor->begin != at)
      refuse(tensor->name, "its bytes begin at " + std::to_string(tensor->begin) + " of the data",
             std::to_string(at) + ", where the ones before it end");
    at = tensor->end;
  }
  if (at > data_bytes)
    throw Error(Kind::input, by_place.back()->name,
                {"its bytes end at " + std::to_string(at) + " of the data",
                 "at most " + std::to_string(data_bytes) + ", which the file has", "is the file truncated?"});
  if (at < data_bytes)
    refuse("", std::to_string(data_bytes) + " bytes of data", "tensors of " + std::to_string(at) + " bytes");
}

}  // namespace

Header parse_header(const std::string& text, std::uint64_t data_bytes) {
  // The header is an object of tensors, which are objects of lists; it has at most as many values as its size limit
  // allows.
  static const JsonRules rules{Kind::input, "a flat description of tensors", "is the file damaged?", 3,
                               max_header_bytes};
  const json root = parse_json(text, "its header", rules);
  if (!root.is_object()) refuse("its header", "no JSON object", "a safetensors header");
  Header header;
  for (const auto& item : root.items()) {
    const std::string& name = item.key();
    const auto& object = item.value();
    if (name == metadata_key)
      header.metadata = metadata_of(object);
    else
      header.tensors.push_back(with_context(name, [&] { return tensor_of(object, name); }));
  }
  check_cover(header.tensors, data_bytes);
  return header;
}

namespace {

/// Quotes a text piece by piece, so that a manifest of many tensors is not held several times. No piece ends within a
/// character.
void append_quoted(std::string_view text, std::string& out) {
  constexpr std::size_t most_bytes = std::size_t{64} << 10U;
  while (!text.empty()) {
    std::size_t bytes = std::min(text.size(), most_bytes);
    while (bytes < text.size() && bytes > 1 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
    const std::string quoted = json(text.substr(0, bytes)).dump();
    out.append(quoted, 1, quoted.size() - 2);
    text.remove_prefix(bytes);
  }
}

}  // namespace

HeaderWriter::HeaderWriter(const std::map<std::string, std::string_view>& metadata, std::size_t tensors,
                           std::size_t name_bytes)
    : head_(length_bytes, '\0') {
  constexpr std::size_t likely_bytes_of_entry = 96;  // without the name
  constexpr double quoted = 1.25;                    // a manifest's many quotation marks
  std::size_t text_bytes = 0;
  for (const auto& [key, value] : metadata) text_bytes += key.size() + value.size();
  head_.reserve(length_bytes + name_bytes + tensors * likely_bytes_of_entry +
                static_cast<std::size_t>(static_cast<double>(text_bytes) * quoted));
  head_ += '{';
  if (metadata.empty()) return;
  std::string_view separator = "{";
  head_ += '"' + std::string(metadata_key) + "\":";
  for (const auto& [key, value] : metadata) {  // one by one: a manifest of many tensors is large
    head_ += separator;
    head_ += '"' + quoted_inside(key) + "\":\"";
    const std::uint64_t begin = head_.size();
    append_quoted(value, head_);
    places_[key] = {begin, head_.size()};
    head_ += '"';
    separator = ",";
  }
  head_ += '}';
}

Interval HeaderWriter::place_of(const std::string& key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? Interval{} : found->second;
}

void HeaderWriter::add(const std::string& name, const DType& dtype, const Shape& shape, Interval bytes) {
  if (head_.size() > length_bytes + 1) head_ += ',';
  head_ += '"' + quoted_inside(name) + R"(":{"dtype":")" + type_word(dtype) + R"(","shape":[)";
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::uint64_t in_extent = d + 1 == shape.size() ? packed_in(dtype) : 1;
    head_ += (d == 0 ? "" : ",") + std::to_string(shape[d] * in_extent);
  }
  head_ += R"(],"data_offsets":[)" + std::to_string(bytes.lo) + ',' + std::to_string(bytes.hi) + "]}";
}

std::string HeaderWriter::finish(std::optional<std::uint64_t> in_block) && {
  head_ += '}';
  head_.resize(in_block ? next_in_block(head_.size(), *in_block) : round_up(head_.size(), 8), ' ');
  const std::uint64_t length = head_.size() - length_bytes;
  std::memcpy(head_.data(), &length, length_bytes);
  return std::move(head_);
}

std::string quoted_inside(std::string_view text) {
  std::string quoted;
  quoted.reserve(text.size() + text.size() / 4);  // a manifest's many quotation marks
  append_quoted(text, quoted);
  return quoted;
}

std::string type_word(const DType& dtype) {
  return std::string(words().word(dtype));
}

}  // namespace ckpt::safetensors
