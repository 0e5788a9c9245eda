#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/hdf5/global_heap.hpp"
#include "store/hdf5/library.hpp"
#include "store/value.hpp"

namespace ckpt::hdf5 {

/// The project's own attributes.
inline constexpr const char* layout_attribute = "ckpt_layout";
inline constexpr const char* manifest_attribute = "ckpt_manifest";
inline constexpr const char* viewed_attribute = "ckpt_viewed";
inline constexpr const char* global_shape_attribute = "ckpt_global_shape";

/// All attributes of an object, sorted by name. Those of a reference type mean nothing in another file: their names go
/// to `left_out`.
std::vector<Attribute> read_attributes(hid_t object, GlobalHeap& heap, std::vector<std::string>& left_out);

/// Takes the attribute of this name out of the list.
std::optional<Attribute> take(std::vector<Attribute>& attributes, const std::string& name);

void write_attribute(hid_t object, const Attribute& attribute);
void write_text(hid_t object, const char* name, const std::string& text);
void write_extents(hid_t object, const char* name, const Extents& extents);

/// A dataset's whole value.
Value read_value(hid_t dataset, hid_t type, hid_t space, GlobalHeap& heap);
void write_value(hid_t dataset, hid_t type, const Value& value);

}  // namespace ckpt::hdf5
