# add_conv_transpose_kernel(): from a generator with parameters to an object file and a row of the registry.
# conv_transpose_kernel(): the same for every target of a device, as generators/kernels.cmake lists kernels.

set(CONV_TRANSPOSE_KERNELS small CACHE STRING "Which kernels are built: small (what CI tests) or full")
set_property(CACHE CONV_TRANSPOSE_KERNELS PROPERTY STRINGS small full)
set(CONV_TRANSPOSE_KERNEL_FILTER "" CACHE STRING "Only kernels whose names match this regular expression are built; all if empty")
set(CONV_TRANSPOSE_GPU_ARCHITECTURES sm_80 sm_90 sm_100 CACHE STRING "GPUs that get machine code; later ones use PTX")
set(CONV_TRANSPOSE_CPU_LEVELS avx512 avx2 CACHE STRING "CPU instruction sets, best first; the baseline is always built")

set(target_common user_context-no_runtime)
if(CONV_TRANSPOSE_SANITIZE STREQUAL address)
    string(APPEND target_common -asan)  # every load and store of the CPU kernels is checked
endif()
set(cpu_target_avx512 x86-64-linux-avx-avx2-avx512-avx512_skylake-f16c-fma-sse41)
set(cpu_target_avx2 x86-64-linux-avx-avx2-f16c-fma-sse41)
set(cpu_target_baseline x86-64-linux-sse41)
# The host side of a CUDA kernel computes block counts: any processor does.
set(cuda_target x86-64-linux-sse41-cuda-cuda_capability_80)

set(CONV_TRANSPOSE_KERNEL_OBJECTS "")
set(CONV_TRANSPOSE_KERNEL_ROWS "")

# add_conv_transpose_kernel(NAME GENERATOR TARGET [parameter=value ...] [--option ...])
function(add_conv_transpose_kernel name generator target)
    set(dir ${CMAKE_CURRENT_BINARY_DIR}/kernels)
    add_custom_command(
        OUTPUT ${dir}/${name}.o ${dir}/${name}.kernel.inc
        COMMAND ${CMAKE_COMMAND} -E make_directory ${dir}
        COMMAND conv_transpose_generate ${generator} --name=${name} --target=${target}-${target_common} --out=${dir} ${ARGN}
        DEPENDS conv_transpose_generate
        COMMENT "Kernel ${name}"
        VERBATIM)
    # The autotuner starts from the kernels that there are.
    list(JOIN ARGN " " parameters)
    set_property(GLOBAL APPEND PROPERTY CONV_TRANSPOSE_KERNEL_COMMANDS "${generator} ${parameters}")
    list(APPEND CONV_TRANSPOSE_KERNEL_OBJECTS ${dir}/${name}.o)
    list(APPEND CONV_TRANSPOSE_KERNEL_ROWS ${dir}/${name}.kernel.inc)
    set(CONV_TRANSPOSE_KERNEL_OBJECTS ${CONV_TRANSPOSE_KERNEL_OBJECTS} PARENT_SCOPE)
    set(CONV_TRANSPOSE_KERNEL_ROWS ${CONV_TRANSPOSE_KERNEL_ROWS} PARENT_SCOPE)
endfunction()

# The name says on which device: f32_cpu_..., f32_cuda_....
function(conv_transpose_kernel name generator)
    cmake_parse_arguments(arg "FULL;ALLOW_SPILLS;LARGE;BASELINE_ONLY" "MAX_REGISTERS;RATE" "AVX2" ${ARGN})
    if(arg_FULL AND NOT CONV_TRANSPOSE_KERNELS STREQUAL full)
        return()
    endif()
    if(CONV_TRANSPOSE_KERNEL_FILTER AND NOT name MATCHES "${CONV_TRANSPOSE_KERNEL_FILTER}")
        return()
    endif()
    set(large "")
    if(arg_LARGE)
        set(large -large_buffers)
    endif()
    if(name MATCHES "_cuda_")
        if(NOT CONV_TRANSPOSE_CUDA)
            return()
        endif()
        list(JOIN CONV_TRANSPOSE_GPU_ARCHITECTURES "," gpus)
        set(options --gpu=${gpus} --ptxas=${CONV_TRANSPOSE_PTXAS} --fatbinary=${CONV_TRANSPOSE_FATBINARY})
        if(CONV_TRANSPOSE_TESTS)
            list(APPEND options --keep-device-code)  # for tests/ptx_machine
        endif()
        if(arg_MAX_REGISTERS)
            # So that more blocks fit; the little that spills is measured to be worth it.
            list(APPEND options --registers=${arg_MAX_REGISTERS} --allow-spills)
        endif()
        if(arg_RATE)
            list(APPEND options --rate=${arg_RATE})
        endif()
        if(arg_ALLOW_SPILLS)
            list(APPEND options --allow-spills)
        endif()
        add_conv_transpose_kernel(${name} ${generator} ${cuda_target}${large} ${arg_UNPARSED_ARGUMENTS} ${options})
    else()
        if(NOT arg_BASELINE_ONLY)
            foreach(level IN LISTS CONV_TRANSPOSE_CPU_LEVELS)
                # The driver takes the last value of a parameter that is given twice.
                set(parameters ${arg_UNPARSED_ARGUMENTS})
                if(level STREQUAL avx2)
                    list(APPEND parameters ${arg_AVX2})
                endif()
                add_conv_transpose_kernel(${name}_${level} ${generator} ${cpu_target_${level}}${large} ${parameters})
            endforeach()
        endif()
        # Only general kernels and preparation are worth building for processors without AVX2.
        if(arg_BASELINE_ONLY OR name MATCHES "_general")
            add_conv_transpose_kernel(${name} ${generator} ${cpu_target_baseline}${large} ${arg_UNPARSED_ARGUMENTS})
        endif()
    endif()
    set(CONV_TRANSPOSE_KERNEL_OBJECTS ${CONV_TRANSPOSE_KERNEL_OBJECTS} PARENT_SCOPE)
    set(CONV_TRANSPOSE_KERNEL_ROWS ${CONV_TRANSPOSE_KERNEL_ROWS} PARENT_SCOPE)
endfunction()
