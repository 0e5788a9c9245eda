#include "store/mindspore/write_file.hpp"

#include <algorithm>
#include <optional>

#include "base/checked.hpp"
#include "base/protobuf.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "store/mindspore/element_types.hpp"
#include "store/mindspore/text.hpp"

namespace ckpt::mindspore {

namespace {

using protobuf::put_bytes;
using protobuf::put_length;
using protobuf::put_number;

/// Returns an attribute in the form of ckpt-reshard's own message; nothing if it has no such form.
std::optional<std::string> held_text(const Attribute& attribute) {
  const bool is_one = attribute.value.shape && attribute.value.shape->empty();
  return is_one && is_utf8(attribute.name) ? text_in(attribute.value) : std::nullopt;
}

/// Returns the text of an array whose elements have no fixed size.
std::optional<std::string> whole_text(const FileSpec::Array& array) {
  const bool is_one = array.verbatim && array.verbatim->shape && array.verbatim->shape->empty();
  auto text = is_one ? text_in(*array.verbatim) : std::nullopt;
  return text && is_utf8(*text) ? text : std::nullopt;
}

std::string type_of(const FileSpec::Array& array) {
  if (array.verbatim) return whole_text(array) ? std::string(text_word) : "";
  return std::string(type_word(array.dtype));
}

/// Returns everything in a record before its content of `bytes` bytes.
std::string record_head(const FileSpec::Array& array, std::uint64_t bytes) {
  std::string tensor;
  if (array.verbatim)
    put_number(tensor, dims_field, 0);  // as in every text
  else
    for (const std::uint64_t extent : array.shape) put_number(tensor, dims_field, extent);
  put_bytes(tensor, type_field, type_of(array));
  put_length(tensor, content_field, bytes);
  std::string record;
  put_bytes(record, tag_field, array.name);
  put_length(record, tensor_field, checked_add(tensor.size(), bytes));
  record += tensor;
  std::string head;
  put_length(head, record_field, checked_add(record.size(), bytes));
  return head + record;
}

/// Returns ckpt-reshard's own message without its key, its length and the file's size; empty if there is nothing to
/// store.
std::string own_part(const FileSpec& spec) {
  std::string own;
  if (!spec.layout.empty()) put_bytes(own, own_layout, spec.layout);
  if (!spec.manifest.empty()) put_bytes(own, own_manifest, spec.manifest);
  for (const Attribute& attribute : spec.attributes)
    if (const auto text = held_text(attribute)) {
      std::string entry;
      put_bytes(entry, own_name, attribute.name);
      put_bytes(entry, own_text, *text);
      put_bytes(own, own_attribute, entry);
    }
  for (const FileSpec::Array& array : spec.arrays)
    if (array.global_shape) {
      std::string entry;
      put_bytes(entry, own_name, array.name);
      for (const std::uint64_t extent : *array.global_shape) put_number(entry, own_extents, extent);
      put_bytes(own, own_shape, entry);
    }
  return own;
}

/// Lays out a file: passages and data, one after another, starting at `at`.
class Layer {
 public:
  Layer(std::uint64_t at, std::uint64_t slice) : end_(at), slice_(slice) {}

  void add(const FileSpec::Array& array) {
    if (array.verbatim) {
      const std::string content = utf32(whole_text(array).value_or(""));
      add_segment(record_head(array, content.size()) + content);
      made_.room.data.emplace_back();
      return;
    }
    std::uint64_t left = checked_mul(numel(array.shape), array.dtype.size, "a tensor");
    std::vector<Interval> slices;
    do {
      const std::uint64_t bytes = std::min(left, slice_);
      add_segment(record_head(array, bytes));
      slices.push_back({end_, checked_add(end_, bytes, "a file")});
      end_ += bytes;
      left -= bytes;
    } while (left > 0);
    made_.room.data.emplace_back(slices);
  }

  /// Appends the mark of the CRC and room for the number.
  void add_crc() {
    const std::string digits = crc_digits(0);
    add_segment(std::string(crc_mark) + digits);
    made_.room.checksum = Interval{end_ - digits.size(), end_};
    made_.room.metadata = made_.room.metadata - sum_of(std::as_bytes(std::span(digits)), made_.room.checksum->lo);
  }

  NewFile take() {
    made_.room.bytes = end_;
    made_.room.is_in_order = false;  // heads of records lie between the data
    return std::move(made_);
  }

 private:
  void add_segment(std::string bytes) {
    const std::uint64_t size = bytes.size();
    made_.room.metadata += sum_of(std::as_bytes(std::span(bytes)), end_);
    // Text that follows an array without data continues the segment before it.
    if (!made_.segments.empty() && made_.segments.back().offset + made_.segments.back().bytes.size() == end_)
      made_.segments.back().bytes += bytes;
    else
      made_.segments.push_back({end_, std::move(bytes)});
    end_ = checked_add(end_, size, "a file");
  }

  NewFile made_;
  std::uint64_t end_ = 0;
  std::uint64_t slice_ = 0;
};

/// Inserts ckpt-reshard's own message before everything else, now that the file's size is known.
void put_own(const std::string& own, const FileSpec& spec, NewFile& made) {
  std::string file_bytes;
  protobuf::put_fixed64(file_bytes, own_file_bytes, made.room.bytes);
  std::string front;
  put_length(front, own_field, file_bytes.size() + own.size());
  front += file_bytes + own;
  made.room.metadata += sum_of(std::as_bytes(std::span(front)), 0);
  if (spec.manifest.size() >= least_manifest_bytes) {
    const std::uint64_t at = front.size() - own.size() + own.find(spec.manifest);
    made.room.manifest = Interval{at, at + spec.manifest.size()};
    made.room.metadata = made.room.metadata - sum_of(std::as_bytes(std::span(spec.manifest)), at);
  }
  made.segments.insert(made.segments.begin(), {0, std::move(front)});
}

std::uint64_t front_bytes(const std::string& own) {
  std::string front;
  protobuf::put_fixed64(front, own_file_bytes, 0);
  const std::uint64_t inside = front.size() + own.size();
  front.clear();
  put_length(front, own_field, inside);
  return front.size() + inside;
}

void refuse_mindspore_type(const FileSpec::Array& array) {
  throw Error(Kind::input, "/" + array.name,
              {"elements of type " + array.dtype.name + ", which checkpoints of MindSpore cannot hold", "",
               "write HDF5 instead", leaving_out({array.name.str()})});
}

}  // namespace

std::string crc_digits(std::uint64_t sum) {
  std::string digits(crc_bytes - crc_mark.size(), '\0');
  for (auto digit = digits.rbegin(); sum > 0; ++digit, sum >>= 8) *digit = static_cast<char>(sum & 0xFF);
  return digits;
}

std::vector<std::string> losses(const FileSpec& spec) {
  std::vector<std::string> lost;
  for (const Attribute& attribute : spec.attributes)
    if (!held_text(attribute)) lost.push_back("attribute " + attribute.name + ", which is no text");
  for (const Group& group : spec.groups)
    if (!group.attributes.empty()) lost.push_back("attributes of group " + group.path);
  for (const FileSpec::Array& array : spec.arrays)
    if (type_of(array).empty()) refuse_mindspore_type(array);
  if (auto attributes = lost_attributes_of_arrays(spec); !attributes.empty()) lost.push_back(std::move(attributes));
  return lost;
}

NewFile form_of(const FileSpec& spec, std::uint64_t slice) {
  const std::string own = own_part(spec);
  const bool has_own = !own.empty() || spec.arrays.empty();
  Layer layer(has_own ? front_bytes(own) : 0, slice);
  for (const FileSpec::Array& array : spec.arrays) layer.add(array);
  if (spec.has_checksum) layer.add_crc();
  NewFile made = layer.take();
  if (has_own) put_own(own, spec, made);
  return made;
}

void check_names(const std::vector<std::string>& datasets) {
  for (const std::string& name : datasets)
    if (!is_utf8(name))
      throw Error(
          Kind::input, "tensor \"" + name + "\"",
          {"its name is not UTF-8", "text, as checkpoints of MindSpore hold names", "", {Advice::What::rename, ""}});
}

}  // namespace ckpt::mindspore
