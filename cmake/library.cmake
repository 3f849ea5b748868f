# libskylark, shared and static: the room client with what it stands on, and nothing to see but sky_….
#   cmake --install BUILD --component library [--prefix DIR]   installs headers, libraries, the pkg-config file and the CMake package
include(GNUInstallDirs)
file(STRINGS ${PROJECT_SOURCE_DIR}/include/skylark/skylark.h version REGEX "define SKY_VERSION")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" LIBRARY_VERSION "${version}")

foreach(name base os codec compress allocate net rpc meta client)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
endforeach()

add_library(libskylark SHARED ${PROJECT_SOURCE_DIR}/src/client/library.c)
set_target_properties(libskylark PROPERTIES OUTPUT_NAME skylark VERSION ${LIBRARY_VERSION} SOVERSION 0 C_VISIBILITY_PRESET hidden
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/skylark.map ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
target_include_directories(libskylark PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(libskylark PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,client> base os codec compress allocate net rpc meta)
target_link_options(libskylark PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/skylark.map -Wl,--as-needed)

# One object whose other names are its own, so that a program may have a function log_open() too.
set(STATIC_LIBRARY ${PROJECT_BINARY_DIR}/lib/libskylark.a)
add_library(client_quiet OBJECT ${PROJECT_SOURCE_DIR}/src/client/library.c)
target_include_directories(client_quiet PRIVATE ${PROJECT_SOURCE_DIR}/src)
add_custom_command(OUTPUT ${STATIC_LIBRARY}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/lib
  COMMAND ${CMAKE_LINKER} -r -o skylark.o $<TARGET_OBJECTS:client_quiet> --whole-archive $<TARGET_FILE:client> --no-whole-archive
    --start-group $<TARGET_FILE:base> $<TARGET_FILE:os> $<TARGET_FILE:codec> $<TARGET_FILE:compress> $<TARGET_FILE:allocate> $<TARGET_FILE:net> $<TARGET_FILE:rpc> $<TARGET_FILE:meta> --end-group
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden skylark.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${STATIC_LIBRARY}
  COMMAND ${CMAKE_AR} rcs ${STATIC_LIBRARY} skylark.o
  DEPENDS base os codec compress allocate net rpc meta client client_quiet
  WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(libskylark_static ALL DEPENDS ${STATIC_LIBRARY})

file(RELATIVE_PATH PREFIX_FROM_PC /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
set(PRIVATE_LIBRARIES "libuv openssl libdeflate libisal liblz4 libzstd")
configure_file(${PROJECT_SOURCE_DIR}/cmake/skylark.pc.in ${PROJECT_BINARY_DIR}/lib/skylark.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/SkylarkConfig.cmake.in ${PROJECT_BINARY_DIR}/lib/SkylarkConfig.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lib/SkylarkConfigVersion.cmake VERSION ${LIBRARY_VERSION} COMPATIBILITY SameMinorVersion)

# Not part of the server's package: asked for by name.
install(TARGETS libskylark LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library EXCLUDE_FROM_ALL)
install(FILES ${STATIC_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/skylark DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_BINARY_DIR}/lib/skylark.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_BINARY_DIR}/lib/SkylarkConfig.cmake ${PROJECT_BINARY_DIR}/lib/SkylarkConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Skylark COMPONENT library EXCLUDE_FROM_ALL)
