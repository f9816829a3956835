# The kernels that are built, a file a section in generators/kernels/. Their order is the order of preference: of those
# for an operation and a device, a plan takes the first that accepts its problem. So exact kernels come first, then
# families (fixed kernel and stride, any channels), then the general kernels.
#
#   conv_transpose_kernel(OPERATION FORMAT DEVICE FAMILY [AS what] [GENERATOR generator] [parameter=value ...] [option ...])
#   conv_transpose_helper(GENERATOR FORMAT DEVICE [AS what] [parameter=value ...] [option ...])
#
# A kernel of the first kind computes an operation, by the generator OPERATION_DEVICE_FAMILY unless another is named; one
# of the second prepares operands or adds parts of sums. Names follow from the row (cmake/ConvTransposeKernels.cmake):
# forward_f32_cuda_dense_k3x3_s1x1_nchw_c64x64 is OPERATION_FORMAT_DEVICE_FAMILY, the window (`any` where no attribute is
# compiled in), the layout of pictures, and sizes that are compiled in, then what AS says of rows that differ in nothing
# else. FORMAT is what is multiplied: f32, tf32, tf32x3, f16 or bf16. Options:
#   FULL                  left out unless CONV_TRANSPOSE_KERNELS=full
#   H200_TFLOPS n                TFLOP/s of full blocks on an H200, measured. Among kernels with a rate that accept a
#                         problem, the one that should take least time is chosen
#   ONLY_ON sm_90         left out where there is no machine code for this GPU, and made for no other
#   LARGE                 64-bit indices
#   ALLOW_SPILLS          registers may spill
#   MAX_REGISTERS n       a thread has at most so many, and may spill
#   BASELINE              a cpu kernel is made for processors without AVX2, too; BASELINE_ONLY: and for no others
#   AVX2 parameter=value  in place of those before: AVX2 has half as many registers as AVX-512
# cpu kernels are made for each instruction set in CONV_TRANSPOSE_CPU_LEVELS.

# Formats of half precision, each with the same rows.
set(formats_of_16_bits f16 bf16)

# Sets `maybe`, an option of rows: FULL, but for those formats of a loop over `format` that the small set has.
function(conv_transpose_small_set_has)
    set(maybe FULL)
    if(format IN_LIST ARGN)
        set(maybe "")
    endif()
    set(maybe "${maybe}" PARENT_SCOPE)
endfunction()

# Flat products on CPUs (schedules/cpu_implicit_gemm.h), any attributes and rank: register tiles for numbers of channels, and
# for few places; then those for any layout and element type, with channels in vectors. Rates with AVX2 are variables, where
# they were measured.
macro(conv_transpose_flat_products operation)
    set(gemm LAYOUT ncdhw rank=3)
    set(channels3 AS channels3 vectors=8 channels=3 fma_percent=60 AVX2 vectors=4 ${avx2_channels3})
    conv_transpose_kernel(${operation} f32 cpu implicit_gemm ${gemm} AVX2 channels=4 ${avx2_places})
    conv_transpose_kernel(${operation} f32 cpu implicit_gemm ${gemm} ${channels3})
    conv_transpose_kernel(${operation} f32 cpu implicit_gemm ${gemm} AS channels1 vectors=12 channels=1 fma_percent=30
        AVX2 vectors=6 ${avx2_channels1})
    conv_transpose_kernel(${operation} f32 cpu implicit_gemm ${gemm} AS narrow vectors=1 channels=16 fma_percent=72
        AVX2 channels=8 ${avx2_narrow})
    conv_transpose_kernel(${operation} f32 cpu implicit_gemm ${gemm} vectors=2 channels=4 BASELINE_ONLY)
    foreach(format f32 ${formats_of_16_bits})
        if(NOT format STREQUAL f32)
            conv_transpose_kernel(${operation} ${format} cpu implicit_gemm ${gemm} storage=${format} AVX2 channels=4 ${avx2_places})
            conv_transpose_kernel(${operation} ${format} cpu implicit_gemm ${gemm} storage=${format} ${channels3})
        endif()
        set(in_vectors LAYOUT any GENERATOR ${operation}_cpu_implicit_gemm_channels rank=3 storage=${format})
        conv_transpose_kernel(${operation} ${format} cpu implicit_gemm ${in_vectors} AVX2 places=6)
        conv_transpose_kernel(${operation} ${format} cpu implicit_gemm ${in_vectors} AS narrow places=16 vectors=1 AVX2 places=12)
        conv_transpose_kernel(${operation} ${format} cpu implicit_gemm ${in_vectors} places=6 BASELINE_ONLY)
    endforeach()
endmacro()
# Depthwise, of any attributes and rank: places in vectors; where channels are innermost, or taps are many, groups.
macro(conv_transpose_depthwise_products operation)
    conv_transpose_kernel(${operation} f32 cpu depthwise LAYOUT ncdhw GENERATOR ${operation}_cpu_depthwise_places rank=3
        ${depthwise} fma_percent=17)
    conv_transpose_kernel(${operation} f32 cpu depthwise LAYOUT ncdhw AS turned GENERATOR ${operation}_cpu_depthwise_channels rank=3
        ${depthwise} turned=true fma_percent=45 AVX2 places=12)
    foreach(format f32 ${formats_of_16_bits})
        conv_transpose_kernel(${operation} ${format} cpu depthwise LAYOUT any GENERATOR ${operation}_cpu_depthwise_channels rank=3
            storage=${format} ${depthwise} fma_percent=45 AVX2 places=12)
    endforeach()
endmacro()

# A section's variables are its own; it sees those that are set here.
block(PROPAGATE CONV_TRANSPOSE_KERNEL_OBJECTS CONV_TRANSPOSE_KERNEL_ROWS)
    set(k3 kernel_h=3 kernel_w=3)
    set(k3x5 kernel_h=3 kernel_w=5)
    set(k3x7 kernel_h=3 kernel_w=7)
    set(s1 stride_h=1 stride_w=1)
    set(k2s2 kernel_h=2 kernel_w=2 stride_h=2 stride_w=2)
    set(k3s2 ${k3} stride_h=2 stride_w=2)
    set(k4s2 kernel_h=4 kernel_w=4 stride_h=2 stride_w=2)
    set(k9s3 kernel_h=9 kernel_w=9 stride_h=3 stride_w=3)
    set(depthwise in_channels=1 out_channels=1)
    set(c32x32 in_channels=32 out_channels=32)
    set(c64x64 in_channels=64 out_channels=64)
    # KernelBench level 1, problems 75 and 81, but for their padding
    set(exact75 ${k3x5} stride_h=2 stride_w=3 dilation_h=2 in_channels=8 out_channels=16)
    set(exact81 ${k3} stride_h=5 stride_w=5 dilation_h=2 dilation_w=2 in_channels=32 out_channels=64)
    # Products of any attributes: tiles of so many channels
    set(product_c64 lanes_x=16 lanes_y=1 chunk=16 unroll_summed=16)
    set(product_c32 lanes_x=16 lanes_y=2 lanes_channel=4 column_vectors=1 chunk=16 unroll_summed=16 blocks=5)
    set(product_c16 lanes_x=16 lanes_y=2 lanes_channel=4 column_vectors=1 channel_vectors=1 chunk=16 blocks=8)
    set(product_c64_split lanes_y=1 splits=4 chunk=32 blocks=2)
    set(product_c32_split lanes_y=1 lanes_channel=4 column_vectors=1 splits=16 chunk=128 blocks=1)
    # Threads of a gather with parts of a column, of which neighbouring taps see what they share once.
    set(columns2 part_axis=1 window=2)
    set(columns3 part_axis=1 window=3)
    # Tensor cores before CUDA cores: where their precision is allowed they are faster.
    foreach(section small cpu_forward volumes tensor_maps tensor_cores cuda_forward input_gradient weight_gradient gather packing)
        block(PROPAGATE CONV_TRANSPOSE_KERNEL_OBJECTS CONV_TRANSPOSE_KERNEL_ROWS)
            include(${PROJECT_SOURCE_DIR}/generators/kernels/${section}.cmake)
        endblock()
    endforeach()
endblock()
