// Open MPI's header has no constants of handles: mpi_communicator's tests run with the objects themselves.
namespace ckpt {
struct OpenMpiAbi;
using Abi = OpenMpiAbi;
}  // namespace ckpt

#include "mpi/abi_checks.hpp"
