# `cpack -G DEB` in the build folder: flowplan (the program) and libflowplan-dev.
set(CPACK_PACKAGE_NAME flowplan)
set(CPACK_PACKAGE_VENDOR "flowplan")
set(CPACK_PACKAGE_CONTACT "The flowplan authors <authors@flowplan.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "capacity planner for foundation models on AWS GPU clusters")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME flowplan)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "Predicts what a GPU cluster on Amazon EC2 does with a foundation model: speed, memory,
 bottlenecks, time and list price, for training and for serving. The program, its catalogs of
 hardware and prices, example scenarios, manual pages and shell completions.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libflowplan-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libfmt-dev, nlohmann-json3-dev, libboost-graph-dev, libexpected-dev, libtbb-dev, libpugixml-dev, libyaml-cpp-dev, libcsv-dev, libgraphviz-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "The library behind flowplan, for C++ programs: headers, static libraries, the CMake package
 flowplan.")
include(CPack)
