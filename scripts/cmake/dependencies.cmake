# What the project stands on. Debian 12: HDF5 1.10, Catch2 2; Debian 13: HDF5 1.14, Catch2 3. MPI and NCCL are opened when a job
# needs them (lib/processes/mpi, lib/exchange/nccl): only tests look for an MPI.
find_package(Threads REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)

# Optional. Without it, chunks that were compressed with Zstandard, Orbax's default, cannot be read.
find_path(ZSTD_INCLUDE_DIR zstd.h)
find_library(ZSTD_LIBRARY zstd)
add_library(ckpt_zstd INTERFACE)
if(ZSTD_INCLUDE_DIR AND ZSTD_LIBRARY)
  set(ZSTD_FOUND TRUE)
  target_include_directories(ckpt_zstd SYSTEM INTERFACE ${ZSTD_INCLUDE_DIR})
  target_link_libraries(ckpt_zstd INTERFACE ${ZSTD_LIBRARY})
else()
  message(STATUS "Zstandard was not found: compressed checkpoints of Orbax cannot be read")
endif()

include(${CMAKE_CURRENT_LIST_DIR}/hdf5.cmake)
