#pragma once

#include <hdf5.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/error.hpp"
#include "base/handle.hpp"

namespace ckpt::hdf5 {

/// Held around every use of the library: not every build of HDF5 is thread-safe, and none works in parallel.
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
  H5E_auto2_t print_ = nullptr;  // what the process had asked for
  void* print_data_ = nullptr;
};

/// At the end of the process the library would close what could not be closed before (a full disk), and crash. Before
/// its first use.
void leave_open_at_exit();

/// "1.10.8".
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

/// An input error "ACTION: what HDF5 says", from the innermost entry of HDF5's error stack, which is cleared.
[[noreturn]] void fail(const std::string& action);

/// The result of a call, or `fail` where it is negative.
template <class Result>
Result check(Result result, const char* action) {
  if (result < 0) fail(action);
  return result;
}

/// The owner of the id that a call gave.
template <class Owner>
Owner own(hid_t id, const char* action) {
  return Owner(check(id, action));
}

/// What every opening of a file has in common: the library locks nothing (it fails on NFS and Lustre without flock; who
/// writes a file is found out before: is_locked_by_writer), closing the file closes all.
PropertyId file_access();

}  // namespace ckpt::hdf5
