# Install rules, in two components. `program`: the program, its catalogs and scenarios, manual pages,
# shell completions. `development`: the headers and the library as the CMake package flowplan, whose
# one public target is flowplan::flowplan.
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY FLOWPLAN_MODULES)
foreach(module IN LISTS modules)
  set_target_properties(flowplan_${module} PROPERTIES EXPORT_NAME ${module})
  install(TARGETS flowplan_${module} EXPORT flowplan-targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endforeach()
set_target_properties(flowplan_all PROPERTIES EXPORT_NAME flowplan)
install(TARGETS flowplan_all EXPORT flowplan-targets COMPONENT development)

if(FLOWPLAN_BUILD_CLI)
  install(TARGETS flowplan RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

  # What the program says of itself, from its one table of commands.
  set(pages ${PROJECT_BINARY_DIR}/pages)
  add_custom_command(OUTPUT ${pages}/stamp
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
    COMMAND flowplan help --man-folder ${pages}/man
    COMMAND flowplan completion bash > ${pages}/flowplan
    COMMAND flowplan completion zsh > ${pages}/_flowplan
    COMMAND flowplan completion fish > ${pages}/flowplan.fish
    COMMAND ${CMAKE_COMMAND} -E touch ${pages}/stamp
    DEPENDS flowplan COMMENT "Writing manual pages and completions" VERBATIM)
  add_custom_target(flowplan_pages ALL DEPENDS ${pages}/stamp)
  install(DIRECTORY ${pages}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  install(FILES ${pages}/flowplan COMPONENT program
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${pages}/_flowplan COMPONENT program
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(FILES ${pages}/flowplan.fish COMPONENT program
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

# The program looks for its catalogs in ../share/flowplan/catalogs, seen from where it stands.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/catalogs ${PROJECT_SOURCE_DIR}/scenarios
        DESTINATION ${CMAKE_INSTALL_DATADIR}/flowplan COMPONENT program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/flowplan
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
              ${PROJECT_SOURCE_DIR}/README.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
        COMPONENT program)

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
        DESTINATION ${package_dir} COMPONENT development)
install(EXPORT flowplan-targets NAMESPACE flowplan:: DESTINATION ${package_dir}
        COMPONENT development)
