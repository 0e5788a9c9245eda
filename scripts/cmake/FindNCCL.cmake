# NCCL::NCCL, from NCCL_ROOT or NCCL_HOME (variables of CMake or of the environment), the CUDA toolkit, the system, or a
# pip-installed nvidia-nccl, which has no libnccl.so, only libnccl.so.2. The version is read from nccl.h.
set(_nccl_hints ${NCCL_ROOT} $ENV{NCCL_ROOT} ${NCCL_HOME} $ENV{NCCL_HOME} ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_LIBRARY_ROOT})
file(GLOB _nccl_pip /usr/lib/python3*/site-packages/nvidia/nccl /usr/local/lib/python3*/*-packages/nvidia/nccl
     $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/nccl $ENV{HOME}/.local/lib/python3*/site-packages/nvidia/nccl)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${_nccl_hints} PATHS ${_nccl_pip} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${_nccl_hints} PATHS ${_nccl_pip} PATH_SUFFIXES lib lib64)
if(NCCL_INCLUDE_DIR)
  file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h _nccl_numbers REGEX "#define NCCL_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" _nccl_numbers "${_nccl_numbers}")
  list(JOIN _nccl_numbers . NCCL_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION)
mark_as_advanced(NCCL_LIBRARY NCCL_INCLUDE_DIR)
if(NCCL_FOUND AND NOT TARGET NCCL::NCCL)
  add_library(NCCL::NCCL UNKNOWN IMPORTED)
  set_target_properties(NCCL::NCCL PROPERTIES IMPORTED_LOCATION ${NCCL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
endif()
