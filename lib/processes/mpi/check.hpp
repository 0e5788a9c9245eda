#pragma once

#include <mpi.h>

namespace ckpt {

/// Throws a peer error with MPI's message if a call did not succeed: check(MPI_Barrier(comm), "MPI_Barrier").
void check(int status, const char* call);

}  // namespace ckpt
