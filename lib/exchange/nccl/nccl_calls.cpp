#include "exchange/nccl/nccl_calls.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "base/error.hpp"

namespace ckpt {

namespace {

constexpr const char* remedy = "give NCCL's library: CKPT_NCCL=/path/to/libnccl.so.2, or its folder in LD_LIBRARY_PATH";

/// The library is global, so that a tool's own version of a function (LD_PRELOAD), or a test's, comes before its.
void open_nccl() {
  if (::dlsym(RTLD_DEFAULT, "ncclGetUniqueId") != nullptr) return;
  const char* const chosen = std::getenv("CKPT_NCCL");  // NOLINT(concurrency-mt-unsafe): before any thread is started
  if (::dlopen(chosen != nullptr ? chosen : "libnccl.so.2", RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  const char* const failure = ::dlerror();  // NOLINT(concurrency-mt-unsafe): as above
  throw Error(Kind::io, "NCCL", {failure != nullptr ? failure : "it cannot be opened", "", remedy});
}

template <class Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));  // NOLINT: that is how dlsym is meant
  if (function == nullptr) throw Error(Kind::io, "NCCL", {"the library lacks " + std::string(name), "", remedy});
}

NcclCalls found_calls() {
  open_nccl();
  NcclCalls calls{};
  find(calls.error_string, "ncclGetErrorString");
  find(calls.last_error, "ncclGetLastError");
  find(calls.unique_id, "ncclGetUniqueId");
  find(calls.comm_init, "ncclCommInitRankConfig");
  find(calls.comm_finalize, "ncclCommFinalize");
  find(calls.comm_destroy, "ncclCommDestroy");
  find(calls.comm_abort, "ncclCommAbort");
  find(calls.comm_async_error, "ncclCommGetAsyncError");
  find(calls.group_start, "ncclGroupStart");
  find(calls.group_end, "ncclGroupEnd");
  find(calls.send, "ncclSend");
  find(calls.receive, "ncclRecv");
  return calls;
}

}  // namespace

const NcclCalls& nccl() {
  static const NcclCalls calls = found_calls();
  return calls;
}

}  // namespace ckpt
