#include "store/hdf5/skeleton.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "store/hdf5/attributes.hpp"
#include "store/hdf5/datatype.hpp"
#include "store/hdf5/object_names.hpp"
#include "store/posix_file.hpp"

namespace ckpt::hdf5 {

namespace {

bool has_room(const FileSpec::Array& array) {
  return !array.verbatim && volume(array.shape) > 0;
}

/// Creation properties without timestamps, which would make equal files differ.
PropertyId untimed(hid_t kind) {
  auto properties = own<PropertyId>(H5Pcreate(kind), "H5Pcreate");
  check(H5Pset_obj_track_times(properties.get(), false), "H5Pset_obj_track_times");
  return properties;
}

/// The oldest format that has room for attributes above 64 KiB, and none newer: every HDF5 since 2008 reads it, and
/// every version of the library writes the same bytes.
PropertyId write_access() {
  auto access = file_access();
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18), "H5Pset_libver_bounds");
  check(H5Pset_small_data_block_size(access.get(), 0), "H5Pset_small_data_block_size");
  // The sieve buffer would write 64 KiB around the one element that makes HDF5 allocate.
  check(H5Pset_sieve_buf_size(access.get(), 0), "H5Pset_sieve_buf_size");
  return access;
}

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all, std::string Named::*name) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const Named& each : all) names.push_back(each.*name);
  return names;
}

class Skeleton {
 public:
  Skeleton(const std::filesystem::path& path, const FileSpec& spec) : path_(path), spec_(spec) {}

  void declare();
  FileRoom allocate();

 private:
  void make_groups(const std::string& path);
  void declare_array(const FileSpec::Array& array);
  void finish();

  const std::filesystem::path& path_;
  const FileSpec& spec_;
  FileId file_;
  std::set<std::string> groups_;
};

/// Closing writes what is left: its failure must not go unnoticed.
void Skeleton::finish() {
  check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), "writing the file's metadata");
  check(H5Fclose(file_.release()), "closing it");
}

void Skeleton::declare() {
  file_ = own<FileId>(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, untimed(H5P_FILE_CREATE).get(), write_access().get()),
                      "creating it");
  {
    const auto root = own<GroupId>(H5Gopen2(file_.get(), "/", H5P_DEFAULT), "opening the root group");
    for (const auto& attribute : spec_.attributes) write_attribute(root.get(), attribute);
    if (!spec_.layout.empty()) write_text(root.get(), layout_attribute, spec_.layout);
    if (!spec_.manifest.empty()) write_text(root.get(), manifest_attribute, spec_.manifest);
  }
  for (const auto& array : spec_.arrays) with_context("/" + array.name, [&] { declare_array(array); });
  for (const auto& group : spec_.groups)
    with_context("/" + group.path, [&] {
      make_groups(group.path + "/");
      const auto id = own<GroupId>(H5Gopen2(file_.get(), group.path.c_str(), H5P_DEFAULT), "opening a group");
      for (const auto& attribute : group.attributes) write_attribute(id.get(), attribute);
    });
  finish();
}

/// Makes the groups that `path` lies in. HDF5 could do it along the way, but not without timestamps.
void Skeleton::make_groups(const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string group = path.substr(0, slash);
    if (!groups_.insert(group).second) continue;
    const auto link = own<PropertyId>(H5Pcreate(H5P_LINK_CREATE), "H5Pcreate");
    check(H5Pset_char_encoding(link.get(), H5T_CSET_UTF8), "H5Pset_char_encoding");
    own<GroupId>(H5Gcreate2(file_.get(), group.c_str(), link.get(), untimed(H5P_GROUP_CREATE).get(), H5P_DEFAULT),
                 "creating a group");
  }
}

void Skeleton::declare_array(const FileSpec::Array& array) {
  make_groups(array.name);
  const auto type = decode_type(array.dtype.encoded);
  SpaceId space;
  if (array.verbatim)
    space = decode_space(array.verbatim_space);
  else if (array.shape.empty())
    space = own<SpaceId>(H5Screate(H5S_SCALAR), "H5Screate");
  else
    space = own<SpaceId>(H5Screate_simple(static_cast<int>(array.shape.size()),
                                          reinterpret_cast<const hsize_t*>(array.shape.data()), nullptr),
                         "H5Screate_simple");

  const auto creation = untimed(H5P_DATASET_CREATE);
  check(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), "H5Pset_layout");
  check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_LATE), "H5Pset_alloc_time");
  if (!array.verbatim) check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  const auto link = own<PropertyId>(H5Pcreate(H5P_LINK_CREATE), "H5Pcreate");
  check(H5Pset_char_encoding(link.get(), H5T_CSET_UTF8), "H5Pset_char_encoding");
  const auto id = own<DatasetId>(
      H5Dcreate2(file_.get(), array.name.c_str(), type.get(), space.get(), link.get(), creation.get(), H5P_DEFAULT),
      "creating it");
  for (const auto& attribute : array.attributes) write_attribute(id.get(), attribute);
  if (array.global_shape) write_extents(id.get(), global_shape_attribute, *array.global_shape);
  if (array.verbatim) write_value(id.get(), type.get(), space.get(), array.verbatim_value);
}

/// Makes HDF5 allocate a dataset by writing its first element: there is no call for it.
std::uint64_t allocate_data(hid_t file, const FileSpec::Array& array) {
  const auto id = own<DatasetId>(H5Dopen2(file, array.name.c_str(), H5P_DEFAULT), "opening it");
  const auto type = own<TypeId>(H5Dget_type(id.get()), "its type");
  const auto space = own<SpaceId>(H5Dget_space(id.get()), "its dataspace");
  const std::array<hsize_t, max_rank> first{};
  std::array<hsize_t, max_rank> one{};
  one.fill(1);
  if (!array.shape.empty())
    check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, first.data(), nullptr, one.data(), nullptr),
          "its first element");
  const auto memory = own<SpaceId>(H5Screate(H5S_SCALAR), "H5Screate");
  const std::vector<std::byte> zero(array.dtype.size);
  check(H5Dwrite(id.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT, zero.data()), "allocating its data");
  const haddr_t offset = H5Dget_offset(id.get());
  if (offset == HADDR_UNDEF) fail("its offset");
  if (offset % data_alignment != 0)
    throw Error(Kind::io, "", {"data at byte " + std::to_string(offset), "expected a multiple of 4096", ""});
  return offset;
}

FileRoom Skeleton::allocate() {
  // All metadata is there; what is allocated from here on is data, so that alignment costs metadata nothing.
  const auto access = write_access();
  check(H5Pset_alignment(access.get(), 1, data_alignment), "H5Pset_alignment");
  file_ = own<FileId>(H5Fopen(path_.c_str(), H5F_ACC_RDWR, access.get()), "opening it");
  FileRoom room;
  for (const auto& array : spec_.arrays)
    room.offsets.push_back(
        has_room(array) ? with_context("/" + array.name, [&] { return allocate_data(file_.get(), array); }) : 0);
  finish();
  return room;
}

}  // namespace

bool has_room(const FileSpec::Array& array) {
  return !array.verbatim && volume(array.shape) > 0;
}

NewFile make_file(const std::filesystem::path& path, const FileSpec& spec) {
  check_names(names_of(spec.arrays, &FileSpec::Array::name), names_of(spec.groups, &Group::path));
  const PosixFile file = PosixFile::create(path);  // fails with the system's own reason
  try {
    const Lock lock;
    NewFile made;
    Skeleton skeleton(path, spec);
    skeleton.declare();
    made.metadata_bytes = file.status().bytes;
    made.room = skeleton.allocate();
    made.room.bytes = file.status().bytes;
    return made;
  } catch (const Error& error) {
    throw Error(Kind::io, path.string() + ": " + error.what());
  }
}

void set_manifest(const std::filesystem::path& path, const std::string& text) {
  try {
    const Lock lock;
    auto file = own<FileId>(H5Fopen(path.c_str(), H5F_ACC_RDWR, write_access().get()), "opening it");
    overwrite_text(file.get(), manifest_attribute, text);
    check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "writing its manifest");
    check(H5Fclose(file.release()), "closing it");
  } catch (const Error& error) {
    throw Error(Kind::io, path.string() + ": " + error.what());
  }
}

}  // namespace ckpt::hdf5
