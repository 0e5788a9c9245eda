#include "store/npz/npy_header.hpp"

#include <charconv>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "store/pdparams/numpy_types.hpp"
#include "store/pickle/little_endian.hpp"
#include "tensor/number.hpp"

namespace ckpt::npz {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view magic = "\x93NUMPY"sv;
constexpr std::size_t version_bytes = 2;

[[noreturn]] void refuse_header(const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "its header", {found, expected, "is the file damaged, or of a newer NumPy?"});
}

/// Reads a literal of Python: a dict with texts, booleans and tuples of numbers.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  /// Removes a token, if it comes next.
  bool take(std::string_view token) {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) refuse_header("has \"" + std::string(rest_.substr(0, 16)) + "\"", '"' + std::string(token) + '"');
  }

  std::string text() {
    const bool is_double = take("\"");
    if (!is_double) need("'");
    const std::size_t end = rest_.find(is_double ? '"' : '\'');
    if (end == std::string_view::npos) refuse_header("has a text without an end", "one");
    std::string found(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return found;
  }

  bool boolean() {
    if (take("True")) return true;
    need("False");
    return false;
  }

  Shape numbers() {
    Shape numbers;
    need("(");
    while (!take(")")) {
      take("");  // blanks
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
      if (error != std::errc())
        refuse_header("has a shape with \"" + std::string(rest_.substr(0, 16)) + "\"", "a number");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      take("L");  // of Python 2
      numbers.push_back(number);
      if (take(",")) continue;
      need(")");
      break;
    }
    return numbers;
  }

  /// Whether a list comes next, as the types of records are.
  bool is_list() {
    take("");
    return rest_.starts_with("[");
  }

 private:
  std::string_view rest_;
};

}  // namespace

bool begins_as_npy(std::string_view bytes) {
  return bytes.starts_with(magic);
}

NpyHeader parse_npy_header(std::string_view begin) {
  if (!begins_as_npy(begin) || begin.size() < magic.size() + version_bytes)
    refuse_header("is none of NumPy's", "an array of NumPy");
  const std::size_t length_bytes = begin[magic.size()] == '\1' ? 2 : 4;
  const std::size_t text_at = magic.size() + version_bytes + length_bytes;
  if (begin.size() < text_at) refuse_header("ends before its length", "a whole one");
  const std::uint64_t length = torch::little_endian(begin.substr(magic.size() + version_bytes, length_bytes));
  if (length > begin.size() - text_at)
    refuse_header("has " + std::to_string(length) + " bytes", "at most " + std::to_string(begin.size() - text_at));
  NpyHeader header;
  header.bytes = text_at + length;
  Literal literal(begin.substr(text_at, length));
  literal.need("{");
  while (!literal.take("}")) {
    const std::string key = literal.text();
    literal.need(":");
    if (key == "descr" && literal.is_list()) return {"records", false, {}, header.bytes};
    if (key == "descr")
      header.type = literal.text();
    else if (key == "fortran_order")
      header.is_by_columns = literal.boolean();
    else if (key == "shape")
      header.shape = literal.numbers();
    else
      refuse_header("has the key \"" + key + "\"", "descr, fortran_order and shape");
    literal.take(",");
  }
  return header;
}

std::optional<DType> npy_type(const std::string& type) {
  if (const auto known = pdparams::numpy_type(type, false).dtype) return known;
  if (type.starts_with(">"))
    if (const auto little = pdparams::numpy_type("<" + type.substr(1), false).dtype)
      return number_type(little->kind, little->size, ByteOrder::big);
  std::uint64_t bytes = 0;
  if (type.size() < 3 || type[1] != 'V') return std::nullopt;
  const auto [end, error] = std::from_chars(type.data() + 2, type.data() + type.size(), bytes);
  if (error != std::errc() || end != type.data() + type.size() || bytes == 0) return std::nullopt;
  // Types that NumPy does not know, such as bfloat16 of ml_dtypes, are saved as bytes without a meaning.
  return DType{ElementKind::other, ByteOrder::little, bytes, "opaque" + std::to_string(bytes), ""};
}

}  // namespace ckpt::npz
