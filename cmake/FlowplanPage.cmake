# HTML reports: the page's files and Chart.js become part of the program, so that a report needs no
# other file and the installed program no other package.
find_path(FLOWPLAN_MUSTACHE_INCLUDE kainjow/mustache.hpp REQUIRED)
find_file(FLOWPLAN_CHARTJS chart.min.js
          PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist)
if(FLOWPLAN_CHARTJS)
  set(chartjs_found ON)
else()
  set(chartjs_found OFF)
endif()
option(FLOWPLAN_CHARTS "Draw charts in HTML reports with Chart.js 3 (FLOWPLAN_CHARTJS: its file)"
       ${chartjs_found})
set(chart_library "")
if(FLOWPLAN_CHARTS)
  if(NOT FLOWPLAN_CHARTJS)
    message(FATAL_ERROR "FLOWPLAN_CHARTS needs FLOWPLAN_CHARTJS, the file chart.min.js of Chart.js 3")
  endif()
  set(chart_library "${FLOWPLAN_CHARTJS}")
endif()

# flowplan_embed_page(TARGET): adds the files as a source of the target.
function(flowplan_embed_page target)
  set(page "${PROJECT_SOURCE_DIR}/src/report/page")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/page_files.cpp")
  set(script "${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake")
  set(files "page=${page}/page.mustache;style=${page}/page.css;chart_script=${page}/charts.js")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} -D "output=${output}" -D namespace=flowplan::report::page_files
            -D "files=${files};chart_library=${chart_library}" -P "${script}"
    DEPENDS "${script}" "${page}/page.mustache" "${page}/page.css" "${page}/charts.js"
            ${chart_library}
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  target_include_directories(${target} SYSTEM PRIVATE
    $<BUILD_INTERFACE:${FLOWPLAN_MUSTACHE_INCLUDE}>)
  set_source_files_properties("${output}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
