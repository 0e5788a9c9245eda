#pragma once

#include <nccl.h>

namespace ckpt {

/// NCCL's functions that are used here, from the library of this machine: a program that was built with NCCL's header
/// starts where there is none.
struct NcclCalls {
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetLastError) last_error;
  decltype(&ncclGetUniqueId) unique_id;
  decltype(&ncclCommInitRankConfig) comm_init;
  decltype(&ncclCommFinalize) comm_finalize;
  decltype(&ncclCommDestroy) comm_destroy;
  decltype(&ncclCommAbort) comm_abort;
  decltype(&ncclCommGetAsyncError) comm_async_error;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) receive;
};

/// Returns the functions. The first call opens the library: the file that CKPT_NCCL names, or libnccl.so.2. Throws io
/// if it cannot be opened, or is older than its header was.
const NcclCalls& nccl();

}  // namespace ckpt
