#include "store/tensorflow/element_types.hpp"

#include <algorithm>
#include <array>

#include "store/element_words.hpp"
#include "tensor/known_types.hpp"

namespace ckpt::tensorflow {

namespace {

struct Row {
  std::uint32_t number;
  std::string_view type;
  std::string_view mark = {};
};

constexpr std::array rows{Row{1, "f32"},
                          Row{2, "f64"},
                          Row{3, "i32"},
                          Row{4, "u8"},
                          Row{5, "i16"},
                          Row{6, "i8"},
                          Row{8, "c64"},
                          Row{9, "i64"},
                          Row{10, "bool"},
                          Row{11, "i8", "qint8"},
                          Row{12, "u8", "quint8"},
                          Row{13, "i32", "qint32"},
                          Row{14, "bf16"},
                          Row{15, "i16", "qint16"},
                          Row{16, "u16", "quint16"},
                          Row{17, "u16"},
                          Row{18, "c128"},
                          Row{19, "f16"},
                          Row{22, "u32"},
                          Row{23, "u64"},
                          Row{24, "f8_e5m2"},
                          Row{25, "f8_e4m3"},
                          Row{26, "f8_e4m3fnuz"},
                          Row{27, "u8", "float8_e4m3b11fnuz"},
                          Row{28, "f8_e5m2fnuz"},
                          Row{29, "i8", "int4"},
                          Row{30, "u8", "uint4"}};
static_assert(decides_each_type(rows, {"c32", "f8_e8m0", "f4_e2m1x2", "int4x2", "hif8"}));

DType type_named(std::string_view name) {
  return number_type(name).value_or(opaque_type(name));
}

}  // namespace

std::optional<ElementType> element_type(std::uint32_t number) {
  const auto* const found = std::ranges::find(rows, number, &Row::number);
  if (found == rows.end()) return std::nullopt;
  return ElementType{type_named(found->type), found->mark};
}

std::uint32_t number_of(const DType& dtype, std::string_view mark) {
  DType plain = dtype;
  plain.native = "";
  const auto row_of = [&](std::string_view wanted) {
    const auto* const found =
        std::ranges::find_if(rows, [&](const Row& row) { return row.mark == wanted && plain == type_named(row.type); });
    return found == rows.end() ? 0 : found->number;
  };
  const std::uint32_t marked = mark.empty() ? 0 : row_of(mark);
  return marked != 0 ? marked : row_of("");
}

}  // namespace ckpt::tensorflow
