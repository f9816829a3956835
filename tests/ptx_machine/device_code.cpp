// See device_code.h.
#include "device_code.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "ptx_program.h"

namespace ptx_machine {

namespace fs = std::filesystem;

namespace {

std::string read(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Its header tells its size.
std::string_view bytes_of(const void *fat_binary) {
    struct {
        uint32_t magic;
        uint16_t version, header_bytes;
        uint64_t bytes_after_header;
    } header;
    static_assert(sizeof header == 16);
    std::memcpy(&header, fat_binary, sizeof header);
    if (header.magic != 0xba55ed50) throw PtxError("what is to be loaded is no fat binary");
    return {static_cast<const char *>(fat_binary), header.header_bytes + header.bytes_after_header};
}

}  // namespace

DeviceCode find_code(const void *fat_binary, const std::string &folders, int compute_capability) {
    const std::string_view wanted = bytes_of(fat_binary);
    std::istringstream list(folders);
    for (std::string folder; std::getline(list, folder, ':');)
        for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
            if (entry.path().extension() != ".fatbin" || entry.file_size() != wanted.size() ||
                read(entry.path()) != wanted)
                continue;
            const std::string stem = (entry.path().parent_path() / entry.path().stem()).string();
            for (const char *features : {"a", ""}) {
                const fs::path text = stem + ".sm_" + std::to_string(compute_capability) + features + ".ptx";
                if (fs::exists(text)) return {text.stem().string(), read(text)};
            }
        }
    throw PtxError("no text for sm_" + std::to_string(compute_capability) +
                   " lies beside a copy of this fat binary in PTX_MACHINE_CODE, '" + folders + "'");
}

}  // namespace ptx_machine
