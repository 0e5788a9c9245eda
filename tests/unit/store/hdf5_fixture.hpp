#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "io/posix_file.hpp"
#include "small_files.hpp"
#include "spec_of.hpp"
#include "store/hdf5/datatype.hpp"
#include "store/hdf5/hdf5_store.hpp"
#include "store/hdf5/library.hpp"
#include "store/store.hpp"
#include "tensor/stored_array.hpp"

/// Files made with HDF5 as other programs make them, and the small values that tests are written in.
namespace ckpt::fixture {

/// A file that is being made; closed with the object.
class Maker {
 public:
  explicit Maker(const std::filesystem::path& path, hsize_t user_block = 0, bool latest = false) {
    const auto creation = hdf5::own<hdf5::PropertyId>(H5Pcreate(H5P_FILE_CREATE), "fcpl");
    hdf5::check(H5Pset_userblock(creation.get(), user_block), "user block");
    const auto access = hdf5::file_access();
    if (latest) hdf5::check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), "libver");
    file_ = hdf5::own<hdf5::FileId>(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), "create");
  }

  hid_t file() const { return file_.get(); }

  /// A dataset with its data; `tune` changes its creation properties.
  hdf5::DatasetId dataset(
      const std::string& name, hid_t type, const std::vector<hsize_t>& shape, const void* data,
      const std::function<void(hid_t)>& tune = [](hid_t) {}) {
    const auto space = simple(shape);
    const auto links = hdf5::own<hdf5::PropertyId>(H5Pcreate(H5P_LINK_CREATE), "lcpl");
    hdf5::check(H5Pset_create_intermediate_group(links.get(), 1), "lcpl");
    const auto creation = hdf5::own<hdf5::PropertyId>(H5Pcreate(H5P_DATASET_CREATE), "dcpl");
    tune(creation.get());
    auto id = hdf5::own<hdf5::DatasetId>(
        H5Dcreate2(file(), name.c_str(), type, space.get(), links.get(), creation.get(), H5P_DEFAULT), "dataset");
    if (data != nullptr) hdf5::check(H5Dwrite(id.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "write");
    return id;
  }

  void attribute(hid_t object, const std::string& name, hid_t type, const std::vector<hsize_t>& shape,
                 const void* data) {
    const auto space = simple(shape);
    const auto id = hdf5::own<hdf5::AttributeId>(
        H5Acreate2(object, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT), "attribute");
    hdf5::check(H5Awrite(id.get(), type, data), "write attribute");
  }

  static hdf5::SpaceId simple(const std::vector<hsize_t>& shape) {
    if (shape.empty()) return hdf5::own<hdf5::SpaceId>(H5Screate(H5S_SCALAR), "space");
    return hdf5::own<hdf5::SpaceId>(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), "space");
  }

 private:
  hdf5::FileId file_;
};

inline hdf5::TypeId copy_of(hid_t type) {
  return hdf5::own<hdf5::TypeId>(H5Tcopy(type), "copy");
}

inline hdf5::TypeId text_type(std::size_t size = H5T_VARIABLE) {
  auto type = copy_of(H5T_C_S1);
  hdf5::check(H5Tset_size(type.get(), size), "size");
  hdf5::check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "charset");
  return type;
}

/// Types as the store has them.
inline DType dtype(hid_t type) {
  return hdf5::describe(type);
}

/// 0, 1, 2, … as elements of a type.
template <class Element>
std::vector<Element> counted(std::size_t count) {
  std::vector<Element> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Element>(i);
  return values;
}

/// The whole data of an array through the store.
inline std::string data_of(SourceFile& source, const FileCatalog& catalog, const std::string& name) {
  const std::size_t index = catalog.schema->find(name);
  const StoredArray& array = catalog.schema->arrays->at(index);
  std::string bytes(numel(array.shape) * array.dtype.size, '\0');
  source.read(index, 0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

template <class Element>
std::string as_bytes(const std::vector<Element>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Element)};
}

inline FileSpec::Array array(const std::string& name, hid_t type, const Shape& shape) {
  FileSpec::Array result;
  result.name = name;
  result.dtype = dtype(type);
  result.shape = shape;
  result.global_shape = shape;
  return result;
}

/// What keeping all that a file holds throws as an Error, "" if nothing.
inline std::string refusal(SourceStore& store, const std::filesystem::path& file) {
  try {
    const FileCatalog catalog = store.catalog(file);
    for (const StoredArray& array : *catalog.schema->arrays)
      if (array.refusal) return Error(*array.refusal).within("/" + array.name).within(file.string()).what();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace ckpt::fixture
