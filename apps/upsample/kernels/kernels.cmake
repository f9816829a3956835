# upsample's own CUDA kernels: compiled ahead of time like the library's, with their own copy of what replaces Halide's
# runtime (as kernel packs have), in one object of which only the functions of layer_kernels.h are seen from outside.
add_executable(upsample_generate kernels/generate.cpp kernels/layer_kernels.cpp)
target_link_libraries(upsample_generate PRIVATE conv_transpose_compiler)
set_target_properties(upsample_generate PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_precompile_headers(upsample_generate REUSE_FROM conv_transpose_compiler)

set(kernel_folder ${CMAKE_CURRENT_BINARY_DIR}/kernels)
file(MAKE_DIRECTORY ${kernel_folder})
set(kernel_target x86-64-linux-sse41-cuda-cuda_capability_80-user_context-no_runtime)
list(JOIN CONV_TRANSPOSE_GPU_ARCHITECTURES "," kernel_gpus)
set(kernel_objects "")
function(upsample_kernel name generator)
    add_custom_command(OUTPUT ${kernel_folder}/${name}.o
        COMMAND upsample_generate ${generator} ${name} ${kernel_target} ${kernel_folder} ${CONV_TRANSPOSE_PTXAS}
                ${CONV_TRANSPOSE_FATBINARY} ${kernel_gpus} ${ARGN}
        DEPENDS upsample_generate COMMENT "Kernel ${name}" VERBATIM)
    set(kernel_objects ${kernel_objects} ${kernel_folder}/${name}.o PARENT_SCOPE)
endfunction()

upsample_kernel(upsample_copy_f32_f16 layer_copy from_type=f32 to_type=f16)
upsample_kernel(upsample_copy_f16_f32 layer_copy from_type=f16 to_type=f32)
foreach(type f32 f16)
    upsample_kernel(upsample_copy_${type} layer_copy from_type=${type} to_type=${type})
    upsample_kernel(upsample_rectify_${type} layer_rectify type=${type})
    upsample_kernel(upsample_combine_${type} layer_combine type=${type})
    upsample_kernel(upsample_interpolate_${type} layer_interpolate type=${type})
endforeach()
upsample_kernel(upsample_copy_f16_pairs layer_copy from_type=f16 to_type=f16 pairs=true)
upsample_kernel(upsample_rectify_f16_pairs layer_rectify type=f16 pairs=true)
upsample_kernel(upsample_combine_f16_pairs layer_combine type=f16 pairs=true)

add_library(upsample_kernel_calls OBJECT kernels/layer_kernels_calls.cpp)
target_include_directories(upsample_kernel_calls PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/runtime/include
    ${PROJECT_SOURCE_DIR}/runtime/src ${PROJECT_SOURCE_DIR} ${Halide_INCLUDE_DIR})
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(upsample_kernel_calls PRIVATE -fno-gnu-unique)  # as in runtime/CMakeLists.txt
endif()
set(upsample_kernels ${CMAKE_CURRENT_BINARY_DIR}/upsample_kernels.o)
set(pack_support ${PROJECT_BINARY_DIR}/runtime/kernel_pack_support.o)
add_custom_command(OUTPUT ${upsample_kernels}
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${upsample_kernels} $<TARGET_OBJECTS:upsample_kernel_calls>
            ${kernel_objects} ${pack_support}
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=_ZN8upsample* ${upsample_kernels}
    DEPENDS upsample_kernel_calls $<TARGET_OBJECTS:upsample_kernel_calls> ${kernel_objects} conv_transpose_pack_support
            ${pack_support}
    COMMAND_EXPAND_LISTS COMMENT "Isolating upsample's kernels" VERBATIM)
set_source_files_properties(${upsample_kernels} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
