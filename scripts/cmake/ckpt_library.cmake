# Flags that every target of the project shares, and the one way to declare a library folder.
add_library(ckpt_flags INTERFACE)
target_compile_options(ckpt_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:CXX>>:-Wno-restrict>  # false alarms of g++ 12 on "text" + std::string
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${CKPT_WERROR}>>:-Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${CKPT_WERROR}>>:-Werror=all-warnings>)
if(CKPT_SANITIZE)
  target_compile_options(ckpt_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined>)
  target_link_options(ckpt_flags INTERFACE -fsanitize=address,undefined)
  target_sources(ckpt_flags INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${CMAKE_CURRENT_LIST_DIR}/sanitizer_options.cpp>)
endif()

# ckpt_library(NAME DEPENDS...): the library of the current folder, made of every source below it. What it links is what it
# may include: the order of the folders is kept by these lines.
function(ckpt_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/lib)
  target_link_libraries(${name} PUBLIC ${ARGN} PRIVATE ckpt_flags)
  ckpt_quick_to_build(${name})
endfunction()
