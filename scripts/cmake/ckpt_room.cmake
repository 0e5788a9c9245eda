# Flags that every target of the project shares, and the one way to declare a room of lib/.
add_library(ckpt_flags INTERFACE)
target_compile_options(ckpt_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor>
  # -Wno-restrict: false alarms of g++ 12 on "text" + std::string. clang's -Wshadow takes two files of one unit for one.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:CXX>>:-Wshadow -Wno-restrict>
  $<$<AND:$<CXX_COMPILER_ID:Clang>,$<COMPILE_LANGUAGE:CXX>>:-Wno-unknown-warning-option>  # sources name warnings that g++ alone has
  # g++ collects garbage each time its heap has doubled, from 128 MiB on: a fifth of the time that a unit takes.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:CXX>>:--param=ggc-min-heapsize=524288>
  # g++ 13 and newer take a text that is passed along for what the returned reference is of.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>,$<COMPILE_LANGUAGE:CXX>>:-Wno-dangling-reference>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${CKPT_WERROR}>>:-Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${CKPT_WERROR}>>:-Werror=all-warnings>)
if(CKPT_SANITIZE)
  target_compile_options(ckpt_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined>)
  target_link_options(ckpt_flags INTERFACE -fsanitize=address,undefined)
  target_sources(ckpt_flags INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${CMAKE_CURRENT_LIST_DIR}/sanitizer_options.cpp>)
endif()

# ckpt_room([COLD] ROOMS... LIBRARIES... UNITS...): the library of the current folder of lib/, made of every source below it that is not
# in another room. ROOMS are the rooms that it may include, LIBRARIES others' libraries, UNITS folders to compile together
# (quick_build.cmake). Headers of a room are found through a folder of its own, which holds a link to the room and nothing else: a
# room that is not listed here is not found, unless one of the listed rooms brings it along. scripts/layering is stricter: it
# compares this list with the includes.
function(ckpt_room)
  cmake_parse_arguments(PARSE_ARGV 0 arg "COLD" "" "ROOMS;LIBRARIES;UNITS")
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/lib OUTPUT_VARIABLE room)
  string(REPLACE "/" "_" name ${room})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB rooms_within CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(within ${rooms_within})
    cmake_path(GET within PARENT_PATH within)
    list(FILTER sources EXCLUDE REGEX "^${within}/")
  endforeach()
  add_library(ckpt_${name} STATIC ${sources})

  set(include_folder ${PROJECT_BINARY_DIR}/lib/include_${name})
  cmake_path(GET room PARENT_PATH above)
  file(MAKE_DIRECTORY ${include_folder}/${above})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${include_folder}/${room} SYMBOLIC)
  target_include_directories(ckpt_${name} PUBLIC ${include_folder})

  list(TRANSFORM arg_ROOMS REPLACE "/" "_")
  list(TRANSFORM arg_ROOMS PREPEND ckpt_)
  target_link_libraries(ckpt_${name} PUBLIC ${arg_ROOMS} ${arg_LIBRARIES} PRIVATE ckpt_flags)
  if(arg_COLD)
    set(cold COLD)
  endif()
  ckpt_quick_to_build(ckpt_${name} ${cold} UNITS ${arg_UNITS})
  set_property(GLOBAL APPEND PROPERTY CKPT_ROOMS ${name})
endfunction()
