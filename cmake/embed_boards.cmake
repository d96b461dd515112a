# Writes the C++ source that holds the files of the boards (src/cli/boards.hpp), so that the program
# needs neither the source tree nor a cross compiler:
#   cmake -DOUTPUT=FILE "-DBOARDS=FOLDER;FOLDER" "-DFIRMWARE=NAME=ELF;NAME=ELF" -P embed_boards.cmake
function(bytes_of file result)
  set(text "")
  if(file AND EXISTS ${file})
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," text "${hex}")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

set(arrays "")
set(table "")
set(n 0)
foreach(folder ${BOARDS})
  get_filename_component(name ${folder} NAME)
  if(NOT EXISTS ${folder}/board.toml)
    continue()
  endif()
  set(elf "")
  foreach(pair ${FIRMWARE})
    if(pair MATCHES "^${name}=(.*)$")
      set(elf ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set(row "{\"${name}\"")
  foreach(part toml:${folder}/board.toml firmware:${elf} prompts:${folder}/calibration/prompts.txt)
    string(REGEX MATCH "^([a-z]+):(.*)$" ignored ${part})
    set(symbol ${CMAKE_MATCH_1}_${n})
    bytes_of("${CMAKE_MATCH_2}" data)
    # a zero behind the data: no array is empty
    string(APPEND arrays "constexpr unsigned char ${symbol}[] = {${data}0};\n")
    string(APPEND row ", {${symbol}, sizeof ${symbol} - 1}")
  endforeach()
  string(APPEND table "    ${row}},\n")
  math(EXPR n "${n} + 1")
endforeach()
file(WRITE ${OUTPUT}.new "// Written by cmake/embed_boards.cmake.
#include \"cli/boards.hpp\"

namespace ridge::cli {
namespace {
${arrays}
constexpr EmbeddedBoard boards[] = {
${table}};
}  // namespace

std::span<const EmbeddedBoard> embedded_boards() {
    return boards;
}

}  // namespace ridge::cli
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
