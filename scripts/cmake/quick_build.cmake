# What keeps builds short: which sources are compiled together, how much code is optimised, and which headers are parsed once.

# With CMAKE_UNITY_BUILD a folder is a unit: its headers are parsed once, and adding a file moves none to another unit. Helpers of
# one folder need different names, those of two folders do not. Folders that UNITS names together are one unit, which parses their
# headers once and instantiates their templates once: their helpers need different names as well.
# A COLD target has no loop over the bytes of tensors: -O1 takes two thirds of the time of -O3 to compile it, and no job executes more
# instructions (scripts/bench --counts).

# The dev preset's builds parse the heaviest headers once, and all builds without a compiler cache those of tests, which saves a
# third of the time that tests take to compile: the caches of today cannot see through it.
option(CKPT_PRECOMPILE "Precompile the headers that most sources include" OFF)
if(CKPT_PRECOMPILE OR NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(precompile_tests ON)
else()
  set(precompile_tests OFF)
endif()
option(CKPT_PRECOMPILE_TESTS "Precompile the headers that most tests include" ${precompile_tests})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "")
if(CKPT_PRECOMPILE)
  add_library(ckpt_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(ckpt_precompiled PRIVATE ckpt_flags fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)
  target_precompile_headers(ckpt_precompiled PRIVATE <algorithm> <chrono> <filesystem> <functional> <map> <memory> <mutex>
                            <optional> <set> <span> <string> <thread> <unordered_map> <variant> <vector>
                            <fmt/format.h> <nlohmann/json.hpp>)
endif()

function(ckpt_quick_to_build target)  # ckpt_quick_to_build(TARGET [COLD] [UNITS "FOLDER FOLDER..."...]); "." is the target's own folder
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "UNITS")
  get_target_property(sources ${target} SOURCES)
  get_target_property(directory ${target} SOURCE_DIR)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/lib OUTPUT_VARIABLE group)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${directory})
    foreach(unit ${arg_UNITS})
      string(REPLACE " " ";" folders ${unit})
      if(folder IN_LIST folders)
        set(group ${target}_${unit})
      endif()
    endforeach()
    string(REGEX REPLACE "[^A-Za-z0-9]+" "_" group ${group})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  if(CKPT_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ckpt_precompiled)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND arg_COLD)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
  endif()
endfunction()
