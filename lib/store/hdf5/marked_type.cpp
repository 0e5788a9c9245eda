#include "store/hdf5/marked_type.hpp"

#include <algorithm>

#include "store/element_words.hpp"
#include "store/hdf5/datatype.hpp"
#include "store/number_words.hpp"
#include "tensor/known_types.hpp"

namespace ckpt::hdf5 {

namespace {

/// Marks that are written for types that HDF5 does not have, or that another type was interpreted as.
constexpr ElementWord rows[] = {{"bfloat16", "bf16"},
                                {"float16", "f16"},
                                {"float8_e4m3fn", "f8_e4m3"},
                                {"float8_e5m2", "f8_e5m2"},
                                {"float8_e4m3fnuz", "f8_e4m3fnuz"},
                                {"float8_e5m2fnuz", "f8_e5m2fnuz"},
                                {"float8_e8m0fnu", "f8_e8m0"},
                                {"float4_e2m1fn_x2", "f4_e2m1x2"},
                                {"int4x2", "int4x2"},
                                {"hif8", "hif8"}};
static_assert(decides_each_type(rows, {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64",
                                       "c32", "c64", "c128"}));

const ElementWords& marks() {
  static const ElementWords all(rows);
  return all;
}

bool is_integer(ElementKind kind) {
  return kind == ElementKind::signed_integer || kind == ElementKind::unsigned_integer;
}

std::string tag_of(const DType& dtype) {
  const LibraryText tag(H5Tget_tag(make_type(dtype).get()));
  return tag ? tag.get() : "";
}

/// Returns what the writer says about the bytes; empty if it says nothing.
std::string said(const DType& dtype, bool is_opaque, const std::vector<Attribute>& attributes) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [](const Attribute& attribute) { return attribute.name == dtype_attribute; });
  if (found != attributes.end()) return text_in(found->value).value_or("?");
  return is_opaque ? tag_of(dtype) : "";
}

}  // namespace

DType interpreted(const DType& dtype, const std::vector<Attribute>& attributes) {
  if (dtype.size != 1 && dtype.size != 2) return dtype;
  const bool is_opaque = dtype.kind == ElementKind::other && H5Tget_class(make_type(dtype).get()) == H5T_OPAQUE;
  if (!is_opaque && !is_integer(dtype.kind)) return dtype;
  std::string mark = said(dtype, is_opaque, attributes);
  if (mark.empty() && is_opaque && dtype.size == 2) mark = "bfloat16";
  const auto number = type_by_word(mark);
  if (!number || number->size != dtype.size || marks().word(*number).empty()) return dtype;
  return stored_as(*number, dtype);
}

DType stored_as(DType number, const DType& stored) {
  if (auto ordered = number_type(number.kind, number.size, stored.order)) number = *ordered;
  // HDF5 has no type for such numbers: the bytes are stored as the given type.
  if (std::string encoding = encoding_of(make_type(stored).get()); encoding_of(make_type(number).get()) != encoding)
    number.native = encoding;
  return number;
}

std::optional<std::string> mark_for(const DType& dtype) {
  DType little = dtype;
  if (auto number = number_type(dtype.kind, dtype.size)) little = *number;
  const std::string_view mark = marks().word(little);
  if (mark.empty() || interpreted(describe(make_type(dtype).get()), {}) == dtype) return std::nullopt;
  return std::string(mark);
}

}  // namespace ckpt::hdf5
