# Install rules: the program, its catalogs, the headers and the library as the CMake package
# flowplan, whose one public target is flowplan::flowplan.
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY FLOWPLAN_MODULES)
foreach(module IN LISTS modules)
  set_target_properties(flowplan_${module} PROPERTIES EXPORT_NAME ${module})
  install(TARGETS flowplan_${module} EXPORT flowplan-targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
set_target_properties(flowplan_all PROPERTIES EXPORT_NAME flowplan)
install(TARGETS flowplan_all EXPORT flowplan-targets)

if(FLOWPLAN_BUILD_CLI)
  install(TARGETS flowplan RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# The program looks for its catalogs in ../share/flowplan/catalogs, seen from where it stands.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/catalogs
        DESTINATION ${CMAKE_INSTALL_DATADIR}/flowplan)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/flowplan
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/flowplan)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/flowplan-config.cmake.in
  ${PROJECT_BINARY_DIR}/flowplan-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/flowplan-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/flowplan-config.cmake
              ${PROJECT_BINARY_DIR}/flowplan-config-version.cmake
        DESTINATION ${package_dir})
install(EXPORT flowplan-targets NAMESPACE flowplan:: DESTINATION ${package_dir})
