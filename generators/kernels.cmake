# The kernels that are built, a file a section in generators/kernels/. Their order is the order of preference: of those
# for an operation and a device, a plan takes the first that accepts its problem. So exact kernels come first, then
# families (fixed kernel and stride, any channels), then those for any attributes, the gather for any tensors last.
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
#   H200_TFLOPS n         TFLOP/s of full blocks on an H200, measured. Among kernels with a rate that accept a
#                         problem, the one that should take least time is chosen
#   ONLY_ON sm_90         left out where there is no machine code for this GPU, and made for no other; on CPUs avx2, avx512
#                         or avx512_bf16 or amx, which have these rows alone
#   LARGE                 64-bit indices
#   ALLOW_SPILLS          registers may spill
#   MAX_REGISTERS n       a thread has at most so many, and may spill
#   BASELINE              a cpu kernel is made for processors without AVX2, too; BASELINE_ONLY: and for no others
#   AVX2 parameter=value  in place of those before: AVX2 has half as many registers as AVX-512
# cpu kernels are made for each instruction set in CONV_TRANSPOSE_CPU_LEVELS.

# Formats of half precision, each with the same rows. The small set has float16's, and of bfloat16, which differs in how elements
# are converted, those that matter most (kernels/small_bfloat16.cmake); on CPUs, where all formats are multiplied as float32, one of
# a schedule's rows in float16, and of bfloat16 those that multiply pairs, which are others.
set(formats_of_16_bits f16 bf16)

# Sets `maybe`, an option of rows: FULL, but for those formats of a loop over `format` that the small set has.
function(conv_transpose_small_set_has)
    set(maybe FULL)
    if(format IN_LIST ARGN)
        set(maybe "")
    endif()
    set(maybe "${maybe}" PARENT_SCOPE)
endfunction()

# Implicit matrix products on GPUs: operation, format, layout of pictures, in which a d tells three axes, what AS says (or ""),
# parameters and options. float32 is multiplied by CUDA cores, other formats by tensor cores.
function(conv_transpose_gemm operation format layout as)
    set(schedule cuda_cores)
    if(NOT format STREQUAL f32)
        set(schedule tensor_cores format=${format} ALLOW_SPILLS)
    endif()
    conv_transpose_gemm_by(${operation} ${format} ${layout} "${as}" ${schedule} ${ARGN})
endfunction()
# The same by tensor maps (schedules/cuda_implicit_gemm_tensor_maps.h), in a loop over `format`.
function(conv_transpose_maps operation layout as)
    conv_transpose_gemm_by(${operation} ${format} ${layout} "${as}" tensor_maps format=${format} ${ARGN} ONLY_ON sm_90 ALLOW_SPILLS)
endfunction()
function(conv_transpose_gemm_by operation format layout as schedule)
    if(as)
        set(as AS ${as})
    endif()
    set(axes "")
    if(layout MATCHES d)
        set(axes rank=3)
    endif()
    conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT ${layout} ${as} ${axes}
        GENERATOR ${operation}_cuda_implicit_gemm_${schedule} ${ARGN})
endfunction()
# Sets `values`, how many of a loop over `format` have 16 bytes, and parameters of chunks of 128 and 64 bytes.
macro(conv_transpose_chunks)
    set(values 8)
    set(chunk chunk_channels=64)
    set(half_chunk chunk_channels=32)
    if(format STREQUAL tf32)
        set(values 4)
        set(chunk chunk_channels=32)
        set(half_chunk chunk_channels=16)
    endif()
endmacro()
# Sets rate256x128 to the option of a row, and so on: tiles, each with the rate of formats of 16 bits and that of tf32.
macro(conv_transpose_rates)
    set(rates ${ARGN})
    while(rates)
        list(POP_FRONT rates tile rate rate_tf32)
        if(format STREQUAL tf32)
            set(rate ${rate_tf32})
        endif()
        set(rate${tile} H200_TFLOPS ${rate})
    endwhile()
endmacro()

# Flat products of bfloat16 by AMX: tiles of whole 32 channels that are summed over (`channel_multiple` names those), or 16, or
# filled up to 16 with zeros.
function(conv_transpose_matrix_tiles operation channel_multiple)
    set(row ${operation} bf16 cpu implicit_gemm GENERATOR ${operation}_cpu_implicit_gemm_channels rank=3 storage=bf16 pairs=true
        places=32 ONLY_ON amx)
    foreach(layout any ncdhw)
        set(as "")
        set(turned "")
        if(layout STREQUAL ncdhw)
            set(as turned_)
            set(turned turned=true)
        endif()
        set(tiles ${row} LAYOUT ${layout} ${turned})
        conv_transpose_kernel(${tiles} AS ${as}tiles_k32 tile_pairs=16 ${channel_multiple}=32 fma_percent=800)
        conv_transpose_kernel(${tiles} AS ${as}tiles_k16 tile_pairs=8 ${channel_multiple}=16 fma_percent=500)
    endforeach()
    conv_transpose_kernel(${row} LAYOUT any AS tiles tile_pairs=8 fills_tiles=true fma_percent=500)
    conv_transpose_kernel(${row} LAYOUT ncdhw AS turned_tiles turned=true tile_pairs=8 fills_tiles=true fma_percent=500)
    # A row of the kernel has all channels of its taps, of few channels in channels_last.
    if(operation STREQUAL input_gradient)
        set(rows ${row} LAYOUT any joined_terms=true tile_pairs=16 fills_tiles=true)
        conv_transpose_kernel(${rows} AS joined_tiles fma_percent=800)
        conv_transpose_kernel(${rows} AS narrow_joined_tiles vectors=1 fma_percent=770)
    endif()
    # Where half of a last tile would be empty.
    conv_transpose_kernel(${row} LAYOUT ncdhw AS narrow_turned_tiles turned=true vectors=1 tile_pairs=8 fills_tiles=true
        fma_percent=470)
    conv_transpose_kernel(${row} LAYOUT any AS narrow_tiles_k32 vectors=1 tile_pairs=16 ${channel_multiple}=32 fma_percent=770)
    conv_transpose_kernel(${row} LAYOUT any AS narrow_tiles vectors=1 tile_pairs=8 fills_tiles=true fma_percent=470)
endfunction()

# Flat products on CPUs (schedules/cpu_implicit_gemm.h), any attributes and rank: register tiles for numbers of channels, and
# for few places; then those for any layout and element type, with channels in vectors. What differs between operations is a
# variable: rates with AVX2, where they were measured, and how `any_vectors` and `any_narrow` have their places.
macro(conv_transpose_flat_products operation)
    set(gemm LAYOUT ncdhw rank=3)
    foreach(format f32 ${formats_of_16_bits})
        conv_transpose_small_set_has(f32 f16)
        set(in_rows ${operation} ${format} cpu implicit_gemm ${gemm} ${maybe} storage=${format})
        conv_transpose_kernel(${in_rows} fma_percent=72 AVX2 channels=4 ${avx2_places})
        # RGB is the result of the forward operation alone.
        if("${operation}" STREQUAL forward)
            conv_transpose_kernel(${in_rows} AS channels3 vectors=8 channels=3 fma_percent=64 ONLY_ON avx512)
            set(narrow_percent 76)
        else()
            set(narrow_percent 70)
            conv_transpose_kernel(${in_rows} AS channels4 vectors=6 channels=4 fma_percent=72 ONLY_ON avx512)
        endif()
        conv_transpose_kernel(${in_rows} AS channels1 vectors=12 channels=1 fma_percent=33 AVX2 vectors=6 ${avx2_channels1})
        if(format STREQUAL f32)
            conv_transpose_kernel(${in_rows} AS narrow vectors=1 channels=16 fma_percent=${narrow_percent}
                AVX2 channels=8 ${avx2_narrow})
            conv_transpose_kernel(${in_rows} vectors=2 channels=4 BASELINE_ONLY)
        endif()
        set(in_vectors LAYOUT any GENERATOR ${operation}_cpu_implicit_gemm_channels rank=3 storage=${format})
        conv_transpose_kernel(${operation} ${format} cpu implicit_gemm ${in_vectors} ${any_vectors} AVX2 places=6
            ${avx2_in_vectors})
        conv_transpose_kernel(${operation} ${format} cpu implicit_gemm ${in_vectors} ${maybe} places=6 BASELINE_ONLY)
        conv_transpose_small_set_has(f32)
        conv_transpose_kernel(${operation} ${format} cpu implicit_gemm ${in_vectors} AS narrow ${maybe} vectors=1 ${any_narrow})
    endforeach()
endmacro()
# Depthwise, of any attributes and rank: pictures with channels innermost as they lie; places in vectors; where channels are
# innermost in one picture alone, or are few, or taps are many, groups.
macro(conv_transpose_depthwise_products operation)
    foreach(format f32 ${formats_of_16_bits})
        conv_transpose_channel_rows(${operation} AVX2 vectors=4 places=3)
        set(of_groups GENERATOR ${operation}_cpu_depthwise_channels rank=3 storage=${format} ${depthwise} fma_percent=45)
        conv_transpose_small_set_has(f32)
        conv_transpose_kernel(${operation} ${format} cpu depthwise LAYOUT ncdhw GENERATOR ${operation}_cpu_depthwise_places ${maybe}
            rank=3 storage=${format} ${depthwise} fma_percent=17)
        conv_transpose_kernel(${operation} ${format} cpu depthwise LAYOUT ncdhw AS turned ${of_groups} turned=true ${maybe} AVX2
            places=12)
        conv_transpose_small_set_has(f32 f16)
        conv_transpose_kernel(${operation} ${format} cpu depthwise LAYOUT any ${of_groups} ${maybe} AVX2 places=12)
    endforeach()
endmacro()
# The first of the kernels for groups (schedules/cpu_channel_rows.h), in a loop over `format`.
macro(conv_transpose_channel_rows operation)
    conv_transpose_small_set_has(f32)
    conv_transpose_kernel(${operation} ${format} cpu depthwise LAYOUT ndhwc GENERATOR ${operation}_cpu_channel_rows
        storage=${format} ${depthwise} ${maybe} ${ARGN})
endmacro()
# A row for every level. Of formats of 16 bits the small set has AVX2's alone, which processors with AVX-512 run, too: those that
# multiply pairs of bfloat16 have other kernels, and float16 is hardly trained on CPUs. Other processors have no levels.
function(conv_transpose_of_small_set_by_avx2 operation format)
    set(row ${operation} ${format} ${ARGN})
    if(format IN_LIST formats_of_16_bits AND NOT CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
        conv_transpose_kernel(${row} ONLY_ON avx2)
        conv_transpose_kernel(${row} ONLY_ON avx512 FULL)
    else()
        conv_transpose_kernel(${row})
    endif()
endfunction()

# A section's variables are its own; it sees those that are set here.
block()
    set(k3 kernel_h=3 kernel_w=3)
    set(k3x5 kernel_h=3 kernel_w=5)
    set(k3x7 kernel_h=3 kernel_w=7)
    set(s1 stride_h=1 stride_w=1)
    set(k2s2 kernel_h=2 kernel_w=2 stride_h=2 stride_w=2)
    set(k3s2 ${k3} stride_h=2 stride_w=2)
    set(k4s2 kernel_h=4 kernel_w=4 stride_h=2 stride_w=2)
    set(k3s2p1 ${k3s2} padding_phase_h=1 padding_phase_w=1)
    set(k4s2p1 ${k4s2} padding_phase_h=1 padding_phase_w=1)
    set(k9s3 kernel_h=9 kernel_w=9 stride_h=3 stride_w=3)
    set(depthwise in_channels=1 out_channels=1)
    set(c32x32 in_channels=32 out_channels=32)
    set(c64x64 in_channels=64 out_channels=64)
    # KernelBench level 1, problems 75 and 81, but for their padding
    set(exact75 ${k3x5} stride_h=2 stride_w=3 dilation_h=2 in_channels=8 out_channels=16)
    set(exact81 ${k3} stride_h=5 stride_w=5 dilation_h=2 dilation_w=2 in_channels=32 out_channels=64)
    # Products of any attributes: tiles of so many channels
    set(product_c64 lanes_x=16 lanes_y=1 chunk=16 unroll_summed=16 MAX_REGISTERS 128)
    set(product_c64_blocks3 ${product_c64} blocks=3 MAX_REGISTERS 168)
    set(product_c32 lanes_x=16 lanes_y=2 lanes_channel=4 column_vectors=1 chunk=16 unroll_summed=16 blocks=5 MAX_REGISTERS 96)
    set(product_c16 lanes_x=16 lanes_y=2 lanes_channel=4 column_vectors=1 channel_vectors=1 chunk=16 blocks=8 MAX_REGISTERS 64)
    set(product_c64_split lanes_y=1 splits=4 chunk=32 blocks=2 MAX_REGISTERS 128)
    set(product_c32_split lanes_y=1 lanes_channel=4 column_vectors=1 splits=16 chunk=128 blocks=1 MAX_REGISTERS 96)
    # Threads of a gather with parts of a column, of which neighbouring taps see what they share once.
    set(columns2 part_axis=1 window=2)
    set(columns3 part_axis=1 window=3)
    include(${PROJECT_SOURCE_DIR}/generators/kernels/small_bfloat16.cmake)
    include(${PROJECT_SOURCE_DIR}/generators/kernels/beyond_small_set.cmake)
    # Tensor cores before CUDA cores: where their precision is allowed they are faster.
    foreach(section small cpu_forward volumes tensor_maps_channels_last tensor_maps_channels_first tensor_cores cuda_forward
            input_gradient weight_gradient gather packing)
        block()
            include(${PROJECT_SOURCE_DIR}/generators/kernels/${section}.cmake)
        endblock()
    endforeach()
    get_property(rows GLOBAL PROPERTY CONV_TRANSPOSE_ROW_NAMES)
    foreach(name IN LISTS conv_transpose_bfloat16_of_small_set conv_transpose_beyond_small_set)
        if(NOT name IN_LIST rows)
            message(FATAL_ERROR "a list of the small set in generators/kernels/ has ${name}, which is the name of no row")
        endif()
    endforeach()
endblock()
