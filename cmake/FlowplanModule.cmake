# flowplan_module(NAME [USES module...] [PUBLIC lib...] [PRIVATE lib...])
#
# One module of the library: sources src/NAME/*.cpp, headers include/flowplan/NAME/*.hpp. USES names
# the modules above it in docs/architecture.md; linking only those keeps the imports one-way.
add_library(flowplan_options INTERFACE)
target_compile_features(flowplan_options INTERFACE cxx_std_20)
target_compile_options(flowplan_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 warns inside std::string (GCC bug 105651)
  $<$<BOOL:${FLOWPLAN_WERROR}>:-Werror>)
# What nothing calls is left out of the programs.
target_compile_options(flowplan_options INTERFACE $<$<CONFIG:Release>:-ffunction-sections>)
target_link_options(flowplan_options INTERFACE $<$<CONFIG:Release>:LINKER:--gc-sections>)
if(CMAKE_UNITY_BUILD)
  # A class of a file that holds one of another file-local class is no fault where both are compiled as one.
  target_compile_options(flowplan_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
    # Clang counts the file-local names of the other files of a unit as shadowed; GCC does not.
    $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)
endif()
if(FLOWPLAN_SANITIZE)
  target_compile_options(flowplan_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
    # GCC 12 warns inside std::regex once it is instrumented.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(flowplan_options INTERFACE -fsanitize=address,undefined)
endif()

function(flowplan_module name)
  cmake_parse_arguments(arg "" "" "USES;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cpp")
  add_library(flowplan_${name} STATIC ${sources})
  target_include_directories(flowplan_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  list(TRANSFORM arg_USES PREPEND flowplan_)
  target_link_libraries(flowplan_${name}
    PUBLIC ${arg_USES} ${arg_PUBLIC}
    PRIVATE $<BUILD_INTERFACE:flowplan_options> ${arg_PRIVATE})
  target_compile_features(flowplan_${name} PUBLIC cxx_std_20)
  set_property(GLOBAL APPEND PROPERTY FLOWPLAN_MODULES ${name})
endfunction()

# flowplan_module_test(NAME): tests/NAME/*_test.cpp as the program flowplan_NAME_test, one CTest test.
function(flowplan_module_test name)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(flowplan_${name}_test ${sources})
  target_link_libraries(flowplan_${name}_test PRIVATE flowplan_${name} flowplan_options
                                                      fmt::fmt nlohmann_json::nlohmann_json
                                                      flowplan_catch_main)
  # Assertions are most of a test's code: optimising them costs more than it saves.
  target_compile_options(flowplan_${name}_test PRIVATE $<IF:$<CONFIG:Debug>,-O0,-O1>)
  target_compile_definitions(flowplan_${name}_test PRIVATE
    FLOWPLAN_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    CATCH_CONFIG_FAST_COMPILE)
  # Under sanitizers without the cases tagged [slow], whose code other cases run on less.
  add_test(NAME ${name} COMMAND flowplan_${name}_test $<$<BOOL:${FLOWPLAN_SANITIZE}>:~[slow]>
           COMMAND_EXPAND_LISTS)
  # Those that run longest begin first.
  set(cost_cli 5)
  set(cost_collective 4)
  set(cost_flow 3)
  set(cost_planner 3)
  set_tests_properties(${name} PROPERTIES COST 0${cost_${name}})
  # A folder of its own for temporary files: two builds' tests may run at the same time.
  set(temporary "${CMAKE_CURRENT_BINARY_DIR}/tmp/${name}")
  file(MAKE_DIRECTORY "${temporary}")
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "TMPDIR=${temporary}")
endfunction()
