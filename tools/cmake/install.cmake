# `cmake --install` puts libraries, headers, the command and the configs in place;
# find_package(lockstep) then gives lockstep::sim, lockstep::topologies, lockstep::strategies and
# lockstep::app, the use cases; lockstep_CONFIGS is the folder of the shipped configs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(part options warnings config sim topologies strategies app)
  set_target_properties(lockstep_${part} PROPERTIES EXPORT_NAME ${part})
  install(TARGETS lockstep_${part} EXPORT lockstepTargets)
endforeach()
install(TARGETS lockstep)
if(TARGET lockstep_cuda)
  install(TARGETS lockstep_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
# Headers that say they are internal, or need a library that users of the package need not have,
# stay here; nobody outside may include them.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  sim/*.hpp topologies/*.hpp strategies/*.hpp tools/app/*.hpp)
set(internal "/sim/execute/cuda/")
foreach(header IN LISTS headers)
  file(STRINGS ${header} marks LIMIT_COUNT 1
    REGEX "Internal[.]$|#include <(boost/|pugixml|nlohmann/|Eigen/|google/)")
  if(marks)
    string(REPLACE "." "\\." pattern ${header})
    string(APPEND internal "|/${pattern}$")
  endif()
endforeach()
# The same paths as in the source tree, so that #include "sim/base/units.hpp" works for users too.
foreach(part sim topologies strategies tools/app)
  get_filename_component(above ${part} DIRECTORY)
  install(DIRECTORY ${part} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep/${above}
    FILES_MATCHING PATTERN "*.hpp" REGEX "${internal}" EXCLUDE)
endforeach()
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)
install(EXPORT lockstepTargets NAMESPACE lockstep:: DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES tools/cmake/lockstepConfig.cmake ${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake DESTINATION ${package_dir})
