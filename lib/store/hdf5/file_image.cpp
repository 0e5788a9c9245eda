#include "store/hdf5/file_image.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace ckpt::hdf5 {

namespace {

constexpr haddr_t max_address = std::numeric_limits<std::int64_t>::max();

struct OpenImage {
  H5FD_t base;  // first: HDF5 knows only this member
  FileImage* image;
};

FileImage& image_of(const H5FD_t* file) {
  return *reinterpret_cast<const OpenImage*>(file)->image;
}

}  // namespace

/// The functions that HDF5 calls for each access to a file. They must not throw through it.
struct ImageDriver {
  static H5FD_t* open(const char*, unsigned, hid_t access, haddr_t) noexcept {
    const auto* image = static_cast<FileImage* const*>(H5Pget_driver_info(access));
    auto* opened = image == nullptr ? nullptr : new (std::nothrow) OpenImage{};
    if (opened == nullptr) return nullptr;
    opened->image = *image;
    return &opened->base;
  }

  static herr_t close(H5FD_t* file) noexcept {
    delete reinterpret_cast<OpenImage*>(file);
    return 0;
  }

  static haddr_t allocate(H5FD_t* file, H5FD_mem_t kind, hid_t, hsize_t bytes) noexcept {
    return image_of(file).allocate(kind, bytes);
  }

  static haddr_t end(const H5FD_t* file, H5FD_mem_t) noexcept { return image_of(file).end_; }

  static herr_t set_end(H5FD_t* file, H5FD_mem_t, haddr_t end) noexcept {
    image_of(file).end_ = end;
    return 0;
  }

  static herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t bytes, void* out) noexcept {
    const FileImage& image = image_of(file);
    const std::size_t at = image.index_of(address, bytes);
    if (at == nowhere) return -1;
    const std::size_t there = at < image.bytes_.size() ? std::min(bytes, image.bytes_.size() - at) : 0;
    if (there > 0) std::memcpy(out, image.bytes_.data() + at, there);
    std::memset(static_cast<std::byte*>(out) + there, 0, bytes - there);  // allocated but not written yet
    return 0;
  }

  static herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t bytes, const void* data) noexcept {
    FileImage& image = image_of(file);
    if (address >= image.zeros_.lo && address < image.zeros_.hi && bytes <= image.zeros_.hi - address) return 0;
    const std::size_t at = image.index_of(address, bytes);
    if (at == nowhere) return -1;
    try {
      if (image.bytes_.size() < at + bytes) image.bytes_.resize(at + bytes);
    } catch (const std::bad_alloc&) {
      return -1;
    }
    std::memcpy(image.bytes_.data() + at, data, bytes);
    return 0;
  }

  static hid_t id() {
    static const hid_t id = [] {
      H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
      driver.version = H5FD_CLASS_VERSION;
      driver.value = 511;  // from the range reserved for private use
#endif
      driver.name = "ckpt_image";
      driver.maxaddr = max_address;
      driver.fc_degree = H5F_CLOSE_STRONG;
      driver.fapl_size = sizeof(void*);  // of the FileImage
      driver.open = open;
      driver.close = close;
      driver.alloc = allocate;
      driver.get_eoa = end;
      driver.set_eoa = set_end;
      driver.get_eof = end;
      driver.read = read;
      driver.write = write;
      // Freed room is reused only for its own kind: never for data, which is never freed.
      std::fill(std::begin(driver.fl_map), std::end(driver.fl_map), H5FD_MEM_DEFAULT);
      return check(H5FDregister(&driver), "H5FDregister");
    }();
    return id;
  }

  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
};

void FileImage::attach_to(hid_t access) {
  FileImage* const self = this;
  check(H5Pset_driver(access, ImageDriver::id(), &self), "H5Pset_driver");
}

haddr_t FileImage::allocate(H5FD_mem_t kind, hsize_t bytes) {
  if (kind == H5FD_MEM_DRAW && !next_.empty()) {
    const Interval place = std::exchange(next_, {});
    return place.size() == bytes ? place.lo : HADDR_UNDEF;
  }
  if (bytes > max_address || end_ > max_address - bytes || data_.hi > max_address - bytes) return HADDR_UNDEF;
  const std::uint64_t start = end_ + bytes <= data_.lo ? end_ : std::max(end_, data_.hi);
  try {
    if (kind == H5FD_MEM_DRAW || kind == H5FD_MEM_GHEAP) raw_.push_back(start);
  } catch (const std::bad_alloc&) {
    return HADDR_UNDEF;
  }
  end_ = start + bytes;
  return start;
}

/// Maps an address to an index in `bytes_`; `nowhere` for data.
std::size_t FileImage::index_of(haddr_t address, std::size_t bytes) const {
  if (address <= data_.lo && bytes <= data_.lo - address) return address;
  return address >= data_.hi ? address - data_.size() : ImageDriver::nowhere;
}

std::string FileImage::take_bytes() {
  bytes_.resize(end_ - data_.size());
  return std::move(bytes_);
}

}  // namespace ckpt::hdf5
