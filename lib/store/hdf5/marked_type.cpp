#include "store/hdf5/marked_type.hpp"

#include <algorithm>
#include <array>

#include "store/hdf5/datatype.hpp"

namespace ckpt::hdf5 {

namespace {

struct Mark {
  const char* text;
  ElementKind kind;
  std::uint64_t size;
};

constexpr std::array<Mark, 3> marks{{{"bfloat16", ElementKind::bfloat, 2},
                                     {"float8_e4m3fn", ElementKind::f8_e4m3, 1},
                                     {"float8_e5m2", ElementKind::f8_e5m2, 1}}};

bool is_integer(ElementKind kind) {
  return kind == ElementKind::signed_integer || kind == ElementKind::unsigned_integer;
}

std::string tag_of(const DType& dtype) {
  const LibraryText tag(H5Tget_tag(make_type(dtype).get()));
  return tag ? tag.get() : "";
}

/// What the writer says of the bytes: nothing where he says nothing.
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
  const auto* const found = std::find_if(
      marks.begin(), marks.end(), [&](const Mark& each) { return each.text == mark && each.size == dtype.size; });
  if (found == marks.end()) return dtype;
  DType number = *number_type(found->kind, found->size, dtype.order);
  number.native = encoding_of(make_type(dtype).get());
  return number;
}

std::optional<std::string> mark_for(const DType& dtype) {
  const auto* const found =
      std::find_if(marks.begin(), marks.end(), [&](const Mark& each) { return each.kind == dtype.kind; });
  if (found == marks.end() || interpreted(describe(make_type(dtype).get()), {}) == dtype) return std::nullopt;
  return found->text;
}

}  // namespace ckpt::hdf5
