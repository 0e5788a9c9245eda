#include "store/hdf5/attributes.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "store/hdf5/datatype.hpp"
#include "store/hdf5/stored_value.hpp"
#include "store/hdf5/written_value.hpp"

namespace ckpt::hdf5 {

namespace {

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

/// Returns the value whose elements `read(type, buffer)` writes to the buffer.
template <class Read>
Value value_by(hid_t type, hid_t space, GlobalHeap& heap, Read&& read) {
  Value value{describe(type), shape_of_space(space), {}};
  const std::uint64_t count = value.count();
  if (count == 0) return value;
  const StoredForm form(type, heap);
  const std::uint64_t bytes = checked_mul(form.size(), count);
  heap.take(bytes);
  std::vector<std::byte> elements(bytes);
  check(read(form.raw_type(), elements.data()), "reading its value");
  value.bytes = form.flatten(elements, heap);
  return value;
}

std::optional<Attribute> read_attribute(hid_t object, const std::string& name, GlobalHeap& heap) {
  const auto id = own<AttributeId>(H5Aopen(object, name.c_str(), H5P_DEFAULT), "opening it");
  const auto type = transient(own<TypeId>(H5Aget_type(id.get()), "its type"));
  const auto space = own<SpaceId>(H5Aget_space(id.get()), "its dataspace");
  if (traits_of(type.get()).reference) return std::nullopt;
  return Attribute{name, value_by(type.get(), space.get(), heap,
                                  [&](hid_t raw_type, void* out) { return H5Aread(id.get(), raw_type, out); })};
}

/// Created once, since creation takes as long as writing the attribute.
hid_t attribute_named_in_utf8() {
  static const hid_t id = [] {
    auto properties = own<PropertyId>(H5Pcreate(H5P_ATTRIBUTE_CREATE), "H5Pcreate");
    check(H5Pset_char_encoding(properties.get(), H5T_CSET_UTF8), "H5Pset_char_encoding");
    return properties.release();
  }();
  return id;
}

AttributeId create_attribute(hid_t object, const char* name, hid_t type, hid_t space) {
  return own<AttributeId>(H5Acreate2(object, name, type, space, attribute_named_in_utf8(), H5P_DEFAULT),
                          "creating an attribute");
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

void write_attribute(hid_t object, const Attribute& attribute) {
  const Value& value = attribute.value;
  const auto type = make_type(value.dtype);
  const auto space = make_space(value.shape);
  const auto id = create_attribute(object, attribute.name.c_str(), type.get(), space.get());
  if (value.count() == 0) return;
  const auto elements = MemoryForm(type.get()).unflatten(value.bytes, value.count());
  check(H5Awrite(id.get(), type.get(), elements.elements.data()), "writing an attribute");
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

void write_shape(hid_t object, const char* name, const Shape& extents) {
  const hsize_t count = extents.size();
  const auto space = own<SpaceId>(H5Screate_simple(1, &count, nullptr), "H5Screate_simple");
  const auto id = create_attribute(object, name, H5T_STD_I64LE, space.get());
  // Extents are below 2^63, so they can be read as signed; with the stored type, HDF5 converts nothing.
  if (count > 0) check(H5Awrite(id.get(), H5T_NATIVE_INT64, extents.data()), "writing an attribute");
}

void write_value(hid_t dataset, hid_t type, const Value& value) {
  if (value.count() == 0) return;
  const auto elements = MemoryForm(type).unflatten(value.bytes, value.count());
  check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.elements.data()), "writing its value");
}

Value read_value(hid_t dataset, hid_t type, hid_t space, GlobalHeap& heap) {
  return value_by(type, space, heap, [&](hid_t raw_type, void* out) {
    return H5Dread(dataset, raw_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
  });
}

}  // namespace ckpt::hdf5
