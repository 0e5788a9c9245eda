#include "store/safetensors/write_file.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "store/attributes_json.hpp"
#include "store/element_words.hpp"
#include "store/global_shapes.hpp"
#include "store/kept_tree.hpp"
#include "store/safetensors/header.hpp"
#include "store/safetensors/read_schema.hpp"
#include "tensor/alignment.hpp"

namespace ckpt::safetensors {

namespace {

/// Returns an attribute in the form of `__metadata__`; nothing if it has no such form.
std::optional<std::string> held_text(const Attribute& attribute) {
  auto text = text_in(attribute.value);
  return text && is_utf8(*text) && is_utf8(attribute.name) ? text : std::nullopt;
}

/// Returns all other attributes, including those of groups.
AttributesJson no_texts(const FileSpec& spec) {
  std::vector<Attribute> of_root;
  for (const Attribute& attribute : spec.attributes)
    if (!held_text(attribute)) of_root.push_back(attribute);
  return attributes_json(of_root, spec.groups);
}

/// Returns all metadata except the manifest, which may be long.
std::map<std::string, std::string> metadata_of(const FileSpec& spec) {
  std::map<std::string, std::string> metadata;
  for (const Attribute& attribute : spec.attributes)
    if (auto text = held_text(attribute)) metadata[attribute.name] = std::move(*text);
  if (AttributesJson others = no_texts(spec); !others.text.empty()) metadata[attributes_key] = std::move(others.text);
  if (std::string shapes = global_shapes_text(spec); !shapes.empty()) metadata[global_shapes_key] = std::move(shapes);
  if (spec.tree) metadata[tree_attribute] = *spec.tree;
  if (!spec.layout.empty()) metadata[layout_key] = spec.layout;
  return metadata;
}

/// Puts large elements first, so that every tensor lies at a multiple of its element's size, as readers expect.
std::vector<std::size_t> order_of(const FileSpec& spec) {
  std::vector<std::size_t> order(spec.arrays.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return spec.arrays[a].dtype.size > spec.arrays[b].dtype.size; });
  return order;
}

/// Returns the byte of a block at which all data is to begin, so that the largest array lies where it should; nothing
/// if any will do. Data has no gaps: there is only one choice.
std::optional<std::uint64_t> begin_in_block(const FileSpec& spec, const std::vector<std::uint64_t>& begins) {
  const auto bytes_at_choice = [](const FileSpec::Array& array) {
    return array.place_in_block ? numel(array.shape) * array.dtype.size : 0;
  };
  const auto largest = std::ranges::max_element(spec.arrays, {}, bytes_at_choice);
  if (largest == spec.arrays.end() || !largest->place_in_block) return std::nullopt;
  const std::uint64_t before = begins[static_cast<std::size_t>(largest - spec.arrays.begin())] % data_block;
  const std::uint64_t in_block = (*largest->place_in_block + data_block - before) % data_block;
  return in_block % 8 == 0 ? std::optional(in_block) : std::nullopt;
}

void refuse_type(const FileSpec::Array& array) {
  throw Error(Kind::input, "/" + array.name,
              {"elements of type " + array.dtype.name + ", which safetensors files cannot hold", "",
               is_bytes(array.dtype) ? name_number_type(array.dtype, array.name) : "write HDF5 instead",
               leaving_out({array.name.str()})});
}

}  // namespace

std::vector<std::string> losses(const FileSpec& spec) {
  std::vector<std::string> lost;
  for (const std::string& name : no_texts(spec).lost)
    lost.push_back("attribute " + name + ", which is no number, text, or list of them");
  for (const FileSpec::Array& array : spec.arrays) {
    if (type_word(array.dtype).empty() || array.verbatim) refuse_type(array);
    if (type_word(array.dtype) == "F4" && array.shape.empty()) refuse_type(array);  // two elements, which are no scalar
  }
  if (auto attributes = lost_attributes_of_arrays(spec); !attributes.empty()) lost.push_back(std::move(attributes));
  return lost;
}

NewFile form_of(const FileSpec& spec) {
  std::size_t name_bytes = 0;
  for (const FileSpec::Array& array : spec.arrays) name_bytes += array.name.size();
  const std::map<std::string, std::string> texts = metadata_of(spec);
  std::map<std::string, std::string_view> metadata(texts.begin(), texts.end());
  if (!spec.manifest.empty()) metadata[manifest_key] = spec.manifest;
  HeaderWriter header(metadata, spec.arrays.size(), name_bytes);
  std::vector<std::uint64_t> begins(spec.arrays.size());
  std::uint64_t end = 0;
  for (const std::size_t i : order_of(spec)) {
    const FileSpec::Array& array = spec.arrays[i];
    begins[i] = end;
    end = checked_add(end, checked_mul(numel(array.shape), array.dtype.size, "a tensor"), "a file");
    // Entries follow the order of the data: MindSpore's reader accepts no other.
    header.add(array.name, array.dtype, array.shape, {begins[i], end});
  }
  const Interval manifest = header.place_of(manifest_key);
  std::string head = std::move(header).finish(begin_in_block(spec, begins));
  const std::uint64_t length = head.size() - length_bytes;
  if (length > max_header_bytes)
    throw Error(Kind::input, "",
                {"a header of " + std::to_string(length) + " bytes",
                 "at most " + std::to_string(max_header_bytes) + ", which is what readers of safetensors take",
                 "write HDF5, or more files"});
  NewFile made;
  made.room.bytes = head.size() + end;
  made.room.is_in_order = false;
  made.room.metadata = sum_of(std::as_bytes(std::span(head)), 0);
  if (spec.manifest.size() >= least_manifest_bytes) {
    made.room.manifest = manifest;
    const std::string_view text = std::string_view(head).substr(manifest.lo, manifest.size());
    made.room.metadata = made.room.metadata - sum_of(std::as_bytes(std::span(text)), manifest.lo);
  }
  for (std::size_t i = 0; i < begins.size(); ++i)
    made.room.data.emplace_back(head.size() + begins[i], numel(spec.arrays[i].shape) * spec.arrays[i].dtype.size);
  made.segments.push_back({0, std::move(head)});
  return made;
}

void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& /*groups*/) {
  for (const std::string& name : datasets) {
    if (name == "__metadata__")
      throw Error(Kind::input, "tensor \"__metadata__\"",
                  {"a name that safetensors files use themselves", "another one", "", {Advice::What::rename, ""}});
    if (!is_utf8(name))
      throw Error(Kind::input, "tensor \"" + name + "\"",
                  {"its name is not UTF-8", "text, as safetensors files hold names", "", {Advice::What::rename, ""}});
  }
}

}  // namespace ckpt::safetensors
