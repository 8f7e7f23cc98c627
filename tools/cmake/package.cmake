# `cpack --config build/release/CPackConfig.cmake` makes lockstep-VERSION-SYSTEM.tar.gz, which is unpacked
# anywhere, and the Debian packages lockstep (the command), lockstep-dev (the package for C++) and, if it was
# built, python3-lockstep (the Python module, for the Python that it was built for).
# Neither it nor `cmake --install` needs more than the target lockstep.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(CMAKE_SKIP_PACKAGE_ALL_DEPENDENCY ON)
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_VENDOR "Lockstep")
set(CPACK_PACKAGE_CONTACT "Lockstep maintainers <maintainers@lockstep.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_FILE_NAME
  ${CPACK_PACKAGE_NAME}-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_THREADS 0)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/tools/cmake/package_parts.cmake)

set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_FILE_EXTENSION tar.gz)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME lockstep)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS librsvg2-bin)  # figures as PDF and PNG
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME lockstep-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "lockstep (= ${PROJECT_VERSION}), libfmt-dev, nlohmann-json3-dev, libboost-graph-dev, libpugixml-dev, libprotobuf-dev, zlib1g-dev, libsqlite3-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "${PROJECT_DESCRIPTION} (package for C++)")
if(TARGET lockstep_python)
  set(CPACK_LOCKSTEP_PYTHON ${PROJECT_BINARY_DIR}/python/lockstep)
  math(EXPR next "${Python3_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_NAME python3-lockstep)
  set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_DEPENDS
    "lockstep (= ${PROJECT_VERSION}), python3 (>= 3.${Python3_VERSION_MINOR}), python3 (<< 3.${next})")
  set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_SUGGESTS
    "python3-numpy, python3-pandas, python3-matplotlib, python3-networkx")
  set(CPACK_DEBIAN_PYTHON_DEBIAN_DESCRIPTION "${PROJECT_DESCRIPTION} (Python module)")
endif()
# dpkg-shlibdeps reads which packages the command needs.
find_program(SHLIBDEPS dpkg-shlibdeps)
if(SHLIBDEPS)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS
    "libc6 (>= 2.36), libstdc++6 (>= 12), libfmt9, libpugixml1v5, libprotobuf-lite32, zlib1g, libsqlite3-0, libmimalloc2.0")
endif()
include(CPack)
