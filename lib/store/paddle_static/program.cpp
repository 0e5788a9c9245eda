#include "store/paddle_static/program.hpp"

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/protobuf.hpp"
#include "io/posix_file.hpp"
#include "io/small_text.hpp"

namespace ckpt::paddle_static {

namespace {

namespace fs = std::filesystem;
using protobuf::Field;
using protobuf::Reader;

constexpr std::uint64_t most_name_bytes = 1U << 16;
constexpr std::uint64_t most_json_bytes = 256U << 20;
constexpr std::size_t most_dimensions = 64;
constexpr const char* json_ending = ".json";

using Variables = std::map<std::string, Variable>;

/// Numbers of fields, by message.
namespace field {
constexpr std::uint64_t blocks = 1;  // ProgramDesc
constexpr std::uint64_t vars = 3;    // BlockDesc
constexpr std::uint64_t name = 1;    // VarDesc
constexpr std::uint64_t type = 2;
constexpr std::uint64_t persistable = 3;
constexpr std::uint64_t kind = 1;  // VarType
constexpr std::uint64_t dense_tensor = 3;
constexpr std::uint64_t tensor = 1;  // DenseTensorDesc
constexpr std::uint64_t dims = 2;    // TensorDesc
}  // namespace field

/// VarType.Type of a variable with data; readers, feeds and fetches are persistable, too.
constexpr std::uint64_t dense_kind = 7;

std::vector<std::optional<std::uint64_t>> shape_of(const std::vector<std::uint64_t>& dims) {
  std::vector<std::optional<std::uint64_t>> shape;
  for (const std::uint64_t size : dims)
    shape.push_back(static_cast<std::int64_t>(size) < 0 ? std::nullopt : std::optional(size));
  return shape;
}

std::vector<std::uint64_t> dims_of(Reader& reader, const Field& dense_tensor) {
  std::vector<std::uint64_t> dims;
  reader.for_each_field(Reader::message(dense_tensor), [&](const Field& tensor) {
    if (tensor.number != field::tensor) return;
    reader.for_each_field(Reader::message(tensor), [&](const Field& each) {
      if (each.number == field::dims) reader.append_numbers(each, dims, most_dimensions);
    });
  });
  return dims;
}

void add_variable(Reader& reader, const Field& message, Variables& variables) {
  Variable variable;
  std::uint64_t kind = 0;
  bool is_persistable = false;
  reader.for_each_field(Reader::message(message), [&](const Field& each) {
    if (each.number == field::name) variable.name = reader.text(each, most_name_bytes);
    if (each.number == field::persistable) is_persistable = Reader::number(each) != 0;
    if (each.number != field::type) return;
    reader.for_each_field(Reader::message(each), [&](const Field& of_type) {
      if (of_type.number == field::kind) kind = Reader::number(of_type);
      if (of_type.number == field::dense_tensor) variable.shape = shape_of(dims_of(reader, of_type));
    });
  });
  if (is_persistable && kind == dense_kind) variables.try_emplace(variable.name, variable);
}

Variables of_protobuf(const PosixFile& file, std::uint64_t bytes) {
  Variables variables;
  Reader reader(bytes, [&](std::uint64_t offset, std::span<std::byte> out) { file.read(offset, out); });
  reader.for_each_field({0, bytes}, [&](const Field& block) {
    if (block.number != field::blocks) return;
    reader.for_each_field(Reader::message(block), [&](const Field& variable) {
      if (variable.number == field::vars) add_variable(reader, variable, variables);
    });
  });
  return variables;
}

using Json = nlohmann::json;

/// Returns a part of a document; null if there is none.
const Json& part(const Json& of, const char* pointer) {
  static const Json none;
  const Json::json_pointer at(pointer);
  return of.contains(at) ? of.at(at) : none;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

/// The value of an operator's attribute: {"N": name, "AT": {"#": type, "D": value}}.
const Json& attribute(const Json& list, std::string_view name) {
  static const Json none;
  for (const Json& each : list)
    if (text_of(part(each, "/N")) == name) return part(each, "/AT/D");
  return none;
}

/// A parameter is an operator "p", whose last attribute is its name; a persistable variable is an operator "data".
std::string variable_name(const Json& op) {
  const std::string kind = text_of(part(op, "/#"));
  const Json& attributes = part(op, "/A");
  if (kind == "p") return attributes.is_array() && !attributes.empty() ? text_of(attributes.back()) : "";
  const bool is_persistable =
      kind.ends_with(".data") && part(attribute(part(op, "/OA"), "persistable"), "/0/D") == true;
  return is_persistable ? text_of(attribute(attributes, "name")) : "";
}

/// The shape of an operator's only result.
std::vector<std::optional<std::uint64_t>> result_shape(const Json& op) {
  const Json& result = part(op, "/O");
  std::vector<std::uint64_t> dims;
  for (const Json& size : part(result.is_array() && !result.empty() ? result.front() : result, "/TT/D/1"))
    dims.push_back(size.is_number_integer() ? static_cast<std::uint64_t>(size.get<std::int64_t>()) : ~std::uint64_t{0});
  return shape_of(dims);
}

Variables of_json(const fs::path& path) {
  constexpr std::size_t most_depth = 256;
  const std::string text = small_text(path, most_json_bytes, "a program of PaddlePaddle");
  const Json json = parse_json(text, path.string(), {Kind::input, "a program of PaddlePaddle", "", most_depth});
  Variables variables;
  for (const Json& op : part(json, "/program/regions/0/blocks/0/ops"))
    if (const std::string name = variable_name(op); !name.empty())
      variables.try_emplace(name, Variable{name, result_shape(op)});
  return variables;
}

/// Returns whether a file beside parameters is a program, even a damaged one. Other files may have its name. A damaged
/// program begins with a byte that text never contains, or with {"base_code":{"magic":"pir",…},"program":….
bool is_program(const fs::path& path) {
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return false;
  if (path.extension() != json_ending) return true;
  constexpr std::string_view base_code = "\"base_code\"";
  constexpr std::uint64_t first_bytes = 64;
  constexpr std::uint64_t most_other_bytes = 1U << 20;
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::uint64_t bytes = file.status().bytes;
  const std::string begin = file.text(0, std::min(bytes, first_bytes));
  const auto has = [&](std::string_view word) { return begin.find(word) != std::string::npos; };
  if (has(base_code)) return true;
  const bool was_one = ("{" + std::string(base_code)).starts_with(begin) ||
                       static_cast<unsigned char>(begin[0]) < '\t' || has("\"magic\"") || has("\"pir\"");
  return was_one && bytes <= most_other_bytes && !Json::accept(file.text(0, bytes));
}

}  // namespace

bool fits(const Variable& variable, const Shape& shape) {
  if (variable.shape.size() != shape.size()) return false;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (variable.shape[d].value_or(shape[d]) != shape[d]) return false;
  return true;
}

std::optional<fs::path> program_beside(const fs::path& file) {
  fs::path stem = file;
  stem.replace_extension();
  for (const fs::path& begin : {stem, file})
    for (const char* const ending : {".pdmodel", json_ending})
      if (fs::path program = begin.native() + ending; program != file && is_program(program)) return program;
  if (fs::path program = file.parent_path() / "__model__"; program != file && is_program(program)) return program;
  return std::nullopt;
}

std::vector<Variable> read_program(const fs::path& program) {
  const PosixFile file = PosixFile::open_for_reading(program);
  const std::uint64_t bytes = file.status().bytes;
  const bool is_json = program.extension() == json_ending || (bytes > 0 && file.text(0, 1) == "{");
  Variables variables =
      is_json ? of_json(program) : with_file(program.string(), [&] { return of_protobuf(file, bytes); });
  std::vector<Variable> sorted;
  for (auto& [name, variable] : variables) sorted.push_back(std::move(variable));
  return sorted;
}

}  // namespace ckpt::paddle_static
