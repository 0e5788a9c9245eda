#include "store/pdparams/numpy_types.hpp"

#include <charconv>

#include "store/element_words.hpp"
#include "store/torch/element_types.hpp"
#include "tensor/known_types.hpp"

namespace ckpt::pdparams {

namespace {

/// Without the byte order.
constexpr ElementWord rows[] = {{"f4", "f32"}, {"u2", "bf16"}, {"f2", "f16"}, {"f8", "f64"},  {"i1", "i8"},
                                {"i2", "i16"}, {"i4", "i32"},  {"i8", "i64"}, {"u1", "u8"},   {"u4", "u32"},
                                {"u8", "u64"}, {"b1", "bool"}, {"c8", "c64"}, {"c16", "c128"}};
static_assert(decides_each_type(rows, {"u16", "c32", "f8_e4m3", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz", "f8_e8m0",
                                       "f4_e2m1x2", "int4x2", "hif8"}));

const ElementWords& words() {
  static const ElementWords all(rows);
  return all;
}

}  // namespace

NumpyType numpy_type(const std::string& name, bool is_of_paddle) {
  const char order = name.empty() ? '\0' : name.front();
  const std::string_view kind = std::string_view(name).substr(name.empty() ? 0 : 1);
  const bool is_little = order == '<' || order == '|' || order == '=';
  if (auto dtype = is_little ? words().type(kind) : std::nullopt) {
    if (kind == "u2" && !is_of_paddle) dtype = number_type("u16");
    return {"torch." + std::string(torch::torch_type(*dtype)->name), dtype->size, dtype};
  }
  std::uint64_t bytes = 0;
  if (kind.size() > 1) std::from_chars(kind.data() + 1, kind.data() + kind.size(), bytes);
  if (kind.starts_with("U")) bytes *= 4;
  return {"numpy." + name, bytes, std::nullopt};
}

std::string_view numpy_name(const DType& dtype) {
  return words().word(dtype);
}

}  // namespace ckpt::pdparams
