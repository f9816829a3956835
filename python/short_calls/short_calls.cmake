# The extension that takes plain calls of PyTorch to the library without Python between: for Python's stable ABI, so that
# one file serves Python 3.10 and later. Where its headers are missing, calls go through Python alone.
find_package(Python3 3.10 COMPONENTS Interpreter Development.SABIModule QUIET)
if(Python3_Development.SABIModule_FOUND AND NOT CONV_TRANSPOSE_SANITIZE)
    Python3_add_library(conv_transpose_short_calls MODULE USE_SABI 3.10 ${CMAKE_CURRENT_LIST_DIR}/module.cpp)
    target_compile_features(conv_transpose_short_calls PRIVATE cxx_std_20)
    target_compile_options(conv_transpose_short_calls PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics
                           -fvisibility=hidden)
    # It uses nothing of the C++ library, whose version would matter.
    target_link_options(conv_transpose_short_calls PRIVATE -nodefaultlibs)
    target_link_libraries(conv_transpose_short_calls PRIVATE c gcc)
    target_include_directories(conv_transpose_short_calls PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../../runtime/include)
    set_target_properties(conv_transpose_short_calls PROPERTIES OUTPUT_NAME _short_calls PREFIX "" SUFFIX .abi3.so)
    add_dependencies(conv_transpose_shared conv_transpose_short_calls)
    install(TARGETS conv_transpose_short_calls LIBRARY DESTINATION conv_transpose COMPONENT python EXCLUDE_FROM_ALL)
else()
    message(STATUS "No headers of Python: calls of PyTorch go through Python alone")
endif()
