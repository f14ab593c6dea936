#pragma once

#include <string_view>

/// The files of src/report/page/ and Chart.js, put into the program by cmake/EmbedFiles.cmake.
namespace flowplan::report::page_files {

extern const std::string_view page, style, chart_script;
extern const std::string_view chart_library;  ///< empty in a build without Chart.js

}  // namespace flowplan::report::page_files
