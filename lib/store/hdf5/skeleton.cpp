#include "store/hdf5/skeleton.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/checked.hpp"
#include "store/hdf5/attributes.hpp"
#include "store/hdf5/datatype.hpp"
#include "store/hdf5/file_image.hpp"
#include "store/hdf5/mappings.hpp"
#include "store/hdf5/marked_type.hpp"
#include "store/hdf5/object_names.hpp"
#include "store/hdf5/text_heap.hpp"
#include "store/kept_tree.hpp"
#include "store/number_words.hpp"
#include "tensor/alignment.hpp"

namespace ckpt::hdf5 {

namespace {

/// Room for HDF5's superblock before the data.
constexpr std::uint64_t head_bytes = 64;

/// Parallel to the arrays of a specification, as which it must live.
using TextSources = std::vector<std::optional<TextSource>>;

TextSources text_sources(const FileSpec& spec, std::uint64_t text_bytes) {
  TextSources sources;
  for (const FileSpec::Array& array : spec.arrays)
    sources.push_back(array.texts      ? std::optional(source_of(*array.texts, text_bytes))
                      : array.verbatim ? source_of(*array.verbatim)
                                       : std::nullopt);
  return sources;
}

std::uint64_t data_bytes(const FileSpec::Array& array, const std::optional<TextSource>& texts) {
  if (texts) return texts->room();
  return array.verbatim || !array.views.empty()
             ? 0
             : checked_mul(numel(array.shape), array.dtype.size, "its number of bytes");
}

/// Assigns the arrays' places, one after another. This happens before there is any metadata, whose size is still
/// unknown.
std::vector<Interval> places_of(const FileSpec& spec, const TextSources& texts) {
  std::vector<Interval> places(spec.arrays.size());
  std::uint64_t end = head_bytes;
  // Texts come last: between the data of other arrays there are only zeros.
  for (const bool are_texts : {false, true})
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint64_t bytes = data_bytes(spec.arrays[i], texts[i]);
      if (bytes == 0 || texts[i].has_value() != are_texts) continue;
      const auto& in_block = spec.arrays[i].place_in_block;
      const std::uint64_t start =
          in_block ? next_in_block(end, *in_block) : round_up(end, data_alignment(bytes), "the data of a file");
      end = checked_add(start, bytes, "the data of a file");
      places[i] = {start, end};
    }
  return places;
}

/// Returns the part of the file that contains all places.
Interval part_of(const std::vector<Interval>& places) {
  Interval part{head_bytes, head_bytes};
  for (const Interval& place : places) part.hi = std::max(part.hi, place.hi);
  return part;
}

/// Returns creation properties without timestamps, which would make equal files differ.
PropertyId untimed(hid_t kind) {
  auto properties = own<PropertyId>(H5Pcreate(kind), "H5Pcreate");
  check(H5Pset_obj_track_times(properties.get(), false), "H5Pset_obj_track_times");
  return properties;
}

/// Selects the oldest format that holds attributes above 64 KiB, and no newer one: every HDF5 since 2008 reads it, and
/// every version of the library writes the same bytes. Virtual datasets came with 1.10, in 2016.
PropertyId write_access(bool has_views) {
  auto access = file_access();
  const H5F_libver_t newest = has_views ? H5F_LIBVER_V110 : H5F_LIBVER_V18;
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, newest), "H5Pset_libver_bounds");
  return access;
}

/// Returns properties of a dataset that shows elements of others.
PropertyId showing(const FileSpec::Array& array, const std::vector<ViewedFile>& viewed) {
  auto properties = untimed(H5P_DATASET_CREATE);
  write_mappings(properties.get(), array.views, viewed);
  return properties;
}

template <class Named, class Text>
std::vector<std::string> names_of(const std::vector<Named>& all, Text Named::*name) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const Named& each : all) names.push_back(each.*name);
  return names;
}

PropertyId link_named_in_utf8() {
  auto properties = own<PropertyId>(H5Pcreate(H5P_LINK_CREATE), "H5Pcreate");
  check(H5Pset_char_encoding(properties.get(), H5T_CSET_UTF8), "H5Pset_char_encoding");
  return properties;
}

PropertyId contiguous() {
  auto properties = untimed(H5P_DATASET_CREATE);
  check(H5Pset_layout(properties.get(), H5D_CONTIGUOUS), "H5Pset_layout");
  return properties;
}

/// Returns properties of a dataset whose data HDF5 places at its creation, and never touches.
PropertyId contiguous_and_unwritten() {
  auto properties = contiguous();
  check(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
  check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  return properties;
}

/// Returns properties of a dataset of references. HDF5 requires that they are written: as zeros at first.
PropertyId contiguous_and_zeroed() {
  auto properties = contiguous();
  check(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
  return properties;
}

/// Returns where a text is in bytes that should contain it exactly once.
std::size_t only_place(std::span<const std::byte> bytes, std::string_view text) {
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t found = content.find(text);
  if (found == std::string_view::npos || content.find(text, found + 1) != std::string_view::npos)
    throw Error(
        Kind::io, "",
        {found == std::string_view::npos ? "its manifest is not in it" : "its manifest stands in it twice", "", ""});
  return found;
}

/// Returns the room for values of variable length. HDF5 puts them into collections, which add some overhead.
std::uint64_t room_for_values(const FileSpec& spec, const TextSources& texts) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (const FileSpec::Array& array = spec.arrays[i]; array.verbatim && !texts[i])
      bytes += array.verbatim->bytes.size();
  return bytes + bytes / 8;
}

class Skeleton {
 public:
  Skeleton(const FileSpec& spec, std::uint64_t text_bytes)
      : spec_(spec),
        texts_(text_sources(spec, text_bytes)),
        places_(places_of(spec, texts_)),
        data_(part_of(places_)),
        image_(data_, room_for_values(spec, texts_)) {}

  MadeFile make();

 private:
  void declare();
  void make_groups(const std::string& path);
  void declare_array(const FileSpec::Array& array, const std::optional<TextSource>& texts, Interval place);
  void add_texts(std::size_t array, NewFile& made);
  void finish();

  const FileSpec& spec_;
  TextSources texts_;
  std::vector<Interval> places_;  // places of each array's data
  Interval data_;
  FileImage image_;
  FileId file_;
  std::set<std::string> groups_;
  // Made once: each takes as long as a part of a dataset.
  PropertyId link_ = link_named_in_utf8();
  PropertyId group_ = untimed(H5P_GROUP_CREATE);
  PropertyId verbatim_ = contiguous();
  PropertyId by_offset_ = contiguous_and_unwritten();
  PropertyId by_reference_ = contiguous_and_zeroed();
};

MadeFile Skeleton::make() {
  declare();
  MadeFile whole;
  NewFile& made = whole.file;
  whole.raw = image_.raw();
  made.room.bytes = image_.file_bytes();
  for (std::size_t i = 0; i < places_.size(); ++i)
    made.room.data.push_back(texts_[i] ? FileExtents() : FileExtents(places_[i].lo, places_[i].size()));
  std::string bytes = image_.take_bytes();
  const auto metadata = std::as_bytes(std::span(std::as_const(bytes)));
  made.room.metadata += sum_of(metadata.first(data_.lo), 0);
  made.room.metadata += sum_of(metadata.subspan(data_.lo), data_.hi);
  made.room.metadata.bytes += data_.size();  // the gaps between the data are zeros, and change nothing else in the sum
  for (const Interval& place : places_) made.room.metadata.bytes -= place.size();
  if (spec_.manifest.size() >= least_manifest_bytes) {
    const std::size_t found = only_place(metadata, spec_.manifest);
    const std::uint64_t at = found < data_.lo ? found : found + data_.size();
    made.room.manifest = Interval{at, at + spec_.manifest.size()};
    made.room.metadata = made.room.metadata - sum_of(metadata.subspan(found, spec_.manifest.size()), at);
  }
  std::string before_data = bytes.substr(0, data_.lo);
  bytes.erase(0, data_.lo);                              // in place: values of variable length may make the file large
  made.segments.push_back({0, std::move(before_data)});  // an initializer list would copy it
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (texts_[i]) add_texts(i, made);
  made.segments.push_back({data_.hi, std::move(bytes)});
  return whole;
}

/// Texts that the specification holds are not needed later: their bytes are made now.
void Skeleton::add_texts(std::size_t array, NewFile& made) {
  const std::uint64_t at = places_[array].lo;
  const auto late = late_texts(*texts_[array], at);
  FileSegment& segment = made.segments.emplace_back();
  segment.offset = at;
  const bool is_held = spec_.arrays[array].verbatim.has_value();
  if (is_held)
    segment.bytes.resize(late->size());
  else
    segment.late = late;
  late->make([&](std::uint64_t offset, std::span<const std::byte> bytes) {
    PartialSum sum = sum_of(bytes, at + offset);
    sum.bytes = 0;
    made.room.metadata += sum;
    if (is_held) std::memcpy(segment.bytes.data() + offset, bytes.data(), bytes.size());
  });
  made.room.metadata.bytes += places_[array].size();
}

/// Closing writes what is left: a failure must not go unnoticed.
void Skeleton::finish() {
  check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), "writing the file's metadata");
  check(H5Fclose(file_.release()), "closing it");
}

void Skeleton::declare() {
  const auto access = write_access(!spec_.viewed.empty());
  image_.attach_to(access.get());
  const auto creation = untimed(H5P_FILE_CREATE);
  // Keeps attributes out of the root group's header, which has a checksum: large ones then have a place of their own in
  // the file.
  if (!spec_.manifest.empty() || !spec_.viewed.empty())
    check(H5Pset_attr_phase_change(creation.get(), 0, 0), "H5Pset_attr_phase_change");
  file_ = own<FileId>(H5Fcreate("image", H5F_ACC_TRUNC, creation.get(), access.get()), "creating it");
  {
    const auto root = own<GroupId>(H5Gopen2(file_.get(), "/", H5P_DEFAULT), "opening the root group");
    for (const auto& attribute : spec_.attributes) write_attribute(root.get(), attribute);
    if (spec_.tree) write_text(root.get(), tree_attribute, *spec_.tree);
    if (!spec_.layout.empty()) write_text(root.get(), layout_attribute, spec_.layout);
    if (!spec_.manifest.empty()) write_text(root.get(), manifest_attribute, spec_.manifest);
    if (!spec_.viewed.empty()) write_text(root.get(), viewed_attribute, viewed_text(spec_.viewed));
  }
  for (std::size_t i = 0; i < places_.size(); ++i)
    with_context("/" + spec_.arrays[i].name, [&] { declare_array(spec_.arrays[i], texts_[i], places_[i]); });
  for (const auto& group : spec_.groups)
    with_context("/" + group.path, [&] {
      make_groups(group.path + "/");
      const auto id = own<GroupId>(H5Gopen2(file_.get(), group.path.c_str(), H5P_DEFAULT), "opening a group");
      for (const auto& attribute : group.attributes) write_attribute(id.get(), attribute);
    });
  finish();
}

/// Creates the parent groups of `path`. HDF5 could create them implicitly, but not without timestamps.
void Skeleton::make_groups(const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string group = path.substr(0, slash);
    if (!groups_.insert(group).second) continue;
    own<GroupId>(H5Gcreate2(file_.get(), group.c_str(), link_.get(), group_.get(), H5P_DEFAULT), "creating a group");
  }
}

void Skeleton::declare_array(const FileSpec::Array& array, const std::optional<TextSource>& texts, Interval place) {
  make_groups(array.name);
  const auto type = make_type(array.dtype);
  const auto space = make_space(array.verbatim ? array.verbatim->shape : std::optional<Shape>(array.shape));

  if (texts)
    image_.place_zeros_next({place.lo, place.lo + texts->count * text_reference_bytes});
  else
    image_.place_next(place);
  const PropertyId shown = array.views.empty() ? PropertyId() : showing(array, spec_.viewed);
  const PropertyId& creation = texts                  ? by_reference_
                               : !array.views.empty() ? shown
                               : array.verbatim       ? verbatim_
                                                      : by_offset_;
  const auto id = own<DatasetId>(H5Dcreate2(file_.get(), array.name.str().c_str(), type.get(), space.get(), link_.get(),
                                            creation.get(), H5P_DEFAULT),
                                 "creating it");
  if (!place.empty() && H5Dget_offset(id.get()) != place.lo)
    throw Error(Kind::io, "",
                {"HDF5 gave its data another place", "byte " + std::to_string(place.lo), "this is a defect"});
  for (const auto& attribute : array.attributes) write_attribute(id.get(), attribute);
  // An array from a bucket may lack the mark that its source has as an attribute.
  if (const auto mark = mark_for(array.dtype);
      mark && std::none_of(array.attributes.begin(), array.attributes.end(),
                           [](const Attribute& attribute) { return attribute.name == dtype_attribute; }))
    write_attribute(id.get(), {dtype_attribute, text_value(*mark)});
  if (array.global_shape) write_shape(id.get(), global_shape_attribute, *array.global_shape);
  if (array.verbatim && !texts) write_value(id.get(), type.get(), *array.verbatim);
}

}  // namespace

MadeFile make_file(const FileSpec& spec, std::uint64_t text_bytes) {
  check_names(names_of(spec.arrays, &FileSpec::Array::name), names_of(spec.groups, &Group::path));
  try {
    const Lock lock;
    return Skeleton(spec, text_bytes).make();
  } catch (Error& error) {
    error.of_kind(Kind::io);
    throw;
  }
}

}  // namespace ckpt::hdf5
