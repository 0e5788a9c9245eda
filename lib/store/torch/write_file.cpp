#include "store/torch/write_file.hpp"

#include <unordered_set>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "store/global_shapes.hpp"
#include "store/torch/tree_writer.hpp"

namespace ckpt::torch {

namespace {

/// The name that torch.save uses when it writes to a stream.
constexpr const char* archive_folder = "archive";

void add_own(const FileSpec& spec, ZipLayout& zip, FileRoom& room) {
  if (!spec.layout.empty()) zip.add(layout_entry, spec.layout);
  if (const std::string shapes = global_shapes_text(spec); !shapes.empty()) zip.add(global_shapes_entry, shapes);
  if (spec.manifest.size() >= least_manifest_bytes)
    room.manifest = zip.add_room(manifest_entry, spec.manifest.size(), spec.manifest);
  else if (!spec.manifest.empty())
    zip.add(manifest_entry, spec.manifest);
}

void add_arrays(const FileSpec& spec, const PickledTree& tree, ZipLayout& zip, FileRoom& room) {
  for (std::size_t i = 0; i < spec.arrays.size(); ++i) {
    const FileSpec::Array& array = spec.arrays[i];
    if (array.same_as) {
      room.data.push_back(room.data.at(*array.same_as));
      continue;
    }
    const std::uint64_t bytes = checked_mul(numel(array.shape), array.dtype.size, "a tensor");
    const Interval place = zip.add_room("data/" + tree.keys[i], bytes);
    room.data.push_back(bytes > 0 ? FileExtents(place.lo, bytes) : FileExtents());
  }
  for (const PickledTree::Known& other : tree.others) zip.add("data/" + other.key, other.bytes);
}

[[noreturn]] void refuse_name(const std::string& name, const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "tensor name \"" + name + '"', {found, expected, "", {Advice::What::rename, ""}});
}

void check_path(const std::string& name) {
  if (!is_utf8(name)) refuse_name(name, "it is not UTF-8", "text, as torch files hold names");
  if (name.empty() || name.front() == '/' || name.back() == '/' || name.find("//") != std::string::npos)
    refuse_name(name, "a part of it is empty", "keys of dicts, with a / between them");
}

}  // namespace

NewFile form_of(const FileSpec& spec) {
  const PickledTree tree = write_tree(spec);
  NewFile made;
  ZipLayout zip(archive_folder);
  zip.add("data.pkl", tree.pickle);
  zip.add(".format_version", "1");
  zip.add(".storage_alignment", "64");
  zip.add("byteorder", "little");
  add_own(spec, zip, made.room);
  add_arrays(spec, tree, zip, made.room);
  zip.add("version", "3\n");
  ZipForm form = zip.take();
  made.room.bytes = form.bytes;
  made.room.is_in_order = false;
  made.room.metadata = sum_of_segments(form);
  if (made.room.manifest)
    made.room.metadata = made.room.metadata - sum_of(std::as_bytes(std::span(spec.manifest)), made.room.manifest->lo);
  made.segments = std::move(form.segments);
  return made;
}

PartialSum sum_of_segments(const ZipForm& zip) {
  PartialSum sum;
  for (const FileSegment& segment : zip.segments)
    sum += sum_of(std::as_bytes(std::span(segment.bytes)), segment.offset);
  return sum;
}

std::vector<std::string> losses(const FileSpec& spec) {
  std::vector<std::string> lost = lost_attributes(spec);
  for (const FileSpec::Array& array : spec.arrays) checked_type(array);
  if (auto attributes = lost_attributes_of_arrays(spec); !attributes.empty()) lost.push_back(std::move(attributes));
  return lost;
}

void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups) {
  const std::unordered_set<std::string> names(datasets.begin(), datasets.end());
  for (const std::string& name : datasets) check_path(name);
  for (const std::string& name : groups) {
    check_path(name);
    if (names.contains(name)) refuse_name(name, "a group with attributes has it, too", "a name of its own");
  }
}

}  // namespace ckpt::torch
