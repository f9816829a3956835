# Finds ptxas and fatbinary: in PyPI's nvidia-cuda-nvcc, which ./run installs where there is no recent CUDA Toolkit, or
# in a CUDA Toolkit. Without them only CPU kernels are built.
file(GLOB assembler_from_pypi ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu*)
foreach(tool ptxas fatbinary)
    string(TOUPPER CONV_TRANSPOSE_${tool} variable)
    find_program(${variable} ${tool} HINTS ${assembler_from_pypi} ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
                 PATH_SUFFIXES bin)
endforeach()
set(found OFF)
if(CONV_TRANSPOSE_PTXAS AND CONV_TRANSPOSE_FATBINARY)
    set(found ON)
endif()
option(CONV_TRANSPOSE_CUDA "Build CUDA kernels" ${found})
if(CONV_TRANSPOSE_CUDA AND NOT found)
    message(FATAL_ERROR "CONV_TRANSPOSE_CUDA is ON, but ptxas or fatbinary was not found: set CUDA_HOME, or turn it OFF")
endif()
if(NOT CONV_TRANSPOSE_CUDA)
    message(STATUS "Building for the CPU only: no CUDA kernels")
endif()
