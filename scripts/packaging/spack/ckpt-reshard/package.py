from spack.package import *


class CkptReshard(CMakePackage, CudaPackage):
    """Merges, splits and reshards model-parallel checkpoints (HDF5, safetensors, PyTorch, MindSpore), exactly.

    MPI is no dependency: the program opens the library of the launcher that starts it, so that one installation serves every MPI of a machine.
    """

    homepage = "https://ckpt-reshard.invalid"  # put in the address of your clone, here and in the next line
    git = "https://ckpt-reshard.invalid/ckpt-reshard.git"

    license("Apache-2.0")

    version("main", branch="main")

    variant("cuda", default=False, description="The exchange between GPUs over NCCL")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("cli11@2.1:2.4", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("fmt@9:")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("hdf5@1.10:1.14~mpi")
    depends_on("cuda@12.4:", when="+cuda")
    depends_on("nccl@2.18:", when="+cuda")

    conflicts("%gcc@:11", msg="C++20 as the sources use it needs GCC 12")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("CKPT_TESTS", False),
            self.define("CMAKE_UNITY_BUILD", True),
            self.define_from_variant("CKPT_CUDA", "cuda"),
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def shows_its_version(self):
        Executable(self.prefix.bin.ckpt)("--version")
