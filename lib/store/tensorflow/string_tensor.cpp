#include "store/tensorflow/string_tensor.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/protobuf.hpp"
#include "base/utf8.hpp"
#include "io/crc.hpp"
#include "store/cursor.hpp"
#include "store/guarded_reading.hpp"
#include "store/kept_tree.hpp"
#include "store/tensorflow/table.hpp"

namespace ckpt::tensorflow {

namespace {

constexpr unsigned sum_bytes = 4;
constexpr std::uint64_t memory_per_string_byte = 48;
constexpr std::uint64_t string_bytes_per_second = 1U << 20;

std::string little_bytes(std::uint64_t number, unsigned bytes) {
  std::string text;
  for (unsigned i = 0; i < bytes; ++i) text.push_back(static_cast<char>(number >> (8 * i) & 0xffU));
  return text;
}

/// Each length counts as a number of 4 bytes, or of 8 if that is too few.
std::uint32_t with_length(std::uint32_t crc, std::uint64_t length) {
  const bool is_long = length > std::numeric_limits<std::uint32_t>::max();
  return crc32c.of(little_bytes(length, is_long ? 8 : 4), crc);
}

StringTensor tensor_in(protobuf::Reader& reader, protobuf::Range message, std::uint64_t most) {
  StringTensor tensor;
  reader.for_each_field(message, [&](const protobuf::Field& field) {
    if (field.number == 1) tensor.name = reader.text(field, most);
    if (field.number == 2) tensor.shape.push_back(protobuf::Reader::number(field));
    if (field.number == 3) tensor.elements.push_back(reader.text(field, most));
  });
  if (tensor.name.empty() || numel(tensor.shape) != tensor.elements.size())
    throw Error(Kind::input, "/" + tensor.name,
                {std::to_string(tensor.elements.size()) + " strings for a shape of " + to_string(tensor.shape),
                 "a name, and as many strings as the shape has elements", "is the text that keeps it damaged?"});
  return tensor;
}

std::string admitted_in_child(std::string_view tree, int /*fd*/) {
  return tree_of(tensors_in(tree));
}

}  // namespace

std::vector<std::string> elements_in(std::string_view stored, std::uint64_t count, std::uint32_t crc) {
  if (count > stored.size())
    throw Error(
        Kind::input, "",
        {std::to_string(stored.size()) + " bytes", "at least one for each of its " + std::to_string(count) + " strings",
         "take another copy of the checkpoint"});
  Cursor in(stored);
  std::vector<std::uint64_t> lengths;
  std::uint32_t sum = 0;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    lengths.push_back(in.varint());
    sum = with_length(sum, lengths.back());
    total = checked_add(total, lengths.back(), "the length of its strings");
  }
  std::vector<std::string> elements;
  if (!stored.empty()) {  // TensorFlow writes the sum of no lengths, too
    const std::string_view written = in.take(sum_bytes);
    crc32c.check(sum, unmasked(static_cast<std::uint32_t>(Cursor(written).little(sum_bytes))), "its strings' lengths");
    sum = crc32c.of(written, sum);
  }
  if (total != in.left())
    throw Error(Kind::input, "",
                {std::to_string(in.left()) + " bytes of strings", std::to_string(total) + ", by their lengths",
                 "take another copy of the checkpoint"});
  for (const std::uint64_t length : lengths) {
    elements.emplace_back(in.take(length));
    sum = crc32c.of(elements.back(), sum);
  }
  crc32c.check(sum, crc, "its strings");
  return elements;
}

StoredStrings stored_strings(const std::vector<std::string>& elements) {
  StoredStrings stored;
  for (const std::string& element : elements) {
    protobuf::put_varint(stored.bytes, element.size());
    stored.crc = with_length(stored.crc, element.size());
  }
  const std::string sum = little_bytes(masked(stored.crc), sum_bytes);
  stored.bytes += sum;
  stored.crc = crc32c.of(sum, stored.crc);
  for (const std::string& element : elements) {
    stored.bytes += element;
    stored.crc = crc32c.of(element, stored.crc);
  }
  return stored;
}

bool are_texts(std::string_view name, const std::vector<std::string>& elements) {
  return name != object_graph && !elements.empty() &&
         std::all_of(elements.begin(), elements.end(), [](const std::string& element) {
           return is_utf8(element) && element.find('\0') == std::string::npos;
         });
}

std::string tree_of(const std::vector<StringTensor>& tensors) {
  std::string tree;
  for (const StringTensor& tensor : tensors) {
    std::string message;
    protobuf::put_bytes(message, 1, tensor.name);
    for (const std::uint64_t size : tensor.shape) protobuf::put_number(message, 2, size);
    for (const std::string& element : tensor.elements) protobuf::put_bytes(message, 3, element);
    protobuf::put_bytes(tree, 1, message);
  }
  return tree;
}

std::vector<StringTensor> tensors_in(std::string_view tree) {
  std::vector<StringTensor> tensors;
  protobuf::Reader reader(tree);
  reader.for_each_field({0, tree.size()}, [&](const protobuf::Field& field) {
    tensors.push_back(tensor_in(reader, protobuf::Reader::message(field), tree.size()));
  });
  return tensors;
}

std::string chosen_tree(std::string_view tree,
                        const std::function<std::optional<std::string>(const std::string& name)>& new_name) {
  std::vector<StringTensor> chosen;
  for (StringTensor& tensor : tensors_in(tree)) {
    auto name = new_name(tensor.name);
    if (!name) continue;
    tensor.name = std::move(*name);
    chosen.push_back(std::move(tensor));
  }
  return tree_of(chosen);
}

std::string admitted_tree(const std::string& tree) {
  const IsolationLimits limits = limits_for(tree.size(), memory_per_string_byte, string_bytes_per_second);
  if (auto said = isolated({admitted_in_child, tree, -1, tree_attribute, limits})) return std::move(*said);
  warn_of_unguarded_reading();
  return admitted_in_child(tree, -1);
}

}  // namespace ckpt::tensorflow
