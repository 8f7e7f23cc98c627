# `cmake --install` puts libraries, headers, the command and the configs in place;
# find_package(lockstep) then gives lockstep::sim, lockstep::topologies, lockstep::strategies and
# lockstep::app, the use cases; lockstep_CONFIGS is the folder of the shipped configs.
# `cpack` packs the same: component `runtime` is the command, `development` the package for C++,
# `cuda` the CUDA backend, `python` the Python module; `libraries` is for the tarball alone.
include(CMakePackageConfigHelpers)

foreach(part options warnings config sim topologies strategies app)
  set_target_properties(lockstep_${part} PROPERTIES EXPORT_NAME ${part})
  install(TARGETS lockstep_${part} EXPORT lockstepTargets COMPONENT development)
endforeach()

# Headers that say they are internal, need a library that users of the package need not have, or include
# one of these, stay here; nobody outside may include them.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  sim/*.hpp topologies/*.hpp strategies/*.hpp tools/app/*.hpp)
set(marks "Internal[.]$|#include <(boost/|pugixml|nlohmann/|Eigen/|google/)")
set(internal "")
set(found 1)
while(found)
  set(found 0)
  foreach(header IN LISTS headers)
    file(STRINGS ${header} marked LIMIT_COUNT 1 REGEX "${marks}")
    if(marked)
      list(REMOVE_ITEM headers ${header})
      string(REPLACE "." "[.]" pattern ${header})
      string(APPEND internal "|/${pattern}$")
      string(APPEND marks "|#include \"${pattern}\"")
      set(found 1)
    endif()
  endforeach()
endwhile()
set(internal "/sim/execute/cuda/${internal}")
# The same paths as in the source tree, so that #include "sim/base/units.hpp" works for users too.
foreach(part sim topologies strategies tools/app)
  get_filename_component(above ${part} DIRECTORY)
  install(DIRECTORY ${part} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep/${above}
    COMPONENT development FILES_MATCHING PATTERN "*.hpp" REGEX "${internal}" EXCLUDE)
endforeach()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)
install(EXPORT lockstepTargets NAMESPACE lockstep:: DESTINATION ${package_dir} COMPONENT development)
set(configs_dir ${CMAKE_INSTALL_DATADIR}/lockstep/configs)
configure_package_config_file(tools/cmake/lockstepConfig.cmake.in ${PROJECT_BINARY_DIR}/lockstepConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS configs_dir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lockstepConfig.cmake ${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

# Libraries that only lockstep uses are looked for in a folder of its own.
set(private_dir ${CMAKE_INSTALL_LIBDIR}/lockstep)
file(RELATIVE_PATH to_private ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/lockstep)
set_target_properties(lockstep PROPERTIES INSTALL_RPATH "$ORIGIN/${to_private}")
install(TARGETS lockstep COMPONENT runtime)
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep COMPONENT runtime)
if(NOT CMAKE_CROSSCOMPILING)
  set(generated ${PROJECT_BINARY_DIR}/generated/share)
  install(DIRECTORY ${generated}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT runtime)
  install(FILES ${generated}/completion/lockstep
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime)
  foreach(folder site-functions vendor-completions)  # the latter is Debian's
    install(FILES ${generated}/completion/_lockstep
      DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${folder} COMPONENT runtime)
  endforeach()
  install(FILES ${generated}/completion/lockstep.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime)
endif()
foreach(text README.md CHANGELOG.md LICENSE CITATION.cff)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${text})
    install(FILES ${text} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
  endif()
endforeach()
# README.md links to them.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
if(TARGET lockstep_cuda)
  install(TARGETS lockstep_cuda LIBRARY DESTINATION ${private_dir} COMPONENT cuda)
endif()

# The libraries of the command but for those of the C library: the tarball runs where they are absent.
install(CODE "set(command \"$<TARGET_FILE:lockstep>\")\nset(private_dir \"${private_dir}\")"
  COMPONENT libraries EXCLUDE_FROM_ALL)
install(CODE [[
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${command}
    PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread)[.]so"
    RESOLVED_DEPENDENCIES_VAR libraries)
  foreach(library IN LISTS libraries)
    file(INSTALL ${library} DESTINATION "${CMAKE_INSTALL_PREFIX}/${private_dir}" FOLLOW_SYMLINK_CHAIN)
  endforeach()
]] COMPONENT libraries EXCLUDE_FROM_ALL)

include(tools/cmake/package.cmake)
