#include "store/hdf5/datatype.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "store/element_words.hpp"
#include "store/hdf5/type_name.hpp"
#include "store/number_words.hpp"

namespace ckpt::hdf5 {

namespace {

/// Limit on cached encodings of each kind: a checkpoint has a handful of types and shapes, and making one takes HDF5 a
/// third of the time for a dataset.
constexpr std::size_t max_known = 1024;

/// Caches the results of `make` by key. Used under the Lock, like everything here.
template <class Value, class Make>
const Value& remembered(std::unordered_map<std::string, Value>& known, const std::string& key, Make&& make) {
  if (const auto place = known.find(key); place != known.end()) return place->second;
  Value value = make();
  if (known.size() == max_known) known.clear();
  return known.emplace(key, std::move(value)).first->second;
}

/// Returns one more owner of an object that HDF5 reference-counts.
template <class Owner>
Owner shared(const Owner& owner) {
  check(H5Iinc_ref(owner.get()), "H5Iinc_ref");
  return Owner(owner.get());
}

/// For each character of a text, HDF5 writes as many bytes as its base type has: any other size makes it read past the
/// text.
void check_text(hid_t type) {
  if (H5Tget_size(own<TypeId>(H5Tget_super(type), "a string's base").get()) != 1)
    throw Error(Kind::input, "its string type is damaged");
}

void collect_traits(hid_t type, int depth, TypeTraits& traits) {
  check_depth(depth);
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_REFERENCE) traits.reference = true;
  const bool text = kind == H5T_STRING && H5Tis_variable_str(type) > 0;
  if (text) check_text(type);
  if (kind == H5T_VLEN || text) traits.variable_length = true;
  if (kind == H5T_VLEN || kind == H5T_ARRAY)
    collect_traits(own<TypeId>(H5Tget_super(type), "a type's base").get(), depth + 1, traits);
  if (kind != H5T_COMPOUND) return;
  const int count = check(H5Tget_nmembers(type), "a compound's members");
  for (int i = 0; i < count; ++i)
    collect_traits(own<TypeId>(H5Tget_member_type(type, static_cast<unsigned>(i)), "a compound's member").get(),
                   depth + 1, traits);
}

std::string plain_encoding(hid_t type) {
  std::size_t size = 0;
  check(H5Tencode(type, nullptr, &size), "encoding a type");
  std::string bytes(size, '\0');
  check(H5Tencode(type, bytes.data(), &size), "encoding a type");
  bytes.resize(size);
  return bytes;
}

TypeId remade(hid_t type, int depth);

TypeId remade_base(hid_t type, int depth) {
  return remade(own<TypeId>(H5Tget_super(type), "a type's base").get(), depth + 1);
}

TypeId remade_array(hid_t type, int depth) {
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  const int rank = check(H5Tget_array_ndims(type), "an array type's rank");
  check(H5Tget_array_dims2(type, extents.data()), "an array type's extents");
  return own<TypeId>(H5Tarray_create2(remade_base(type, depth).get(), static_cast<unsigned>(rank), extents.data()),
                     "copying an array type");
}

TypeId remade_enum(hid_t type, int depth) {
  auto copy = own<TypeId>(H5Tenum_create(remade_base(type, depth).get()), "copying an enum");
  const int count = check(H5Tget_nmembers(type), "an enum's members");
  std::vector<std::byte> value(H5Tget_size(type));
  for (int i = 0; i < count; ++i) {
    const auto member = static_cast<unsigned>(i);
    const LibraryText name(H5Tget_member_name(type, member));
    check(H5Tget_member_value(type, member, value.data()), "an enum's member");
    check(H5Tenum_insert(copy.get(), name ? name.get() : "", value.data()), "copying an enum");
  }
  return copy;
}

TypeId remade_compound(hid_t type, int depth) {
  auto copy = own<TypeId>(H5Tcreate(H5T_COMPOUND, H5Tget_size(type)), "copying a compound");
  const int count = check(H5Tget_nmembers(type), "a compound's members");
  for (int i = 0; i < count; ++i) {
    const auto member = static_cast<unsigned>(i);
    const LibraryText name(H5Tget_member_name(type, member));
    const auto part = own<TypeId>(H5Tget_member_type(type, member), "a compound's member");
    check(H5Tinsert(copy.get(), name ? name.get() : "", H5Tget_member_offset(type, member),
                    remade(part.get(), depth + 1).get()),
          "copying a compound");
  }
  return copy;
}

/// Builds an equal type from scratch. A type that was read keeps the format version of its file: so equal types have
/// several encodings, and those of the latest format fit into no file of an older one. No public call changes the
/// version: committing a type to a file does with HDF5 1.10, but not with 1.14. Types without parts have a single
/// version.
TypeId remade(hid_t type, int depth) {
  check_depth(depth);
  switch (H5Tget_class(type)) {
    case H5T_COMPOUND:
      return remade_compound(type, depth);
    case H5T_ENUM:
      return remade_enum(type, depth);
    case H5T_ARRAY:
      return remade_array(type, depth);
    case H5T_VLEN:
      return own<TypeId>(H5Tvlen_create(remade_base(type, depth).get()), "copying a sequence's type");
    default:
      return own<TypeId>(H5Tcopy(type), "copying a type");
  }
}

/// Makes a float of one sign bit, `exponent` bits and `mantissa` bits, arranged as in IEEE 754.
TypeId float_type(std::size_t exponent, std::size_t mantissa) {
  auto type = own<TypeId>(H5Tcopy(H5T_IEEE_F32LE), "H5Tcopy");
  const std::size_t bits = 1 + exponent + mantissa;
  check(H5Tset_fields(type.get(), bits - 1, mantissa, exponent, 0, mantissa), "H5Tset_fields");
  check(H5Tset_precision(type.get(), bits), "H5Tset_precision");
  check(H5Tset_size(type.get(), bits / 8), "H5Tset_size");
  check(H5Tset_ebias(type.get(), (std::size_t{1} << (exponent - 1)) - 1), "H5Tset_ebias");
  return type;
}

TypeId integer_type(const DType& dtype) {
  auto type =
      own<TypeId>(H5Tcopy(dtype.kind == ElementKind::unsigned_integer ? H5T_STD_U8LE : H5T_STD_I8LE), "H5Tcopy");
  check(H5Tset_size(type.get(), dtype.size), "H5Tset_size");
  check(H5Tset_precision(type.get(), 8 * dtype.size), "H5Tset_precision");
  return type;
}

/// numpy's bool, as h5py stores it.
TypeId bool_type() {
  auto type = own<TypeId>(H5Tenum_create(H5T_STD_I8LE), "H5Tenum_create");
  for (const auto& [name, value] : {std::pair{"FALSE", std::int8_t{0}}, {"TRUE", std::int8_t{1}}})
    check(H5Tenum_insert(type.get(), name, &value), "H5Tenum_insert");
  return type;
}

TypeId plain_type(const DType& dtype);

[[noreturn]] void refuse_type(const DType& dtype) {
  throw Error(Kind::input, "",
              {"elements of " + dtype.name + ", which HDF5 files cannot hold as they are",
               "",
               is_bytes(dtype) ? name_number_type(dtype, "NAME") : "",
               {Advice::What::leave_out, ""}});
}

/// numpy's complex numbers, as h5py stores them.
TypeId complex_type(const DType& dtype) {
  const auto part = number_type(ElementKind::ieee_float, dtype.size / 2, dtype.order);
  const auto part_type = plain_type(*part);
  auto type = own<TypeId>(H5Tcreate(H5T_COMPOUND, dtype.size), "H5Tcreate");
  check(H5Tinsert(type.get(), "r", 0, part_type.get()), "H5Tinsert");
  check(H5Tinsert(type.get(), "i", part->size, part_type.get()), "H5Tinsert");
  return type;
}

TypeId utf8_type() {
  auto type = own<TypeId>(H5Tcopy(H5T_C_S1), "H5Tcopy");
  check(H5Tset_size(type.get(), H5T_VARIABLE), "H5Tset_size");
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "H5Tset_cset");
  return type;
}

/// Returns the number or text type of a kind, a size and an order. Empty for other kinds.
TypeId plain_type(const DType& dtype) {
  TypeId type;
  switch (dtype.kind) {
    case ElementKind::boolean:
      return bool_type();
    case ElementKind::complex:
      return complex_type(dtype);
    case ElementKind::text:
      return utf8_type();
    case ElementKind::signed_integer:
    case ElementKind::unsigned_integer:
      type = integer_type(dtype);
      break;
    case ElementKind::ieee_float:
      type = dtype.size == 2 ? float_type(5, 10)
                             : own<TypeId>(H5Tcopy(dtype.size == 4 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE), "H5Tcopy");
      break;
    case ElementKind::bfloat:
      type = float_type(8, 7);
      break;
    case ElementKind::f8_e4m3:
      type = float_type(4, 3);
      break;
    case ElementKind::f8_e5m2:
      type = float_type(5, 2);
      break;
    default:
      if (dtype.size != 1 || !type_by_word(dtype.name)) refuse_type(dtype);
      return integer_type(number_type(ElementKind::unsigned_integer, 1).value());  // marked with the type's name
  }
  if (dtype.order == ByteOrder::big) check(H5Tset_order(type.get(), H5T_ORDER_BE), "H5Tset_order");
  return type;
}

/// The type's name gives kind, size and order of numbers; texts are recognised by their class.
DType described(const std::string& encoding, hid_t type) {
  DType dtype{ElementKind::other, ByteOrder::little, H5Tget_size(type), type_name(type), encoding};
  if (H5Tget_class(type) == H5T_STRING) {
    dtype.kind = H5Tget_strpad(type) == H5T_STR_SPACEPAD ? ElementKind::space_padded_text : ElementKind::text;
    if (H5Tis_variable_str(type) > 0) dtype.size = 0;
  } else if (auto number = number_type(dtype.name); number && number->size == dtype.size) {
    dtype = std::move(*number);
    if (plain_encoding(remade(plain_type(dtype).get(), 0).get()) != encoding) dtype.native = encoding;
  }
  return dtype;
}

/// Caches types by their encoding in their files. Used under the Lock, like everything here.
const DType& known_type(const std::string& encoding) {
  static auto* known = new std::unordered_map<std::string, DType>;
  return remembered(*known, encoding, [&] {
    const auto type = remade(own<TypeId>(H5Tdecode(encoding.data()), "decoding a type").get(), 0);
    return described(plain_encoding(type.get()), type.get());
  });
}

}  // namespace

TypeTraits traits_of(hid_t type) {
  TypeTraits traits;
  collect_traits(type, 0, traits);
  return traits;
}

DType describe(hid_t type) {
  if (H5Tget_size(type) == 0) fail("a type's size");
  return known_type(plain_encoding(type));
}

TypeId make_type(const DType& dtype) {
  static auto* known = new std::unordered_map<std::string, TypeId>;
  const std::string& key = dtype.native.empty() ? dtype.name : dtype.native;
  return shared(remembered(*known, key, [&] {
    if (dtype.native.empty()) return plain_type(dtype);
    TypeId type(H5Tdecode(dtype.native.str().data()));
    if (!type) {  // `native` is another format's name
      H5Eclear2(H5E_DEFAULT);
      refuse_type(dtype);
    }
    return type;
  }));
}

std::string encoding_of(hid_t type) {
  return plain_encoding(type);
}

std::optional<Shape> shape_of_space(hid_t space) {
  if (check(H5Sget_simple_extent_type(space), "a dataspace's class") == H5S_NULL) return std::nullopt;
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  const int rank = check(H5Sget_simple_extent_dims(space, extents.data(), nullptr), "a dataspace's extents");
  Shape shape(static_cast<std::size_t>(rank));
  std::copy_n(extents.begin(), shape.size(), shape.begin());
  return shape;
}

SpaceId make_space(const std::optional<Shape>& shape) {
  if (!shape) return own<SpaceId>(H5Screate(H5S_NULL), "H5Screate");
  if (shape->empty()) return own<SpaceId>(H5Screate(H5S_SCALAR), "H5Screate");
  return own<SpaceId>(
      H5Screate_simple(static_cast<int>(shape->size()), reinterpret_cast<const hsize_t*>(shape->data()), nullptr),
      "H5Screate_simple");
}

TypeId transient(TypeId type) {
  if (check(H5Tcommitted(type.get()), "a type") == 0) return type;
  return own<TypeId>(H5Tcopy(type.get()), "copying a type");
}

}  // namespace ckpt::hdf5
