#include "store/gguf/gguf_store.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "store/cursor.hpp"
#include "store/guarded_reading.hpp"
#include "store/offset_file.hpp"
#include "store/read_only_store.hpp"
#include "tensor/known_types.hpp"

namespace ckpt {

namespace gguf {

namespace {

constexpr const char* gguf_name = "gguf";
constexpr std::string_view magic = "GGUF";
constexpr std::uint64_t most_text_bytes = 1U << 16;
constexpr std::uint64_t most_dimensions = 8;
constexpr unsigned most_depth = 4;  // of arrays in arrays
constexpr std::uint64_t usual_alignment = 32;
constexpr std::uint64_t most_alignment = 1U << 20;
constexpr const char* damaged = "is the file damaged, or of another version of GGUF?";

/// Most of the metadata, a vocabulary, is passed over.
constexpr std::uint64_t most_metadata_bytes = 64U << 20;
constexpr std::uint64_t memory_per_byte = 32;
constexpr std::uint64_t bytes_per_second = 1U << 20;

/// Bytes of a value by its type; 0: it says its length.
constexpr std::array<std::uint64_t, 13> value_bytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr std::uint64_t u16_type = 2;
constexpr std::uint64_t u32_type = 4;
constexpr std::uint64_t text_type = 8;
constexpr std::uint64_t array_type = 9;

/// ggml_type: its name, and ours, or none for blocks.
struct ElementType {
  std::uint64_t number;
  std::string_view name;
  std::string_view type = {};
};
constexpr std::array element_types{
    ElementType{0, "F32", "f32"},  ElementType{1, "F16", "f16"},    ElementType{2, "Q4_0"},
    ElementType{3, "Q4_1"},        ElementType{6, "Q5_0"},          ElementType{7, "Q5_1"},
    ElementType{8, "Q8_0"},        ElementType{9, "Q8_1"},          ElementType{10, "Q2_K"},
    ElementType{11, "Q3_K"},       ElementType{12, "Q4_K"},         ElementType{13, "Q5_K"},
    ElementType{14, "Q6_K"},       ElementType{15, "Q8_K"},         ElementType{16, "IQ2_XXS"},
    ElementType{17, "IQ2_XS"},     ElementType{18, "IQ3_XXS"},      ElementType{19, "IQ1_S"},
    ElementType{20, "IQ4_NL"},     ElementType{21, "IQ3_S"},        ElementType{22, "IQ2_S"},
    ElementType{23, "IQ4_XS"},     ElementType{24, "I8", "i8"},     ElementType{25, "I16", "i16"},
    ElementType{26, "I32", "i32"}, ElementType{27, "I64", "i64"},   ElementType{28, "F64", "f64"},
    ElementType{29, "IQ1_M"},      ElementType{30, "BF16", "bf16"}, ElementType{34, "TQ1_0"},
    ElementType{35, "TQ2_0"},      ElementType{39, "MXFP4"}};
static_assert(decides_each_type(element_types,
                                {"bool", "u8", "u16", "u32", "u64", "c32", "c64", "c128", "f8_e4m3", "f8_e5m2",
                                 "f8_e4m3fnuz", "f8_e5m2fnuz", "f8_e8m0", "f4_e2m1x2", "int4x2", "hif8"}));

[[noreturn]] void refuse_gguf(const std::string& object, const std::string& found, const std::string& expected) {
  throw Error(Kind::input, object, {found, expected, damaged});
}

/// Takes what precedes the data, from a window of the file.
class HeaderReader {
 public:
  HeaderReader(const PosixFile& file, std::uint64_t file_bytes) : file_(file), bytes_(file_bytes) {}

  std::uint64_t at() const noexcept { return at_; }

  std::uint64_t number(unsigned bytes) { return Cursor(take(bytes)).little(bytes); }
  std::string text() {
    const std::uint64_t bytes = number(8);
    if (bytes > most_text_bytes)
      refuse_gguf("", "has a text of " + std::to_string(bytes) + " bytes",
                  "at most " + std::to_string(most_text_bytes));
    return std::string(take(bytes));
  }
  void skip(std::uint64_t bytes) {
    need(bytes);
    at_ += bytes;
  }

 private:
  void need(std::uint64_t bytes) const {
    if (bytes > bytes_ - at_)
      throw Error(Kind::input, "",
                  {"ends " + std::to_string(bytes_ - at_) + " bytes after byte " + std::to_string(at_),
                   std::to_string(bytes) + " more", "is the file truncated?"});
  }
  std::string_view take(std::uint64_t bytes) {
    constexpr std::uint64_t usual_bytes = 1U << 16;
    need(bytes);
    if (at_ < begin_ || at_ + bytes > begin_ + window_.size()) {
      begin_ = at_;
      window_ = file_.text(at_, std::min(std::max(bytes, usual_bytes), bytes_ - at_));
    }
    const auto taken = std::string_view(window_).substr(at_ - begin_, bytes);
    at_ += bytes;
    return taken;
  }

  const PosixFile& file_;
  std::uint64_t bytes_;
  std::uint64_t at_ = 0;
  std::uint64_t begin_ = 0;  // of the window
  std::string window_;
};

void skip_value(HeaderReader& in, std::uint64_t type, unsigned depth = 0) {
  if (type == text_type) return in.skip(in.number(8));
  if (type != array_type) {
    if (type >= value_bytes.size()) refuse_gguf("", "has a value of type " + std::to_string(type), "0 to 12");
    return in.skip(value_bytes[type]);
  }
  if (depth == most_depth) refuse_gguf("", "has arrays in arrays", "at most " + std::to_string(most_depth));
  const std::uint64_t of = in.number(4);
  const std::uint64_t count = in.number(8);
  if (of < value_bytes.size() && value_bytes[of] != 0) return in.skip(checked_mul(count, value_bytes[of], "an array"));
  for (std::uint64_t i = 0; i < count; ++i) skip_value(in, of, depth + 1);
}

/// Passes over the values that come first, and returns the alignment of data that one of them may be. Throws input for
/// one of several files that hold a model together.
std::uint64_t read_alignment(HeaderReader& in, std::uint64_t values) {
  std::uint64_t alignment = 0;
  for (std::uint64_t i = 0; i < values; ++i) {
    const std::string key = in.text();
    with_context(key, [&] {
      const std::uint64_t type = in.number(4);
      if (key == "split.count" && type == u16_type) {
        const std::uint64_t files = in.number(2);
        if (files > 1)
          throw Error(Kind::input, "",
                      {"is " + std::to_string(files), "1: a model in one file",
                       "join the files with llama-gguf-split --merge"});
        return;
      }
      if (key != "general.alignment") return skip_value(in, type);
      if (alignment != 0) refuse_gguf("", "stands there twice", "once");
      alignment = type == u32_type ? in.number(4) : 0;
      if (!std::has_single_bit(alignment) || alignment > most_alignment)
        refuse_gguf("", "is " + std::to_string(alignment), "a power of 2");
    });
  }
  return alignment == 0 ? usual_alignment : alignment;
}

struct FoundTensor {
  std::string name;
  Shape shape;
  std::uint64_t type = 0;
  std::uint64_t offset = 0;  ///< from the beginning of all data
};

FoundTensor read_tensor(HeaderReader& in) {
  FoundTensor tensor;
  tensor.name = in.text();
  with_context("/" + tensor.name, [&] {
    const std::uint64_t rank = in.number(4);
    if (rank > most_dimensions)
      refuse_gguf("", std::to_string(rank) + " dimensions", "at most " + std::to_string(most_dimensions));
    tensor.shape = Shape(rank);
    for (std::uint64_t d = rank; d-- > 0;) tensor.shape[d] = in.number(8);
    tensor.type = in.number(4);
    tensor.offset = in.number(8);
  });
  return tensor;
}

std::vector<FoundTensor> read_tensors(HeaderReader& in, std::uint64_t count) {
  std::vector<FoundTensor> tensors;
  for (std::uint64_t i = 0; i < count; ++i) tensors.push_back(read_tensor(in));
  std::ranges::sort(tensors, {}, &FoundTensor::name);
  const auto twice = std::ranges::adjacent_find(tensors, {}, &FoundTensor::name);
  if (twice != tensors.end()) refuse_gguf("/" + twice->name, "stands there twice", "once");
  return tensors;
}

void check_version(std::uint64_t version) {
  if (version == 2 || version == 3) return;
  const bool is_turned = version != 0 && version % 0x1000000 == 0;
  throw Error(Kind::input, "",
              {is_turned ? "is a big-endian file" : "is of version " + std::to_string(version),
               is_turned ? "a little-endian one" : "2 or 3", "convert the model again with llama.cpp"});
}

void check_offset(const FoundTensor& tensor, std::uint64_t alignment) {
  if (tensor.offset % alignment != 0)
    refuse_gguf("/" + tensor.name, "begins at byte " + std::to_string(tensor.offset) + " of the data",
                "a multiple of " + std::to_string(alignment));
}

/// Throws input if two tensors share bytes.
void check_apart(const Schema& schema, const std::vector<StoredArray>& arrays) {
  std::vector<std::pair<Interval, std::size_t>> places;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (const Dataset& dataset = schema.datasets[i]; dataset.storage == Storage::raw)
      places.emplace_back(Interval{dataset.extents.offset(), dataset.extents.offset() + dataset.extents.bytes()}, i);
  std::ranges::sort(places, {}, [](const auto& place) { return place.first.lo; });
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].first.lo < places[i - 1].first.hi)
      refuse_gguf("/" + arrays[places[i].second].name.str(),
                  "has bytes of '" + arrays[places[i - 1].second].name.str() + "'", "its own");
}

/// Adds a tensor to a schema.
void add(const FoundTensor& tensor, Interval data, std::vector<StoredArray>& arrays, Schema& schema) {
  Dataset& dataset = schema.datasets.emplace_back();
  const auto* const found = std::ranges::find(element_types, tensor.type, &ElementType::number);
  if (found == element_types.end() || found->type.empty()) {
    const std::string name =
        found == element_types.end() ? "number " + std::to_string(tensor.type) : std::string(found->name);
    arrays.push_back(unreadable(tensor.name, Error(Kind::input, "",
                                                   {"elements of GGUF's type " + name,
                                                    "numbers (F32, F16, BF16)",
                                                    "convert the model to one of these",
                                                    {Advice::What::leave_out, ""}})));
    return;
  }
  arrays.push_back({tensor.name, *number_type(found->type), tensor.shape, std::nullopt, false, {}});
  const std::uint64_t bytes = checked_mul(numel(tensor.shape), arrays.back().dtype.size, "a tensor");
  if (tensor.offset > data.size() || bytes > data.size() - tensor.offset)
    throw Error(Kind::input, "/" + tensor.name,
                {std::to_string(bytes) + " bytes from byte " + std::to_string(tensor.offset) + " of the data on",
                 "them within the " + std::to_string(data.size()) + " that the file has", "is the file truncated?"});
  if (bytes == 0) return;
  dataset.storage = Storage::raw;
  dataset.extents = FileExtents(data.lo + tensor.offset, bytes);
}

std::shared_ptr<const Schema> gguf_schema(const PosixFile& file, std::uint64_t file_bytes) {
  HeaderReader in(file, file_bytes);
  in.skip(magic.size());
  check_version(in.number(4));
  const std::uint64_t count = in.number(8);
  const std::uint64_t values = in.number(8);
  const std::uint64_t alignment = read_alignment(in, values);
  const std::vector<FoundTensor> tensors = read_tensors(in, count);
  const std::uint64_t begin = std::min(round_up(in.at(), alignment), file_bytes);
  auto schema = std::make_shared<Schema>();
  schema->format = gguf_name;
  std::vector<StoredArray> arrays;
  for (const FoundTensor& tensor : tensors) {
    check_offset(tensor, alignment);
    add(tensor, {begin, file_bytes}, arrays, *schema);
  }
  check_apart(*schema, arrays);
  schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
  return schema;
}

bool is_gguf(const PosixFile& file, std::uint64_t file_bytes) {
  return file.text(0, std::min<std::uint64_t>(file_bytes, magic.size())) == magic;
}

class GgufStore final : public ReadOnlyStore {
 public:
  std::string_view name() const noexcept override { return gguf_name; }

  bool recognises(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    return is_gguf(file, file.status().bytes);
  }

  FileCatalog catalog(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    const PosixFile::Status status = file.status();
    if (!is_gguf(file, status.bytes)) throw misses_file(path, "is no model of llama.cpp");
    const IsolationLimits limits =
        limits_for(std::min(status.bytes, most_metadata_bytes), memory_per_byte, bytes_per_second);
    auto schema =
        with_file(path.string(), [&] { return read_guarded<gguf_schema>(file, status.bytes, gguf_name, limits); });
    return {std::move(schema), status.bytes, status.modified_ns};
  }

  std::unique_ptr<SourceFile> open(const std::filesystem::path& path, const FileCatalog& catalog) override {
    return std::make_unique<OffsetFile>(path, catalog);
  }
};

}  // namespace

}  // namespace gguf

std::unique_ptr<Store> gguf_store() {
  return std::make_unique<gguf::GgufStore>();
}

}  // namespace ckpt
