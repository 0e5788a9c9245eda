#pragma once

#include <hdf5.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/error.hpp"
#include "base/handle.hpp"

namespace ckpt::hdf5 {

/// Held around every use of the library: not every build of HDF5 is thread-safe, and no build runs calls in parallel.
/// The library prints nothing while it is held.
class Lock {
 public:
  Lock();
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  Lock(Lock&&) = delete;
  Lock& operator=(Lock&&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;  // the process's own setting
  void* print_data_ = nullptr;
};

/// Call it before the library's first use. Otherwise the library closes at exit what could not be closed before (a full
/// disk), and crashes.
void leave_open_at_exit();

/// Returns the library's version, such as "1.10.8".
std::string version();

template <herr_t (*Close)(hid_t)>
struct IdTraits {
  using type = hid_t;
  static hid_t none() noexcept { return H5I_INVALID_HID; }
  static void release(hid_t id) noexcept { Close(id); }
};
using FileId = Handle<IdTraits<H5Fclose>>;
using ObjectId = Handle<IdTraits<H5Oclose>>;
using GroupId = Handle<IdTraits<H5Gclose>>;
using DatasetId = Handle<IdTraits<H5Dclose>>;
using AttributeId = Handle<IdTraits<H5Aclose>>;
using TypeId = Handle<IdTraits<H5Tclose>>;
using SpaceId = Handle<IdTraits<H5Sclose>>;
using PropertyId = Handle<IdTraits<H5Pclose>>;

struct FreeMemory {
  void operator()(char* text) const noexcept { H5free_memory(text); }
};
/// A string that the library has allocated.
using LibraryText = std::unique_ptr<char, FreeMemory>;

/// Throws an input error "ACTION: HDF5's message", with the innermost entry of HDF5's error stack, and clears the
/// stack.
[[noreturn]] void fail(const std::string& action);

/// Returns the result of a call, or calls `fail` if it is negative.
template <class Result>
Result check(Result result, const char* action) {
  if (result < 0) fail(action);
  return result;
}

/// Wraps the id that a call returned in its owner.
template <class Owner>
Owner own(hid_t id, const char* action) {
  return Owner(check(id, action));
}

/// Returns access properties for opening any file: the library locks nothing (its locks fail on NFS and Lustre without
/// flock; is_locked_by_writer checks for writers beforehand), and closing the file closes everything in it.
PropertyId file_access();

}  // namespace ckpt::hdf5
