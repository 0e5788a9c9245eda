#include "store/paddle_static/read_variables.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/protobuf.hpp"
#include "base/shell_word.hpp"
#include "store/cursor.hpp"
#include "store/paddle_static/program.hpp"
#include "tensor/known_types.hpp"

namespace ckpt::paddle_static {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_description_bytes = 4096;
constexpr std::uint64_t most_levels = 16;
constexpr std::size_t most_sizes = 64;
constexpr const char* damaged = "is the file damaged, or a variable that is no dense tensor?";

/// VarType.Type of a tensor's elements.
struct Row {
  std::uint64_t number;
  std::string_view type;
};
constexpr std::array rows{Row{0, "bool"},  Row{1, "i16"},  Row{2, "i32"},   Row{3, "i64"},      Row{4, "f16"},
                          Row{5, "f32"},   Row{6, "f64"},  Row{19, "u64"},  Row{20, "u8"},      Row{21, "i8"},
                          Row{22, "bf16"}, Row{23, "c64"}, Row{24, "c128"}, Row{32, "f8_e4m3"}, Row{33, "f8_e5m2"},
                          Row{36, "u16"},  Row{37, "u32"}, Row{38, "u64"}};
static_assert(decides_each_type(rows, {"c32", "f8_e4m3fnuz", "f8_e5m2fnuz", "f8_e8m0", "f4_e2m1x2", "int4x2", "hif8"}));

DType element_type(std::uint64_t number) {
  const auto* const found = std::ranges::find(rows, number, &Row::number);
  if (found == rows.end())
    throw Error(Kind::input, "", {"elements of Paddle's type " + std::to_string(number), "a number's", damaged});
  return *number_type(found->type);
}

struct FoundTensor {
  std::string name;
  DType dtype;
  Shape shape;
  Interval place;            ///< of its elements
  std::uint64_t levels = 0;  ///< of offsets of sequences (LoD)
};

/// Takes what precedes a tensor's elements.
class HeaderReader {
 public:
  HeaderReader(const PosixFile& file, Interval place) : file_(file), place_(place) {}

  /// Removes the next bytes, which `what` names.
  std::string take(std::uint64_t bytes, const char* what) {
    check(bytes, what);
    std::string taken = file_.text(place_.lo, bytes);
    place_.lo += bytes;
    return taken;
  }
  std::uint64_t number(unsigned bytes, const char* what) { return Cursor(take(bytes, what)).little(bytes); }
  /// Removes bytes that nobody reads, and returns their place.
  Interval skip(std::uint64_t bytes, const char* what) {
    check(bytes, what);
    place_.lo += bytes;
    return {place_.lo - bytes, place_.lo};
  }
  std::uint64_t at() const noexcept { return place_.lo; }

 private:
  void check(std::uint64_t bytes, const char* what) const {
    if (bytes > place_.size())
      throw Error(Kind::input, "",
                  {"ends " + std::to_string(place_.size()) + " bytes after byte " + std::to_string(place_.lo),
                   std::to_string(bytes) + " of " + what, "is the file truncated?"});
  }

  const PosixFile& file_;
  Interval place_;
};

void expect_version(HeaderReader& in, const char* what) {
  if (const std::uint64_t version = in.number(4, what); version != 0)
    throw Error(Kind::input, "", {std::string(what) + " " + std::to_string(version), "0", damaged});
}

void describe(const std::string& description, FoundTensor& tensor) {
  protobuf::Reader reader(description);
  std::vector<std::uint64_t> sizes;
  reader.for_each_field({0, description.size()}, [&](const protobuf::Field& field) {
    if (field.number == 1) tensor.dtype = element_type(protobuf::Reader::number(field));
    if (field.number == 2) reader.append_numbers(field, sizes, most_sizes);
  });
  if (tensor.dtype.size == 0) throw Error(Kind::input, "", {"no type of elements", "one", damaged});
  for (const std::uint64_t size : sizes) {
    if (static_cast<std::int64_t>(size) < 0)
      throw Error(Kind::input, "", {"size " + std::to_string(static_cast<std::int64_t>(size)), "0 at least", damaged});
    tensor.shape.push_back(size);
  }
}

FoundTensor read_tensor(HeaderReader& in) {
  FoundTensor tensor;
  expect_version(in, "a version");
  tensor.levels = in.number(8, "a number of levels");
  if (tensor.levels > most_levels)
    throw Error(
        Kind::input, "",
        {std::to_string(tensor.levels) + " levels of offsets", std::to_string(most_levels) + " at most", damaged});
  for (std::uint64_t level = 0; level < tensor.levels; ++level) in.skip(in.number(8, "a level's size"), "offsets");
  expect_version(in, "a tensor's version");
  const std::uint64_t length = in.number(4, "a length");
  if (length == 0 || length > most_description_bytes)
    throw Error(Kind::input, "",
                {"a description of " + std::to_string(length) + " bytes",
                 "1 to " + std::to_string(most_description_bytes), damaged});
  describe(in.take(length, "a description"), tensor);
  tensor.place = in.skip(checked_mul(numel(tensor.shape), tensor.dtype.size, "a tensor"), "elements");
  return tensor;
}

std::vector<FoundTensor> read_tensors(const PosixFile& file, std::uint64_t file_bytes) {
  HeaderReader in(file, {0, file_bytes});
  std::vector<FoundTensor> tensors;
  while (in.at() < file_bytes)
    tensors.push_back(with_context("tensor " + std::to_string(tensors.size()) + ", at byte " + std::to_string(in.at()),
                                   [&] { return read_tensor(in); }));
  return tensors;
}

/// Numbers in the file's order, which sort so.
void number_them(std::vector<FoundTensor>& tensors) {
  const std::size_t digits = std::to_string(tensors.size() - 1).size();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string number = std::to_string(i);
    tensors[i].name = std::string(digits - number.size(), '0') + number;
  }
}

void name_by_program(std::vector<FoundTensor>& tensors, const std::vector<Variable>& variables,
                     const fs::path& program) {
  const std::string remedy = "is it the program of this file? Without " + shell_word(program.string()) +
                             " its tensors are called by their numbers";
  if (tensors.size() != variables.size())
    throw Error(Kind::input, "",
                {std::to_string(tensors.size()) + " tensors",
                 std::to_string(variables.size()) + ", as " + program.filename().string() + " says", remedy});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!fits(variables[i], tensors[i].shape))
      throw Error(
          Kind::input, "/" + variables[i].name,
          {"is " + to_string(tensors[i].shape), "another shape, as " + program.filename().string() + " says", remedy});
    tensors[i].name = variables[i].name;
  }
}

void name_tensors(std::vector<FoundTensor>& tensors, const fs::path& file) {
  const std::string own_name = file.filename().string();
  const auto program = program_beside(file);
  const std::vector<Variable> variables = program ? read_program(*program) : std::vector<Variable>();
  const bool is_variable = std::ranges::any_of(variables, [&](const Variable& each) { return each.name == own_name; });
  if (tensors.size() == 1 && (is_variable || !program))
    tensors.front().name = own_name;
  else if (program)
    name_by_program(tensors, variables, *program);
  else
    number_them(tensors);
}

}  // namespace

bool begins_as_tensor(const PosixFile& file, std::uint64_t file_bytes) {
  constexpr std::uint64_t before_description = 20;
  constexpr std::uint64_t zeros = 16;
  if (file_bytes < before_description + 2) return false;
  const std::string begin = file.text(0, before_description + 1);
  const std::uint64_t length = Cursor(std::string_view(begin).substr(zeros)).little(4);
  return begin.find_first_not_of('\0') >= zeros && length > 0 && length <= most_description_bytes &&
         begin.back() == '\x08';
}

std::shared_ptr<const Schema> read_variables(const PosixFile& file, std::uint64_t file_bytes) {
  std::vector<FoundTensor> tensors = read_tensors(file, file_bytes);
  if (!tensors.empty()) name_tensors(tensors, file.path());
  auto schema = std::make_shared<Schema>();
  schema->format = format_name;
  std::vector<StoredArray> arrays;
  for (const FoundTensor& tensor : tensors) {
    Dataset& dataset = schema->datasets.emplace_back();
    if (tensor.levels > 0) {
      arrays.push_back(unreadable(tensor.name, Error(Kind::input, "",
                                                     {"a tensor with offsets of sequences (LoD)",
                                                      "one without, as parameters are",
                                                      "",
                                                      {Advice::What::leave_out, ""}})));
      continue;
    }
    arrays.push_back({tensor.name, tensor.dtype, tensor.shape, std::nullopt, false, {}});
    if (tensor.place.empty()) continue;
    dataset.storage = Storage::raw;
    dataset.extents = FileExtents(tensor.place.lo, tensor.place.size());
  }
  schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
  return schema;
}

}  // namespace ckpt::paddle_static
