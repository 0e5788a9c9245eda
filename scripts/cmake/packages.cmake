# Packages that CPack makes: -DCPACK_GENERATOR=DEB, which scripts/package deb gives, or TGZ.
set(CPACK_PACKAGE_NAME ckpt-reshard)
set(CPACK_PACKAGE_CONTACT "The maintainers of ckpt-reshard <maintainers@ckpt-reshard.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "merge, split and reshard model-parallel checkpoints")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "mpi-default-bin, python3-h5py")  # an MPI is opened when a launcher starts several processes
  set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"ckpt rewrites the checkpoint that a training job on N cards has saved, in
HDF5, safetensors, PyTorch's or MindSpore's files, for M cards or for one,
exactly, and compares checkpoints. It runs alone, or under an MPI launcher
with any number of processes, and needs no framework.")

  # What Debian's policy asks for beside the programs.
  set(documents ${PROJECT_BINARY_DIR}/debian)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  configure_file(${PROJECT_SOURCE_DIR}/scripts/packaging/debian/changelog.in ${documents}/changelog @ONLY)
  execute_process(COMMAND gzip -9nf ${documents}/changelog COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${PROJECT_SOURCE_DIR}/scripts/packaging/debian/copyright ${documents}/changelog.gz DESTINATION share/doc/ckpt-reshard)
  install(CODE "file(GLOB pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1/ckpt*.1\")
                execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)")
endif()

include(CPack)
