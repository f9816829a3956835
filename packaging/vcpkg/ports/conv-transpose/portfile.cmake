# An overlay port of the clone that it lies in:
#   vcpkg install conv-transpose --overlay-ports=packaging/vcpkg/ports
# Kernels are compiled by Halide 21 on the host. vcpkg's own port of Halide may be another version: then give PyPI's,
# (pip install halide==21.0.0) by -DCMAKE_PREFIX_PATH in VCPKG_CMAKE_CONFIGURE_OPTIONS of a triplet.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES cuda CONV_TRANSPOSE_CUDA)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS
    ${options} -DCONV_TRANSPOSE_TESTS=OFF -DCONV_TRANSPOSE_APPS=OFF -DCONV_TRANSPOSE_SHARED=${shared}
    -DCONV_TRANSPOSE_KERNELS=small)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME ConvTranspose CONFIG_PATH lib/cmake/ConvTranspose)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/packaging/LICENSE.Halide")
