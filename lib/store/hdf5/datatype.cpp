#include "store/hdf5/datatype.hpp"

#include <array>
#include <unordered_map>
#include <vector>

#include "store/hdf5/type_name.hpp"

namespace ckpt::hdf5 {

namespace {

/// Encodings that are remembered, of each kind: a checkpoint has a handful of types and shapes, and HDF5 takes as long
/// to make one as for a third of a dataset.
constexpr std::size_t max_known = 1024;

/// What `make` gives for a key, made once. Used under the Lock, as all here.
template <class Value, class Make>
const Value& remembered(std::unordered_map<std::string, Value>& known, const std::string& key, Make&& make) {
  if (const auto place = known.find(key); place != known.end()) return place->second;
  Value value = make();
  if (known.size() == max_known) known.clear();
  return known.emplace(key, std::move(value)).first->second;
}

/// One more owner of what HDF5 counts the owners of.
template <class Owner>
Owner shared(const Owner& owner) {
  check(H5Iinc_ref(owner.get()), "H5Iinc_ref");
  return Owner(owner.get());
}

/// HDF5 writes as many bytes of a text as its base type says for each character: with any other size it reads past the
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

/// H5Tencode and H5Sencode: first asked for the size, then for the bytes.
template <class Encode>
std::string encoded(Encode&& encode, const char* action) {
  std::size_t size = 0;
  check(encode(nullptr, &size), action);
  std::string bytes(size, '\0');
  check(encode(bytes.data(), &size), action);
  bytes.resize(size);
  return bytes;
}

std::string plain_encoding(hid_t type) {
  return encoded([&](void* out, std::size_t* size) { return H5Tencode(type, out, size); }, "encoding a type");
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

/// The same type made anew. One that was read keeps the format version of its file, so that equal types have several
/// encodings, and those of the latest format fit into no file of an older one. No public call changes the version:
/// committing a type to a file does with HDF5 1.10, not with 1.14. Types without parts have one version only.
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

std::string canonical(const std::string& encoding) {
  static auto* known = new std::unordered_map<std::string, std::string>;
  return remembered(*known, encoding, [&] {
    const auto type = own<TypeId>(H5Tdecode(encoding.data()), "decoding a type");
    return plain_encoding(remade(type.get(), 0).get());
  });
}

}  // namespace

TypeTraits traits_of(hid_t type) {
  TypeTraits traits;
  collect_traits(type, 0, traits);
  return traits;
}

DType describe(hid_t type) {
  static auto* known = new std::unordered_map<std::string, DType>;
  const std::string encoding = plain_encoding(type);
  return remembered(*known, encoding, [&]() -> DType {
    const std::size_t size = H5Tget_size(type);
    if (size == 0) fail("a type's size");
    return {type_name(type), size, canonical(encoding)};
  });
}

std::string encode_type(hid_t type) {
  return canonical(plain_encoding(type));
}

TypeId decode_type(const std::string& encoded) {
  static auto* known = new std::unordered_map<std::string, TypeId>;
  return shared(remembered(*known, encoded, [&] { return own<TypeId>(H5Tdecode(encoded.data()), "decoding a type"); }));
}

std::string encode_space(hid_t space) {
  // A space as it is read carries the format of its file, and room to grow.
  static auto* known = new std::unordered_map<std::string, std::string>;
  const H5S_class_t kind = check(H5Sget_simple_extent_type(space), "a dataspace's class");
  const int rank = kind == H5S_SIMPLE ? check(H5Sget_simple_extent_ndims(space), "a dataspace's rank") : 0;
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  if (rank > 0) check(H5Sget_simple_extent_dims(space, extents.data(), nullptr), "a dataspace's extents");
  const std::string key =
      std::to_string(kind) + ' ' +
      std::string(reinterpret_cast<const char*>(extents.data()), static_cast<std::size_t>(rank) * sizeof(hsize_t));
  return remembered(*known, key, [&] {
    const auto plain = own<SpaceId>(
        kind == H5S_SIMPLE ? H5Screate_simple(rank, extents.data(), nullptr) : H5Screate(kind), "making a dataspace");
    return encoded([&](void* out, std::size_t* size) { return H5Sencode(plain.get(), out, size); },
                   "encoding a dataspace");
  });
}

SpaceId decode_space(const std::string& encoded) {
  static auto* known = new std::unordered_map<std::string, SpaceId>;
  return shared(
      remembered(*known, encoded, [&] { return own<SpaceId>(H5Sdecode(encoded.data()), "decoding a dataspace"); }));
}

TypeId transient(TypeId type) {
  if (check(H5Tcommitted(type.get()), "a type") == 0) return type;
  return own<TypeId>(H5Tcopy(type.get()), "copying a type");
}

}  // namespace ckpt::hdf5
