#pragma once

#include <string>
#include <vector>

#include "processes/mpi/launch.hpp"

namespace ckpt {

/// The names under which an MPI library is looked for, best first: that of the launcher that started this process, or
/// what the variable CKPT_MPI says. Throws usage if that is neither a family nor a path.
std::vector<std::string> mpi_library_names(const LaunchEnvironment& environment);

/// Returns whether the MPI library has Open MPI's binary interface; else it has MPICH's, as Intel's and Cray's have.
/// Opens the library; throws peer if there is none.
bool is_open_mpi();

/// Returns whether the library is open.
bool has_opened_mpi() noexcept;

/// The address of one of the library's functions or objects, as the pointer that it is assigned to.
class MpiSymbol {
 public:
  /// Throws peer if the library lacks it.
  explicit MpiSymbol(const char* name);
  template <class T>
  operator T*() const noexcept {  // NOLINT(google-explicit-constructor): so that a type is written once, by the member
    return reinterpret_cast<T*>(address_);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): dlsym's
  }

 private:
  void* address_;
};

}  // namespace ckpt
