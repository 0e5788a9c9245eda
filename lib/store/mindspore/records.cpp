#include "store/mindspore/records.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>

#include "store/mindspore/format.hpp"
#include "tensor/shape.hpp"

namespace ckpt::mindspore {

namespace {

using protobuf::Field;
using protobuf::Range;
using protobuf::Reader;
using protobuf::Wire;
using namespace std::string_view_literals;

constexpr std::uint64_t most_name_bytes = 1U << 20;
constexpr std::uint64_t most_text_bytes = 256U << 20;
constexpr std::uint64_t most_type_bytes = 64;

struct Cipher {
  std::string_view magic;
  std::string_view name;
};
constexpr std::array ciphers{Cipher{"\xd8\x5e\x3a\x7f"sv, "AES-GCM"}, Cipher{"\xd9\x5e\x3a\x7f"sv, "AES-CBC"},
                             Cipher{"\xda\x5e\x3a\x7f"sv, "SM4-CBC"}};

Reader reader_of(const PosixFile& file, std::uint64_t bytes) {
  return {bytes, [&file](std::uint64_t offset, std::span<std::byte> out) { file.read(offset, out); }};
}

/// Returns whether a file begins as MindSpore writes a record, tag first, or with ckpt-reshard's own message. It may be
/// truncated anywhere after that.
bool begins_as_checkpoint(const PosixFile& file, std::uint64_t file_bytes) {
  Reader reader = reader_of(file, file_bytes);
  Range all{0, std::numeric_limits<std::uint64_t>::max()};
  try {
    const Field first = reader.next(all);
    if (first.wire != Wire::bytes || first.number == own_field) return first.number == own_field;
    Range inside = first.place;
    const Field tag = reader.next(inside);
    if (first.number != record_field || tag.number != tag_field || tag.wire != Wire::bytes) return false;
    if (tag.place.size() > most_name_bytes) return false;
    const Field value = reader.next(inside);
    return value.wire == Wire::bytes && (value.number == tensor_field || value.number == table_field);
  } catch (const Error&) {
    return false;
  }
}

[[noreturn]] void refuse_record(const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "", {found, expected, "is the file damaged?"});
}

/// Fills a parameter from one record, in which no field may occur twice.
class RecordReader {
 public:
  explicit RecordReader(Reader& reader) : reader_(reader) {}

  Parameter read(Range record) {
    std::optional<Range> tensor;
    std::optional<std::string> tag;
    Parameter parameter;
    reader_.for_each_field(record, [&](const Field& field) {
      if (field.number == tag_field) set(tag, reader_.text(field, most_name_bytes), "names");
      if (field.number == tensor_field) set(tensor, Reader::message(field), "tensors");
      if (field.number != table_field) return;
      parameter.is_table = true;
      parameter.slices = {Reader::message(field)};
    });
    if (!tag) refuse_record("a record without a name", "one");
    parameter.tag = std::move(*tag);
    with_context("/" + parameter.tag, [&] {
      if (parameter.is_table == tensor.has_value()) refuse_record("no tensor, or a hash table as well", "one of them");
      if (tensor) read_tensor(*tensor, parameter);
    });
    return parameter;
  }

 private:
  template <class Part>
  static void set(std::optional<Part>& part, Part value, const char* what) {
    if (part) refuse_record(std::string("a record of two ") + what, "one");
    part = std::move(value);
  }

  void read_tensor(Range tensor, Parameter& parameter) {
    std::optional<std::string> type;
    std::optional<Range> content;
    reader_.for_each_field(tensor, [&](const Field& field) {
      if (field.number == dims_field) reader_.append_numbers(field, parameter.dims, max_rank);
      if (field.number == type_field) set(type, reader_.text(field, most_type_bytes), "types");
      if (field.number == content_field) set(content, Reader::message(field), "contents");
    });
    if (!type) refuse_record("a tensor without a type", "one");
    parameter.type = std::move(*type);
    parameter.slices = {content.value_or(Range{})};
  }

  Reader& reader_;
};

/// Consecutive records of one tag become one parameter.
class ParameterList {
 public:
  void add(Parameter record) {
    if (parameters_.empty() || parameters_.back().tag != record.tag) {
      if (!tags_.insert(record.tag).second)
        throw Error(Kind::input, "/" + record.tag,
                    {"stands in the file a second time", "the slices of a tensor to follow one another",
                     "MindSpore would take the last and say nothing: save it again"});
      parameters_.push_back(std::move(record));
      return;
    }
    Parameter& before = parameters_.back();
    if (record.is_table != before.is_table || record.type != before.type || record.dims != before.dims)
      throw Error(Kind::input, "/" + record.tag,
                  {"two slices of " + before.type + " " + format_list(before.dims) + " and " + record.type + " " +
                       format_list(record.dims),
                   "one type and shape", "is the file damaged?"});
    before.slices.push_back(record.slices.front());
  }
  std::vector<Parameter> take() { return std::move(parameters_); }

 private:
  std::vector<Parameter> parameters_;
  std::set<std::string> tags_;
};

OwnHeader read_own(Reader& reader, Range message) {
  OwnHeader header;
  header.is_there = true;
  reader.for_each_field(message, [&](const Field& field) {
    std::string name;
    const auto for_each_part = [&](auto&& visit) {
      reader.for_each_field(Reader::message(field), [&](const Field& part) {
        if (part.number == own_name)
          name = reader.text(part, most_name_bytes);
        else
          visit(part);
      });
    };
    if (field.number == own_file_bytes) header.file_bytes = Reader::number(field);
    if (field.number == own_layout) header.layout = reader.text(field, most_text_bytes);
    if (field.number == own_manifest) header.manifest = reader.text(field, most_text_bytes);
    if (field.number == own_attribute) {
      std::string text;
      for_each_part([&](const Field& part) { text = reader.text(part, most_text_bytes); });
      header.attributes.push_back({std::move(name), std::move(text)});
    }
    if (field.number == own_shape) {
      std::vector<std::uint64_t> extents;
      for_each_part([&](const Field& part) { reader.append_numbers(part, extents, max_rank); });
      header.shapes.push_back({std::move(name), std::move(extents)});
    }
  });
  return header;
}

}  // namespace

Beginning beginning_of(const PosixFile& file, std::uint64_t file_bytes) {
  if (!cipher_of(file, file_bytes).empty()) return Beginning::encrypted;
  return begins_as_checkpoint(file, file_bytes) ? Beginning::checkpoint : Beginning::other;
}

std::string cipher_of(const PosixFile& file, std::uint64_t file_bytes) {
  const std::string magic = file.text(0, std::min<std::uint64_t>(file_bytes, ciphers.front().magic.size()));
  for (const Cipher& cipher : ciphers)
    if (magic == cipher.magic) return std::string(cipher.name);
  return "";
}

std::uint64_t end_of_records(const PosixFile& file, std::uint64_t file_bytes) {
  if (file_bytes < crc_bytes) return file_bytes;
  return file.text(file_bytes - crc_bytes, crc_mark.size()) == crc_mark ? file_bytes - crc_bytes : file_bytes;
}

Records read_records(const PosixFile& file, std::uint64_t file_bytes) {
  const std::uint64_t end = end_of_records(file, file_bytes);
  Reader reader = reader_of(file, end);
  Records records;
  ParameterList parameters;
  reader.for_each_field({0, end}, [&](const Field& field) {
    if (field.number == own_field) records.header = read_own(reader, Reader::message(field));
    if (field.number == record_field) parameters.add(RecordReader(reader).read(Reader::message(field)));
  });
  records.parameters = parameters.take();
  if (records.header.is_there && records.header.file_bytes != file_bytes)
    throw Error(Kind::input, "",
                {"has " + std::to_string(file_bytes) + " bytes",
                 std::to_string(records.header.file_bytes) + ", which it was written with", "is it cut off?"});
  return records;
}

}  // namespace ckpt::mindspore
