# libridge.so with the C API, and what an installation holds: program, library, header, CMake
# package, pkg-config file, manual page, completions; `cpack -G DEB` makes the Debian package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # what is installed is built by then

# The API's own files, and of the rest what they need from the archive.
add_library(ridge_shared SHARED ${api_sources})
set_target_properties(ridge_shared PROPERTIES OUTPUT_NAME ridge VERSION ${PROJECT_VERSION} SOVERSION 0
  EXPORT_NAME ridge CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/ridge.map)
target_link_libraries(ridge_shared PRIVATE $<BUILD_INTERFACE:ridge>)
target_link_options(ridge_shared PRIVATE
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/ridge.map -Wl,--gc-sections -Wl,--no-undefined)
target_include_directories(ridge_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS ridge_shared EXPORT ridge LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/ridge/ridge.h include/ridge/ridge.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ridge)
install(EXPORT ridge NAMESPACE ridge:: FILE ridge-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ridge)
configure_package_config_file(cmake/ridge-config.cmake.in generated/ridge-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ridge)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/ridge-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/ridge-config.cmake
              ${CMAKE_BINARY_DIR}/generated/ridge-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ridge)
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
configure_file(cmake/ridge.pc.in generated/ridge.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/generated/ridge.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
# The program writes its own manual page and completions.
install(TARGETS ridge_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set(generated ${CMAKE_BINARY_DIR}/generated)
foreach(text "manual;ridge.1;${CMAKE_INSTALL_MANDIR}/man1" "completion bash;ridge;share/bash-completion/completions"
             "completion zsh;_ridge;share/zsh/vendor-completions"
             "completion fish;ridge.fish;share/fish/vendor_completions.d")
  list(GET text 0 verb)
  list(GET text 1 name)
  list(GET text 2 folder)
  string(REPLACE " " ";" verb "${verb}")
  add_custom_command(OUTPUT ${generated}/${name} COMMAND ridge_cli ${verb} > ${generated}/${name}
                     DEPENDS ridge_cli VERBATIM)
  list(APPEND texts ${generated}/${name})
  install(FILES ${generated}/${name} DESTINATION ${folder})
endforeach()
add_custom_target(ridge_texts ALL DEPENDS ${texts})
install(FILES LICENSE DESTINATION share/doc/ridge RENAME copyright)
install(FILES examples/continue.c DESTINATION share/doc/ridge/examples)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ridge)
set(CPACK_PACKAGE_VENDOR ridge)
set(CPACK_PACKAGE_CONTACT "ridge developers")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "ridge developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "language model inference for PCs and edge boards")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_STRIP_FILES ON)
include(CPack)
