# cmake -D output=FILE.cpp -D namespace=NAME -D files=name=path[;name=path...] -P EmbedFiles.cmake
#
# Writes a C++ source that defines each file's text as `const std::string_view NAME::name`; empty
# where the path is.
# Compilers need not take literals as long as a library's script, but those that build this do.
set(text "#include <string_view>\n\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\nnamespace ${namespace} {\n\n")
foreach(entry IN LISTS files)
  string(REGEX MATCH "^([a-z_]+)=(.*)$" matched "${entry}")
  set(name "${CMAKE_MATCH_1}")
  set(path "${CMAKE_MATCH_2}")
  set(content "")
  if(path)
    file(READ "${path}" content)
  endif()
  string(APPEND text "extern const std::string_view ${name};\n"
                     "const std::string_view ${name} = R\"embedded(${content})embedded\";\n\n")
endforeach()
string(APPEND text "}  // namespace ${namespace}\n")
file(WRITE "${output}" "${text}")
