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
# The same paths as in the source tree, so that #include "sim/base/units.hpp" works for users too.
install(DIRECTORY sim topologies strategies DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep
  FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY tools/app DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep/tools
  FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)
install(EXPORT lockstepTargets NAMESPACE lockstep:: DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES tools/cmake/lockstepConfig.cmake ${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake DESTINATION ${package_dir})
