// Finds the PTX text that a fat binary was made of: conv_transpose_generate --keep-device-code leaves both
// side by side.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_DEVICE_CODE_H
#define CONV_TRANSPOSE_PTX_MACHINE_DEVICE_CODE_H

#include <string>

namespace ptx_machine {

/// `folders` are separated by colons. Among several texts for GPUs of this compute capability, such as 90, the
/// one with most features is taken. Throws PtxError where there is none.
struct DeviceCode {
    std::string name;  ///< of the kernel and the GPU, such as forward_f32_cuda_gather_any_any.sm_90
    std::string text;
};
DeviceCode find_code(const void *fat_binary, const std::string &folders, int compute_capability);

}  // namespace ptx_machine

#endif
