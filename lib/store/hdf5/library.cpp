#include "store/hdf5/library.hpp"

#include <cstdio>

#include "base/buffer.hpp"
#include "base/error.hpp"

namespace ckpt::hdf5 {

namespace {

std::mutex& library_mutex() {
  // Never destroyed: stores may outlive static destruction.
  static auto* mutex = new std::mutex;
  return *mutex;
}

herr_t take_description(unsigned, const H5E_error2_t* entry, void* text) {
  if (entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
  return 1;  // the first entry visited is the innermost, which suffices
}

/// "file write failed: time = …, filename = …, errno = 28, error message = 'No space left on device', …": extracts the
/// message, the only part that adds information.
std::string shortened(const std::string& description) {
  constexpr std::string_view label = "error message = '";
  const std::size_t at = description.find(label);
  if (at == std::string::npos) return description;
  const std::size_t start = at + label.size();
  return description.substr(start, description.find('\'', start) - start);
}

/// The library's first call allocates its tables, and crashes if there is no memory for them. Throws io instead.
void require_room_to_begin() {
  constexpr std::uint64_t tables_bytes = 8ULL << 20;  // four times their size
  static const bool has_room = [] {
    const Buffer room(tables_bytes);
    return true;
  }();
  static_cast<void>(has_room);
}

}  // namespace

Lock::Lock() : lock_(library_mutex()) {
  require_room_to_begin();
  // A thread-safe build has this setting for each thread.
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Lock::~Lock() {
  H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

void leave_open_at_exit() {
  H5dont_atexit();
}

std::string version() {
  unsigned major = H5_VERS_MAJOR;
  unsigned minor = H5_VERS_MINOR;
  unsigned release = H5_VERS_RELEASE;
  try {
    require_room_to_begin();
    H5get_libversion(&major, &minor, &release);
  } catch (const Error&) {  // then it has the version that this was built with, as far as anybody knows
  }
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

void fail(const std::string& action) {
  std::string description;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_description, &description);
  H5Eclear2(H5E_DEFAULT);
  if (description.empty()) description = "failed without a reason";
  unsigned long long found = 0;
  unsigned long long expected = 0;
  if (std::sscanf(description.c_str(), "truncated file: eof = %llu, sblock->base_addr = %*u, stored_eof = %llu", &found,
                  &expected) == 2)
    throw Error(Kind::input, "",
                {"ends at byte " + std::to_string(found), std::to_string(expected), "was it truncated?"});
  // What the system could not read is no fault of the file's content.
  const bool is_of_system = description.find("file read failed") != std::string::npos;
  throw Error(is_of_system ? Kind::io : Kind::input, action, {"HDF5: " + shortened(description), "", ""});
}

PropertyId file_access() {
  auto access = own<PropertyId>(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
  check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), "H5Pset_fclose_degree");
#if H5_VERSION_GE(1, 10, 7)
  check(H5Pset_file_locking(access.get(), false, true), "H5Pset_file_locking");
#endif
  return access;
}

}  // namespace ckpt::hdf5
