#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/hdf5/global_heap.hpp"
#include "store/hdf5/library.hpp"
#include "store/value.hpp"

namespace ckpt::hdf5 {

/// Attributes that only ckpt-reshard writes.
inline constexpr const char* layout_attribute = "ckpt_layout";
inline constexpr const char* manifest_attribute = "ckpt_manifest";
inline constexpr const char* viewed_attribute = "ckpt_viewed";
inline constexpr const char* global_shape_attribute = "ckpt_global_shape";

/// Returns all attributes of an object, sorted by name. Attributes of a reference type mean nothing in another file:
/// their names go to `left_out`.
std::vector<Attribute> read_attributes(hid_t object, GlobalHeap& heap, std::vector<std::string>& left_out);

/// Removes the attribute of this name from the list and returns it.
std::optional<Attribute> take(std::vector<Attribute>& attributes, const std::string& name);

void write_attribute(hid_t object, const Attribute& attribute);
void write_text(hid_t object, const char* name, const std::string& text);
void write_shape(hid_t object, const char* name, const Shape& extents);

/// Reads or writes a dataset's whole value.
Value read_value(hid_t dataset, hid_t type, hid_t space, GlobalHeap& heap);
void write_value(hid_t dataset, hid_t type, const Value& value);

}  // namespace ckpt::hdf5
