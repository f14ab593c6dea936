# cmake -D build=… -D source=… -D work=… -D generator=… -D compiler=… -P install_test.cmake
#
# The installed package serves another project, and the installed program its own catalogs.
set(prefix ${work}/prefix)
file(REMOVE_RECURSE ${work})
set(ENV{FLOWPLAN_CATALOGS})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "exit code ${status} from ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${source}/consumer -B ${work}/consumer -G ${generator}
    -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${work}/consumer)
run(${work}/consumer/consumer ${prefix}/share/flowplan/catalogs)

run(${prefix}/bin/flowplan catalog show p5.48xlarge)
if(NOT output MATCHES "p5.48xlarge")
  message(FATAL_ERROR "the installed program does not know p5.48xlarge:\n${output}")
endif()

# Broken, the installed catalog must be missed: nothing else may have been read instead.
file(WRITE ${prefix}/share/flowplan/catalogs/gpus.json "{")
execute_process(COMMAND ${prefix}/bin/flowplan catalog show p5.48xlarge RESULT_VARIABLE status
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 3 OR NOT output MATCHES "share/flowplan/catalogs/gpus.json")
  message(FATAL_ERROR "exit code ${status} with a broken catalog beside the program:\n${output}")
endif()
