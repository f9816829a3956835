# The autotuner, from Python; skipped where that lacks what requirements-autotune.txt lists.
find_program(AUTOTUNE_TEST_PYTHON python3 HINTS ${PROJECT_SOURCE_DIR}/.venv/bin NO_CACHE)
execute_process(COMMAND ${AUTOTUNE_TEST_PYTHON} -c "import optuna, matplotlib" RESULT_VARIABLE no_optuna ERROR_QUIET)
if(no_optuna)
    message(STATUS "No Python with optuna and matplotlib: the autotuner is not tested")
else()
    foreach(part Search Spaces Errors Models)
        add_test(NAME autotune.${part} COMMAND ${AUTOTUNE_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/autotune_test.py ${part})
        set_tests_properties(autotune.${part} PROPERTIES TIMEOUT 1500 COST 1
            ENVIRONMENT "CONV_TRANSPOSE_TOOLCHAIN=${PROJECT_BINARY_DIR}/apps/autotune/toolchain.json")
    endforeach()
endif()
