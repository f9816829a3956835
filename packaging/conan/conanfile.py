"""Recipe for Conan 2. From a clone: conan create packaging/conan

Kernels are compiled by Halide, which comes from PyPI (`pip install halide==21.0.0 cmake ninja`, in the environment in
which Conan runs), and for CUDA by the ptxas and fatbinary on the PATH.
"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class ConvTranspose(ConanFile):
    name = "conv-transpose"
    license = "MIT"
    description = "Scatter-free transposed convolutions, written in Halide"
    topics = ("transposed-convolution", "deconvolution", "cuda", "halide")
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "kernels": ["small", "full"], "cuda": [True, False]}
    default_options = {"shared": False, "kernels": "small", "cuda": True}
    package_type = "library"

    def set_version(self):
        project = load(self, os.path.join(self.recipe_folder, "..", "..", "CMakeLists.txt"))
        self.version = re.search(r"project\(ConvTranspose VERSION ([0-9.]+)", project).group(1)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for folder in ("algorithm", "cmake", "compiler", "generators", "python", "runtime", "schedules"):
            copy(self, f"{folder}/*", root, self.export_sources_folder)
        for file in ("CMakeLists.txt", "LICENSE", "packaging/LICENSE.Halide"):
            copy(self, file, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if (self.settings.os, self.settings.arch) != ("Linux", "x86_64"):
            raise ConanInvalidConfiguration(f"settings are {self.settings.os} and {self.settings.arch}, but kernels are made "
                                            "for Linux and x86_64")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "CONV_TRANSPOSE_TESTS": False, "CONV_TRANSPOSE_APPS": False,
            "CONV_TRANSPOSE_SHARED": bool(self.options.shared), "CONV_TRANSPOSE_KERNELS": str(self.options.kernels),
            "CONV_TRANSPOSE_CUDA": bool(self.options.cuda)})
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        import halide  # PyPI's, for its CMake files

        folder = os.path.dirname(halide.__file__)
        cmake = CMake(self)
        cmake.configure(variables={"CMAKE_PREFIX_PATH": folder,
                                   "Halide_DIR": os.path.join(folder, "lib64/cmake/Halide"),
                                   "HalideHelpers_DIR": os.path.join(folder, "lib64/cmake/HalideHelpers")})
        cmake.build(target="conv_transpose")

    def package(self):
        copy(self, "LICENSE*", self.source_folder, os.path.join(self.package_folder, "licenses"), keep_path=False)
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "ConvTranspose")
        self.cpp_info.set_property("cmake_target_name", "ConvTranspose::conv_transpose")
        self.cpp_info.set_property("pkg_config_name", "conv_transpose")
        self.cpp_info.libs = ["conv_transpose"]
        if not self.options.shared:
            self.cpp_info.system_libs = ["pthread", "dl", "m"]
