namespace ckpt {
struct MpichAbi;
using Abi = MpichAbi;
}  // namespace ckpt

#include "mpi/abi_checks.hpp"

namespace ckpt {

static_assert(static_cast<int>(Abi::world) == MPI_COMM_WORLD);
static_assert(static_cast<int>(Abi::self) == MPI_COMM_SELF);
static_assert(static_cast<int>(Abi::errors_return) == MPI_ERRORS_RETURN);
static_assert(static_cast<int>(Abi::byte) == MPI_BYTE);
static_assert(static_cast<int>(Abi::uint64) == MPI_UINT64_T);
static_assert(static_cast<int>(Abi::sum) == MPI_SUM);
static_assert(static_cast<int>(Abi::max) == MPI_MAX);
static_assert(static_cast<int>(Abi::no_info) == MPI_INFO_NULL);

}  // namespace ckpt
