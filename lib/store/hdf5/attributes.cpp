#include "store/hdf5/attributes.hpp"

#include <algorithm>
#include <cstring>

#include "base/checked.hpp"
#include "store/byte_stream.hpp"
#include "store/hdf5/datatype.hpp"
#include "store/hdf5/stored_value.hpp"
#include "store/hdf5/written_value.hpp"

namespace ckpt::hdf5 {

namespace {

constexpr std::uint64_t max_global_extent = std::uint64_t{1} << 62;

/// The number of elements of a dataspace; 0 for a null one.
std::uint64_t points_in(hid_t space) {
  return static_cast<std::uint64_t>(check(H5Sget_simple_extent_npoints(space), "a dataspace's size"));
}

herr_t take_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

std::vector<std::string> attribute_names(hid_t object) {
  std::vector<std::string> names;
  check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, take_name, &names), "listing attributes");
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<Attribute> read_attribute(hid_t object, const std::string& name, GlobalHeap& heap) {
  const auto id = own<AttributeId>(H5Aopen(object, name.c_str(), H5P_DEFAULT), "opening it");
  const auto type = transient(own<TypeId>(H5Aget_type(id.get()), "its type"));
  const auto space = own<SpaceId>(H5Aget_space(id.get()), "its dataspace");
  const TypeTraits traits = traits_of(type.get());
  if (traits.reference) return std::nullopt;

  Attribute attribute{name, encode_type(type.get()), encode_space(space.get()), {}};
  const std::uint64_t points = points_in(space.get());
  if (points == 0) return attribute;
  const StoredForm form(type.get(), heap);
  const std::uint64_t bytes = checked_mul(form.size(), points);
  heap.spend(bytes);
  std::vector<std::byte> values(bytes);
  check(H5Aread(id.get(), form.raw_type(), values.data()), "reading it");
  attribute.value = form.flatten(values, heap);
  return attribute;
}

AttributeId create_attribute(hid_t object, const char* name, hid_t type, hid_t space) {
  const auto creation = own<PropertyId>(H5Pcreate(H5P_ATTRIBUTE_CREATE), "H5Pcreate");
  check(H5Pset_char_encoding(creation.get(), H5T_CSET_UTF8), "H5Pset_char_encoding");
  return own<AttributeId>(H5Acreate2(object, name, type, space, creation.get(), H5P_DEFAULT), "creating an attribute");
}

}  // namespace

std::vector<Attribute> read_attributes(hid_t object, GlobalHeap& heap, std::vector<std::string>& left_out) {
  std::vector<Attribute> attributes;
  for (const auto& name : attribute_names(object))
    with_context("attribute " + name, [&] {
      if (auto attribute = read_attribute(object, name, heap))
        attributes.push_back(std::move(*attribute));
      else
        left_out.push_back(name);
    });
  return attributes;
}

std::optional<Attribute> take(std::vector<Attribute>& attributes, const std::string& name) {
  const auto place =
      std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& a) { return a.name == name; });
  if (place == attributes.end()) return std::nullopt;
  std::optional<Attribute> taken = std::move(*place);
  attributes.erase(place);
  return taken;
}

std::string text_of(const Attribute& attribute) {
  const auto type = decode_type(attribute.type);
  const auto space = decode_space(attribute.space);
  if (H5Tget_class(type.get()) != H5T_STRING || points_in(space.get()) != 1)
    throw Error(Kind::input, "attribute " + attribute.name,
                {"no single string", "expected one that these programs wrote", ""});
  if (H5Tis_variable_str(type.get()) > 0) {
    ByteReader in(attribute.value, attribute.name);
    const std::uint64_t length = in.number();
    return length == in.left() ? std::string(in.raw(length)) : std::string();
  }
  return attribute.value.substr(0, attribute.value.find('\0'));
}

Extents extents_of(const Attribute& attribute) {
  const auto type = decode_type(attribute.type);
  const auto space = decode_space(attribute.space);
  const std::size_t size = H5Tget_size(type.get());
  if (H5Tget_class(type.get()) != H5T_INTEGER || size > sizeof(std::int64_t) ||
      H5Sget_simple_extent_ndims(space.get()) != 1)
    throw Error(Kind::input, "attribute " + attribute.name, {"no list of integers", "expected a tensor's shape", ""});

  Extents extents(attribute.value.size() / size);  // throws for more than 32
  if (extents.empty()) return extents;
  std::vector<std::int64_t> values(extents.size());
  std::memcpy(values.data(), attribute.value.data(), attribute.value.size());
  check(H5Tconvert(type.get(), H5T_NATIVE_INT64, values.size(), values.data(), nullptr, H5P_DEFAULT),
        "converting a shape");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || static_cast<std::uint64_t>(values[i]) > max_global_extent)
      throw Error(Kind::input, "attribute " + attribute.name,
                  {"an extent of " + std::to_string(values[i]), "expected 0 to 2^62", ""});
    extents[i] = static_cast<std::uint64_t>(values[i]);
  }
  return extents;
}

void write_attribute(hid_t object, const Attribute& attribute) {
  const auto type = decode_type(attribute.type);
  const auto space = decode_space(attribute.space);
  const auto id = create_attribute(object, attribute.name.c_str(), type.get(), space.get());
  const std::uint64_t points = points_in(space.get());
  if (points == 0) return;
  const auto values = MemoryForm(type.get()).unflatten(attribute.value, points);
  check(H5Awrite(id.get(), type.get(), values.elements.data()), "writing an attribute");
}

void write_text(hid_t object, const char* name, const std::string& text) {
  const auto type = own<TypeId>(H5Tcopy(H5T_C_S1), "H5Tcopy");
  check(H5Tset_size(type.get(), text.size()), "H5Tset_size");
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "H5Tset_strpad");
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "H5Tset_cset");
  const auto space = own<SpaceId>(H5Screate(H5S_SCALAR), "H5Screate");
  check(H5Awrite(create_attribute(object, name, type.get(), space.get()).get(), type.get(), text.data()),
        "writing an attribute");
}

void write_extents(hid_t object, const char* name, const Extents& extents) {
  const hsize_t count = extents.size();
  const auto space = own<SpaceId>(H5Screate_simple(1, &count, nullptr), "H5Screate_simple");
  const auto id = create_attribute(object, name, H5T_STD_I64LE, space.get());
  if (count > 0) check(H5Awrite(id.get(), H5T_NATIVE_UINT64, extents.data()), "writing an attribute");
}

void write_value(hid_t dataset, hid_t type, hid_t space, const std::string& value) {
  const std::uint64_t points = points_in(space);
  if (points == 0) return;
  const auto values = MemoryForm(type).unflatten(value, points);
  check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.elements.data()), "writing its value");
}

std::string read_value(hid_t dataset, hid_t type, hid_t space, GlobalHeap& heap) {
  const std::uint64_t points = points_in(space);
  if (points == 0) return {};
  const StoredForm form(type, heap);
  const std::uint64_t bytes = checked_mul(form.size(), points);
  heap.spend(bytes);
  std::vector<std::byte> values(bytes);
  check(H5Dread(dataset, form.raw_type(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "reading its value");
  return form.flatten(values, heap);
}

}  // namespace ckpt::hdf5
