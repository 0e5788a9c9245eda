// CUDA and NCCL as the adapter (lib/exchange/nccl) calls them, played by the host and linked in place of the real ones.
// As in simulated_device.hpp, streams do their work bit by bit at random, when somebody asks for an event; a group of
// messages gets into its stream only when the communicator is no longer in progress.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "exchange/nccl/copy_kernel.hpp"
#include "host_grid.hpp"
#include "mpi/main.hpp"

using ckpt::Communicator;

struct CUstream_st {
  std::deque<std::function<bool()>> work;
};
struct CUevent_st {
  std::shared_ptr<bool> is_done = std::make_shared<bool>(true);
};
struct ncclComm {
  int polls = 3;  // until it is no longer in progress
  std::function<void()> then;
};

namespace {

std::set<cudaStream_t> streams;
std::mt19937_64 engine;
std::vector<Communicator::Message> sends;
std::vector<Communicator::Message> receives;
int group_depth = 0;
cudaStream_t group_stream = nullptr;
ncclComm_t group_comm = nullptr;

template <class Work>
cudaError_t put(cudaStream_t stream, Work work) {
  stream->work.push_back([work] {
    work();
    return true;
  });
  return cudaSuccess;
}

void step() {
  auto at = streams.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(engine() % streams.size()));
  auto& work = (*at)->work;
  if (!work.empty() && work.front()()) work.pop_front();
}

bool is_idle() {
  for (const auto* stream : streams)
    if (!stream->work.empty()) return false;
  return true;
}

ncclResult_t add(std::vector<Communicator::Message>& messages, const void* bytes, std::size_t size, int peer,
                 ncclComm_t comm, cudaStream_t stream) {
  if (group_depth == 0 || comm->polls != 0) return ncclInvalidUsage;
  messages.push_back({peer, {static_cast<std::byte*>(const_cast<void*>(bytes)), size}});
  group_stream = stream;
  group_comm = comm;
  return ncclSuccess;
}

}  // namespace

namespace ckpt {

cudaError_t start_copies(CopyTableView table, std::byte* base, unsigned blocks, cudaStream_t stream) noexcept {
  return blocks == 0 ? cudaErrorInvalidConfiguration : put(stream, [=] { run_on_host(table, base); });
}
cudaError_t load_copy_kernel() noexcept {
  return cudaSuccess;
}
cudaError_t resident_blocks(int /*device*/, unsigned& blocks) noexcept {
  blocks = 7;
  return cudaSuccess;
}

}  // namespace ckpt

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = ckpt::test_world().size();
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  properties->uuid.bytes[0] = static_cast<char>(device);
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return device == ckpt::test_world().local_rank() ? cudaSuccess : cudaErrorInvalidDevice;
}
const char* cudaGetErrorString(cudaError_t /*status*/) {
  return "played error";
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  streams.insert(*stream = new CUstream_st);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  streams.erase(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->is_done = std::make_shared<bool>(false);
  return put(stream, [flag = event->is_done] { *flag = true; });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  stream->work.push_back([flag = event->is_done] { return *flag; });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  for (int i = 0; i < 3; ++i) step();
  return *event->is_done ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaDeviceSynchronize() {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!is_idle() && std::chrono::steady_clock::now() < limit) step();
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*memory, 0xA5, bytes);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned /*flags*/) {
  std::memset(memory, 0xA5, bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* /*memory*/) {
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  return put(stream, [=] { std::memcpy(to, from, bytes); });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return put(stream, [=] { std::memset(to, value, bytes); });
}

const char* ncclGetErrorString(ncclResult_t /*status*/) {
  return "played error";
}
const char* ncclGetLastError(ncclComm_t /*comm*/) {
  return "";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memcpy(id->internal, "come", 5);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  const Communicator& world = ckpt::test_world();
  const bool is_right = size == world.size() && rank == world.rank() && config->blocking == 0;
  if (!is_right || std::strcmp(id.internal, "come") != 0) return ncclInvalidArgument;
  *comm = new ncclComm;
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = comm->polls > 0 && --comm->polls > 0 ? ncclInProgress : ncclSuccess;
  if (*state == ncclSuccess && comm->then) std::exchange(comm->then, {})();
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* bytes, std::size_t size, ncclDataType_t /*type*/, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(sends, bytes, size, peer, comm, stream);
}
ncclResult_t ncclRecv(void* bytes, std::size_t size, ncclDataType_t /*type*/, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(receives, bytes, size, peer, comm, stream);
}
ncclResult_t ncclGroupEnd() {
  --group_depth;
  group_comm->polls = 3;
  group_comm->then = [stream = group_stream, out = std::exchange(sends, {}), in = std::exchange(receives, {})] {
    stream->work.push_back([out, in, pending = std::shared_ptr<Communicator::Pending>()]() mutable {
      if (!pending) pending = ckpt::test_world().start(out, in);
      return pending->is_done();
    });
  };
  return ncclInProgress;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  comm->polls = 3;
  return is_idle() ? ncclInProgress : ncclInvalidUsage;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return ncclCommDestroy(comm);
}

}  // extern "C"
