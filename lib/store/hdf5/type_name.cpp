#include "store/hdf5/type_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

namespace ckpt::hdf5 {

namespace {

/// Limit on nested types, deeper than any sane file.
constexpr int max_depth = 32;

std::string name_of(hid_t type, int depth);

std::size_t size_of(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  if (size == 0) fail("a type's size");
  return size;
}

bool is_identifier(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

/// Returns a name that cannot be confused with the text around it.
std::string in_quotes(std::string_view text) {
  if (is_identifier(text)) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      result += c;
  }
  return result + '"';
}

/// Returns the byte order as a suffix; one byte has no order.
std::string order_suffix(hid_t type) {
  if (size_of(type) == 1) return "";
  switch (H5Tget_order(type)) {
    case H5T_ORDER_LE:
    case H5T_ORDER_NONE:
      return "";
    case H5T_ORDER_BE:
      return "be";
    case H5T_ORDER_VAX:
      return "vax";
    default:
      throw Error(Kind::input, "a type of mixed byte order is not supported");
  }
}

/// Returns which bits of the element are significant, unless all are.
std::string significant_bits(hid_t type) {
  const std::size_t precision = H5Tget_precision(type);
  if (precision == 0) fail("a type's precision");
  const int offset = check(H5Tget_offset(type), "a type's bit offset");
  if (precision == 8 * size_of(type) && offset == 0) return "";
  H5T_pad_t low = H5T_PAD_ZERO;
  H5T_pad_t high = H5T_PAD_ZERO;
  check(H5Tget_pad(type, &low, &high), "a type's padding");
  return fmt::format("bits={}+{},pad={}/{}", offset, precision, static_cast<int>(low), static_cast<int>(high));
}

std::string plain_name(hid_t type, std::string_view kind) {
  const std::string bits = significant_bits(type);
  return fmt::format("{}{}{}{}", kind, 8 * size_of(type), order_suffix(type),
                     bits.empty() ? bits : fmt::format("({})", bits));
}

struct FloatForm {
  std::size_t sign = 0, exponent = 0, exponent_size = 0, mantissa = 0, mantissa_size = 0, bias = 0;
  H5T_norm_t norm = H5T_NORM_NONE;

  auto key() const { return std::tie(sign, exponent, exponent_size, mantissa, mantissa_size, bias, norm); }
};

std::string float_name(hid_t type) {
  FloatForm form;
  check(H5Tget_fields(type, &form.sign, &form.exponent, &form.exponent_size, &form.mantissa, &form.mantissa_size),
        "a float's fields");
  form.bias = H5Tget_ebias(type);
  form.norm = check(H5Tget_norm(type), "a float's normalisation");

  static const struct {
    const char* name;
    std::size_t size;
    FloatForm form;
  } known[] = {
      {"f16", 2, {15, 10, 5, 0, 10, 15, H5T_NORM_IMPLIED}},  {"f8_e4m3", 1, {7, 3, 4, 0, 3, 7, H5T_NORM_IMPLIED}},
      {"f8_e5m2", 1, {7, 2, 5, 0, 2, 15, H5T_NORM_IMPLIED}}, {"bf16", 2, {15, 7, 8, 0, 7, 127, H5T_NORM_IMPLIED}},
      {"f32", 4, {31, 23, 8, 0, 23, 127, H5T_NORM_IMPLIED}}, {"f64", 8, {63, 52, 11, 0, 52, 1023, H5T_NORM_IMPLIED}}};
  const std::string bits = significant_bits(type);
  const std::string order = order_suffix(type);
  if (bits.empty() && order != "vax")
    for (const auto& entry : known)
      if (entry.size == size_of(type) && entry.form.key() == form.key()) return entry.name + order;
  const H5T_pad_t inner = check(H5Tget_inpad(type), "a float's padding");
  return fmt::format("float{}{}(sign={},exponent={}+{},mantissa={}+{},bias={},norm={},inpad={}{}{})", 8 * size_of(type),
                     order, form.sign, form.exponent, form.exponent_size, form.mantissa, form.mantissa_size, form.bias,
                     static_cast<int>(form.norm), static_cast<int>(inner), bits.empty() ? "" : ",", bits);
}

std::string hex(const std::byte* bytes, std::size_t size) {
  std::string text = "0x";
  for (std::size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  return text;
}

std::string enum_value(hid_t base, std::vector<std::byte> value) {
  const std::size_t size = size_of(base);
  if (size > sizeof(std::int64_t)) return hex(value.data(), size);
  value.resize(sizeof(std::int64_t));
  const bool is_signed = H5Tget_sign(base) == H5T_SGN_2;
  check(H5Tconvert(base, is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, 1, value.data(), nullptr, H5P_DEFAULT),
        "an enum's value");
  std::int64_t number = 0;
  std::memcpy(&number, value.data(), sizeof number);
  return is_signed ? std::to_string(number) : std::to_string(static_cast<std::uint64_t>(number));
}

std::string enum_name(hid_t type, int depth) {
  const auto base = own<TypeId>(H5Tget_super(type), "an enum's base");
  const int count = check(H5Tget_nmembers(type), "an enum's members");
  std::vector<std::string> members;
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<unsigned>(i);
    const LibraryText name(H5Tget_member_name(type, index));
    if (!name) fail("an enum's member");
    std::vector<std::byte> value(size_of(base.get()));
    check(H5Tget_member_value(type, index, value.data()), "an enum's value");
    members.push_back(in_quotes(name.get()) + "=" + enum_value(base.get(), std::move(value)));
  }
  std::sort(members.begin(), members.end());
  const std::string base_name = name_of(base.get(), depth + 1);
  if (base_name == "i8" && members == std::vector<std::string>{"FALSE=0", "TRUE=1"}) return "bool";
  return fmt::format("enum<{}>{{{}}}", base_name, fmt::join(members, ","));
}

std::string compound_name(hid_t type, int depth) {
  struct Member {
    std::size_t offset;
    std::string name;
    std::string type;
  };
  std::vector<Member> members;
  const int count = check(H5Tget_nmembers(type), "a compound's members");
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<unsigned>(i);
    const LibraryText name(H5Tget_member_name(type, index));
    if (!name) fail("a compound's member");
    const auto member = own<TypeId>(H5Tget_member_type(type, index), "a compound's member");
    members.push_back({H5Tget_member_offset(type, index), name.get(), name_of(member.get(), depth + 1)});
  }
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return std::tie(a.offset, a.name) < std::tie(b.offset, b.name); });

  const std::size_t size = size_of(type);
  if (count == 2 && members[0].name == "r" && members[1].name == "i" && members[0].type == members[1].type)
    for (const auto& [part, complex] : {std::pair{"f16", "c32"}, {"f32", "c64"}, {"f64", "c128"}})
      for (const char* order : {"", "be"})
        if (members[0].type == std::string(part) + order && members[1].offset * 2 == size && members[0].offset == 0)
          return std::string(complex) + order;

  std::string text = "{";
  for (const auto& member : members)
    text += fmt::format("{}{}:{}@{}", text.size() > 1 ? "," : "", in_quotes(member.name), member.type, member.offset);
  return fmt::format("{}}}/{}", text, size);
}

std::string array_name(hid_t type, int depth) {
  const int rank = check(H5Tget_array_ndims(type), "an array type's rank");
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  check(H5Tget_array_dims2(type, extents.data()), "an array type's extents");
  const auto base = own<TypeId>(H5Tget_super(type), "an array type's base");
  return fmt::format("{}[{}]", name_of(base.get(), depth + 1), fmt::join(extents, ","));
}

std::string string_name(hid_t type) {
  const char* padding = nullptr;
  switch (H5Tget_strpad(type)) {
    case H5T_STR_NULLTERM:
      padding = "nullterm";
      break;
    case H5T_STR_NULLPAD:
      padding = "nullpad";
      break;
    case H5T_STR_SPACEPAD:
      padding = "spacepad";
      break;
    default:
      throw Error(Kind::input, "a string of unknown padding is not supported");
  }
  const int charset = static_cast<int>(H5Tget_cset(type));
  const std::string charset_name = charset == H5T_CSET_ASCII  ? "ascii"
                                   : charset == H5T_CSET_UTF8 ? "utf8"
                                                              : fmt::format("charset{}", charset);
  const bool variable = check(H5Tis_variable_str(type), "a string type") > 0;
  return fmt::format("string{}({},{})", variable ? "" : std::to_string(size_of(type)), padding, charset_name);
}

std::string opaque_name(hid_t type) {
  const LibraryText tag(H5Tget_tag(type));
  if (!tag) fail("an opaque type's tag");
  return *tag == '\0' ? fmt::format("opaque{}", size_of(type))
                      : fmt::format("opaque{}({})", size_of(type), in_quotes(tag.get()));
}

std::string name_of(hid_t type, int depth) {
  check_depth(depth);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return plain_name(type, H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "i");
    case H5T_FLOAT:
      return float_name(type);
    case H5T_BITFIELD:
      return plain_name(type, "bits");
    case H5T_TIME:
      return plain_name(type, "time");
    case H5T_STRING:
      return string_name(type);
    case H5T_OPAQUE:
      return opaque_name(type);
    case H5T_ENUM:
      return enum_name(type, depth);
    case H5T_COMPOUND:
      return compound_name(type, depth);
    case H5T_ARRAY:
      return array_name(type, depth);
    case H5T_VLEN:
      return fmt::format("vlen<{}>", name_of(own<TypeId>(H5Tget_super(type), "a sequence's base").get(), depth + 1));
    case H5T_REFERENCE:
      return fmt::format("reference{}", size_of(type));
    default:
      throw Error(Kind::input, "a type of an unknown class is not supported");
  }
}

}  // namespace

void check_depth(int depth) {
  if (depth > max_depth) throw Error(Kind::input, "a type nested deeper than 32 levels is not supported");
}

std::string type_name(hid_t type) {
  return name_of(type, 0);
}

}  // namespace ckpt::hdf5
