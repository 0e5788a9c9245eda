#include "base/error.hpp"
#include "exchange/nccl/handles.hpp"

namespace ckpt {

void check(cudaError_t status, const char* call, const Advice& advice) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // otherwise a later call that asks for the last error would find this one
  throw Error(Kind::io, call, {cudaGetErrorString(status), "", "", advice});
}

void check(ncclResult_t status, const char* call) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  std::string found = nccl().error_string(status);
  if (const std::string last = nccl().last_error(nullptr); !last.empty()) found += " (" + last + ")";
  throw Error(Kind::peer, call, {found, "", "NCCL_DEBUG=WARN tells more"});
}

}  // namespace ckpt
