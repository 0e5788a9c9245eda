// The functions of the CUDA runtime that lib/exchange/nccl calls.
#include <cuda_runtime_api.h>

#include <cstring>

#include "gpu/emulated/memory.hpp"
#include "gpu/emulated/runtime.hpp"
#include "gpu/emulated/streams.hpp"

using namespace emulated;

namespace {

constexpr int garbage = 0x3C;
constexpr unsigned copying_us = 60;

/// What a copy is on its way to is worth nothing until it is done: a device writes in any order. It also reads late.
void copy_late(std::byte* to, const std::byte* from, std::uint64_t bytes, std::mt19937_64& engine) {
  std::memset(to, garbage, bytes);
  const std::uint64_t half = bytes / 2;
  std::memcpy(to + half, from + half, bytes - half);
  sleep_up_to(engine, copying_us);
  std::memcpy(to, from, half);
}

std::byte* reach_now(const Range& range, const char* what) {
  const std::lock_guard lock(runtime().mutex);
  return reach(range, what);
}

cudaError_t upload(const Range& to, const Range& from, cudaStream_t stream) {
  allocation_of(to, "cudaMemcpyAsync to the device");
  expect_registered(from, "cudaMemcpyAsync to the device");
  put(stream, {"a copy to the device",
               {to, from},
               [to, from](CUstream_st& self) {
                 copy_late(reach_now(to, "a copy to the device"), from.begin, from.bytes, self.engine);
               },
               {}});
  return cudaSuccess;
}

cudaError_t download(const Range& to, const Range& from, cudaStream_t stream) {
  allocation_of(from, "cudaMemcpyAsync from the device");
  expect_registered(to, "cudaMemcpyAsync from the device");
  put(stream, {"a copy from the device",
               {to, from},
               [to, from](CUstream_st& self) {
                 copy_late(const_cast<std::byte*>(to.begin), reach_now(from, "a copy from the device"), from.bytes,
                           self.engine);
               },
               {}});
  return cudaSuccess;
}

Range range_of(const void* begin, std::size_t bytes) {
  return {static_cast<const std::byte*>(begin), bytes};
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  Call call("cudaGetDeviceCount");
  *count = 0;
  if (const auto error = call.refusal(cudaErrorNoDevice)) return *error;
  *count = runtime().plan.devices;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  Call call("cudaGetDeviceProperties");
  if (const auto error = call.refusal(cudaErrorInvalidDevice)) return *error;
  if (device < 0 || device >= runtime().plan.devices) return answer(cudaErrorInvalidDevice);
  *properties = {};
  properties->uuid.bytes[0] = static_cast<char>(device);
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  Call call("cudaSetDevice");
  if (const auto error = call.refusal(cudaErrorDevicesUnavailable)) return *error;
  return answer(device < 0 || device >= runtime().plan.devices ? cudaErrorInvalidDevice : cudaSuccess);
}

const char* cudaGetErrorString(cudaError_t status) {
  switch (status) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorHostMemoryAlreadyRegistered:
      return "part or all of the requested memory range is already mapped";
    default:
      return "an error of the emulated GPU";
  }
}

cudaError_t cudaGetLastError() {
  Call call("cudaGetLastError");
  Runtime& all = runtime();
  return std::exchange(all.last, all.broken);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int /*device*/) {
  Call call("cudaDeviceGetAttribute");
  if (const auto error = call.refusal(cudaErrorInvalidValue)) return *error;
  if (attribute != cudaDevAttrMultiProcessorCount) misuse("cudaDeviceGetAttribute of what is not emulated");
  *value = 3;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  Call call("cudaDeviceSynchronize");
  if (const auto error = call.refusal(cudaErrorIllegalAddress)) return *error;
  runtime().is_synchronizing = true;
  runtime().changed.notify_all();
  runtime().changed.wait(call.lock(), [] { return are_all_idle() || runtime().is_broken(); });
  runtime().is_synchronizing = false;
  return answer(runtime().broken);
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  Call call("cudaMalloc");
  if (const auto error = call.refusal(cudaErrorMemoryAllocation)) return *error;
  return answer(allocate(memory, bytes));
}

cudaError_t cudaFree(void* memory) {
  Call call("cudaFree");
  if (const auto error = call.refusal(cudaErrorIllegalAddress)) return *error;
  return answer(free_memory(memory));
}

cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned /*flags*/) {
  Call call("cudaHostRegister");
  if (const auto error = call.refusal(cudaErrorMemoryAllocation)) return *error;
  if (call.is_forgotten(Plant::unregistered)) return cudaSuccess;
  return answer(register_memory(memory, bytes));
}

cudaError_t cudaHostUnregister(void* memory) {
  Call call("cudaHostUnregister");
  if (const auto error = call.refusal(cudaErrorIllegalAddress)) return *error;
  return answer(unregister_memory(memory));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  Call call("cudaStreamCreateWithFlags");
  if (const auto error = call.refusal(cudaErrorMemoryAllocation)) return *error;
  if (flags != cudaStreamNonBlocking) misuse("a stream that waits for the default one is not emulated");
  *stream = make_stream();
  return cudaSuccess;
}

/// CUDA would let the work come to its end. Here nobody who ends a stream may still have work in it: its memory goes
/// next.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Call call("cudaStreamDestroy");
  if (const auto error = call.refusal(cudaErrorIllegalAddress)) return *error;
  expect_stream(stream, "cudaStreamDestroy");
  if (!stream->queue.empty())
    misuse("cudaStreamDestroy of a stream that is not done with " + std::string(stream->queue.front().what));
  end_stream(stream, call.lock());
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  Call call("cudaEventCreateWithFlags");
  if (const auto error = call.refusal(cudaErrorMemoryAllocation)) return *error;
  *event = make_event();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Call call("cudaEventDestroy");
  if (const auto error = call.refusal(cudaErrorIllegalAddress)) return *error;
  expect_event(event, "cudaEventDestroy");
  end_event(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Call call("cudaEventRecord");
  if (const auto error = call.refusal(cudaErrorIllegalAddress)) return *error;
  expect_event(event, "cudaEventRecord");
  expect_stream(stream, "cudaEventRecord");
  if (call.is_forgotten(Plant::record)) return cudaSuccess;
  if (call.hangs()) put_hanging(stream);
  event->is_reached = std::make_shared<bool>(false);
  put(stream, {"an event", {}, {}, [flag = event->is_reached] { *flag = true; }});
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  Call call("cudaStreamWaitEvent");
  if (const auto error = call.refusal(cudaErrorIllegalAddress)) return *error;
  expect_event(event, "cudaStreamWaitEvent");
  expect_stream(stream, "cudaStreamWaitEvent");
  if (call.is_forgotten(Plant::wait) || (call.is_forgotten(Plant::wait_link) && stream->number == 1) ||
      (call.is_forgotten(Plant::wait_down) && stream->number == 2))
    return cudaSuccess;
  if (call.hangs()) put_hanging(stream);
  put(stream, {"a wait for an event",
               {},
               [flag = event->is_reached](CUstream_st& self) {
                 std::unique_lock lock(runtime().mutex);
                 self.wait(lock, [&] { return *flag; });
               },
               {}});
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  Call call("cudaEventQuery");
  if (const auto error = call.refusal(cudaErrorIllegalAddress)) return *error;
  expect_event(event, "cudaEventQuery");
  if (call.is_forgotten(Plant::query)) return cudaSuccess;
  if (*event->is_reached) return cudaSuccess;
  ++runtime().queries;
  runtime().changed.notify_all();
  return answer(cudaErrorNotReady);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  Call call("cudaMemcpyAsync");
  if (const auto error = call.refusal(cudaErrorIllegalAddress)) return *error;
  expect_stream(stream, "cudaMemcpyAsync");
  if (call.hangs()) put_hanging(stream);
  if (bytes == 0) return cudaSuccess;
  if (kind == cudaMemcpyHostToDevice) return upload(range_of(to, bytes), range_of(from, bytes), stream);
  if (kind == cudaMemcpyDeviceToHost) return download(range_of(to, bytes), range_of(from, bytes), stream);
  misuse("cudaMemcpyAsync of a kind that is not emulated");
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  Call call("cudaMemsetAsync");
  if (const auto error = call.refusal(cudaErrorIllegalAddress)) return *error;
  expect_stream(stream, "cudaMemsetAsync");
  if (call.hangs()) put_hanging(stream);
  if (bytes == 0) return cudaSuccess;
  const Range range = range_of(to, bytes);
  allocation_of(range, "cudaMemsetAsync");
  put(stream, {"cudaMemsetAsync",
               {range},
               [range, value](CUstream_st&) { std::memset(reach_now(range, "cudaMemsetAsync"), value, range.bytes); },
               {}});
  return cudaSuccess;
}

}  // extern "C"
