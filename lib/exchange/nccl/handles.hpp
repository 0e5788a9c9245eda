#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "base/advice.hpp"
#include "base/handle.hpp"
#include "exchange/nccl/nccl_calls.hpp"

namespace ckpt {

struct StreamTraits {
  using type = cudaStream_t;
  static type none() noexcept { return nullptr; }
  static void release(type stream) noexcept { cudaStreamDestroy(stream); }
};
using Stream = Handle<StreamTraits>;

struct EventTraits {
  using type = cudaEvent_t;
  static type none() noexcept { return nullptr; }
  static void release(type event) noexcept { cudaEventDestroy(event); }
};
using Event = Handle<EventTraits>;

struct DeviceMemoryTraits {
  using type = std::byte*;
  static type none() noexcept { return nullptr; }
  static void release(type memory) noexcept { cudaFree(memory); }
};

/// Host memory that is registered with CUDA, but owned elsewhere.
struct PinTraits {
  using type = std::byte*;
  static type none() noexcept { return nullptr; }
  static void release(type memory) noexcept { cudaHostUnregister(memory); }
};
using Pin = Handle<PinTraits>;

/// Aborts work in progress. Destroy a communicator that was finalized instead.
struct NcclCommTraits {
  using type = ncclComm_t;
  static type none() noexcept { return nullptr; }
  static void release(type comm) noexcept { nccl().comm_abort(comm); }
};
using NcclComm = Handle<NcclCommTraits>;

/// Throws io with CUDA's message if a call did not succeed: check(cudaSetDevice(0), "cudaSetDevice").
void check(cudaError_t status, const char* call, const Advice& advice = {});

/// Throws peer with NCCL's message. A call of a non-blocking communicator may still be in progress.
void check(ncclResult_t status, const char* call);

}  // namespace ckpt
