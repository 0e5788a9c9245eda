#include "exchange/nccl/nccl_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "base/buffer.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "exchange/device_exchange.hpp"
#include "exchange/exchange.hpp"
#include "exchange/nccl/copy_kernel.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

namespace {

/// Returns this process's GPU among those that it sees: by its rank on the node, or the only one that a launcher makes
/// visible. Throws io if there is none.
int own_gpu(const Communicator& processes) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) cudaGetLastError();  // else a later call that merely asks for the last error would find it
  if (status != cudaSuccess || count == 0)
    throw Error(Kind::io, "no GPU on this machine", {cudaGetErrorString(status), "", ""});
  return processes.local_rank() % count;
}

constexpr char has_gpu = '+';

/// Returns the identity of this process's GPU, which is unique in the world, or why it has none.
std::string survey(const Communicator& processes) {
  try {
    const int gpu = own_gpu(processes);
    nccl();  // a machine with a GPU and without NCCL has none that is of use
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
    return has_gpu + std::string(properties.uuid.bytes, sizeof properties.uuid.bytes);
  } catch (const Error& error) {
    return error.what();
  }
}

Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return Event(event);
}

class DeviceMemory final : public Device::Memory {
 public:
  explicit DeviceMemory(void* memory) : memory_(static_cast<std::byte*>(memory)) {}
  std::byte* data() const noexcept override { return memory_.get(); }

 private:
  Handle<DeviceMemoryTraits> memory_;
};

/// Host memory that the device accesses directly.
class PinnedMemory final : public Device::Memory {
 public:
  explicit PinnedMemory(Buffer buffer) : buffer_(std::move(buffer)), pin_(buffer_.data()) {}
  std::byte* data() const noexcept override { return buffer_.data(); }

 private:
  Buffer buffer_;
  Pin pin_;  // destroyed before the memory
};

/// Writes to each page of new memory, on `threads` threads: the system creates a page when it is first written to.
void populate(const Buffer& buffer, unsigned threads) {
  constexpr std::uint64_t page = 4096;
  constexpr std::uint64_t share = 32ULL << 20;
  for_each_in_parallel(threads, (buffer.size() + share - 1) / share, [&](std::uint64_t n) {
    const std::uint64_t end = std::min(buffer.size(), (n + 1) * share);
    for (std::uint64_t at = n * share; at < end; at += page) buffer.data()[at] = std::byte{0};
  });
}

/// Throws if `call` failed, with the number of bytes that it requested.
void check_memory(cudaError_t status, const char* call, std::uint64_t bytes, Advice::What advice) {
  check(status, (std::string(call) + " of " + format_bytes(bytes)).c_str(), {advice, ""});
}

}  // namespace

std::string why_no_nccl(Communicator& processes) {
  const auto found = processes.all_gather(survey(processes));
  const bool is_alone = found.size() == 1;
  std::map<std::string, std::size_t> user_of;
  for (std::size_t p = 0; p < found.size(); ++p) {
    if (found[p].front() != has_gpu) return is_alone ? found[p] : "process " + std::to_string(p) + ": " + found[p];
    const auto [other, is_new] = user_of.try_emplace(found[p], p);
    // With NCCL_HOSTID, NCCL takes two processes on one GPU for two machines; it is slow, but useful for tests.
    if (!is_new && std::getenv("NCCL_HOSTID") == nullptr)
      return "processes " + std::to_string(other->second) + " and " + std::to_string(p) +
             " would share a GPU, expected one for each";
  }
  return {};
}

/// A CUDA event. Until it is reached, each check also polls the links, whose failure may be the reason.
class NcclDevice::EventMark final : public Mark {
 public:
  EventMark(NcclDevice& device, Event event) : device_(device), event_(std::move(event)) {}
  bool is_reached() override {
    const cudaError_t status = cudaEventQuery(event_.get());
    if (status == cudaErrorNotReady) {
      cudaGetLastError();  // it counts as an error, which must not be returned as the last error later
      if (device_.comm_) device_.is_linked();
      return false;
    }
    check(status, "cudaEventQuery");
    return true;
  }

 private:
  NcclDevice& device_;
  Event event_;
};

NcclDevice::NcclDevice(int gpu, int rank, int size, unsigned threads)
    : gpu_(gpu), rank_(rank), size_(size), threads_(std::max(threads, 1U)) {
  check(cudaSetDevice(gpu_), "cudaSetDevice");
  check(load_copy_kernel(), "loading kernels (is the program built for this GPU, CMAKE_CUDA_ARCHITECTURES?)");
  check(resident_blocks(gpu_, blocks_), "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  for (Stream& each : streams_) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    each = Stream(stream);
  }
  for (Event& each : ends_) each = make_event();
}

NcclDevice::~NcclDevice() {
  if (is_finalized_ && comm_) nccl().comm_destroy(comm_.release());
}

/// cudaHostAlloc of 4 GiB takes 1.7 to 2.9 s, on one thread; this takes 0.2 s on 16 (tests/gpu/RESULTS.md).
std::unique_ptr<Device::Memory> NcclDevice::host_memory(std::uint64_t bytes) {
  Buffer buffer(bytes);
  populate(buffer, threads_);
  check_memory(cudaHostRegister(buffer.data(), bytes, cudaHostRegisterDefault), "cudaHostRegister", bytes,
               Advice::What::less_memory);
  return std::make_unique<PinnedMemory>(std::move(buffer));
}

std::unique_ptr<Device::Memory> NcclDevice::device_memory(std::uint64_t bytes) {
  void* memory = nullptr;
  check_memory(cudaMalloc(&memory, bytes), "cudaMalloc", bytes, Advice::What::less_device_memory);
  return std::make_unique<DeviceMemory>(memory);
}

void NcclDevice::upload(std::byte* device, const std::byte* host, std::uint64_t bytes) {
  check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream(Queue::up)), "cudaMemcpyAsync");
}

void NcclDevice::download(std::byte* host, const std::byte* device, std::uint64_t bytes) {
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream(Queue::down)), "cudaMemcpyAsync");
}

void NcclDevice::clear(Queue queue, std::byte* device, std::uint64_t bytes) {
  check(cudaMemsetAsync(device, 0, bytes, stream(queue)), "cudaMemsetAsync");
}

void NcclDevice::copy(Queue queue, std::byte* base, const CopyTableView& table) {
  check(start_copies(table, base, blocks_, stream(queue)), "starting copies");
}

/// The wait applies to the event as recorded here; recording it again does not change that. So one event for each queue
/// suffices.
void NcclDevice::follow(Queue later, Queue earlier) {
  cudaEvent_t end = ends_[static_cast<std::size_t>(earlier)].get();
  check(cudaEventRecord(end, stream(earlier)), "cudaEventRecord");
  check(cudaStreamWaitEvent(stream(later), end, 0), "cudaStreamWaitEvent");
}

std::unique_ptr<Device::Mark> NcclDevice::mark(Queue queue) {
  Event event = make_event();
  check(cudaEventRecord(event.get(), stream(queue)), "cudaEventRecord");
  return std::make_unique<EventMark>(*this, std::move(event));
}

std::string NcclDevice::invitation() {
  ncclUniqueId id{};
  check(nccl().unique_id(&id), "ncclGetUniqueId");
  return {id.internal, sizeof id.internal};
}

void NcclDevice::connect(const std::string& invitation) {
  ncclUniqueId id{};
  if (invitation.size() != sizeof id.internal)
    throw Error(
        Kind::peer, "an NCCL identifier",
        {format_bytes(invitation.size()), format_bytes(sizeof id.internal), "do all processes run the same version?"});
  std::memcpy(id.internal, invitation.data(), sizeof id.internal);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  const ncclResult_t status = nccl().comm_init(&comm, size_, id, rank_, &config);
  comm_ = NcclComm(comm);
  check(status, "ncclCommInitRankConfig");
}

/// Uses one group, so that all messages move at once. A call that fails must not leave it open.
void NcclDevice::exchange(const Messages& sends, const Messages& receives) {
  check(nccl().group_start(), "ncclGroupStart");
  ncclResult_t status = ncclSuccess;
  const auto is_well = [&] { return status == ncclSuccess || status == ncclInProgress; };
  for (const auto& [peer, bytes] : sends)
    if (is_well()) status = nccl().send(bytes.data(), bytes.size(), ncclInt8, peer, comm_.get(), stream(Queue::link));
  for (const auto& [peer, bytes] : receives)
    if (is_well())
      status = nccl().receive(bytes.data(), bytes.size(), ncclInt8, peer, comm_.get(), stream(Queue::link));
  const ncclResult_t ended = nccl().group_end();
  check(status, "ncclSend or ncclRecv");
  check(ended, "ncclGroupEnd");
}

void NcclDevice::disconnect() {
  check(nccl().comm_finalize(comm_.get()), "ncclCommFinalize");
  is_finalized_ = true;
}

bool NcclDevice::is_linked() {
  ncclResult_t state = ncclSuccess;
  check(nccl().comm_async_error(comm_.get(), &state), "ncclCommGetAsyncError");
  check(state, "NCCL");
  return state == ncclSuccess;
}

void NcclDevice::abort() noexcept {
  is_finalized_ = false;
  comm_.reset();
  cudaDeviceSynchronize();  // copies and kernels may still use memory that is about to be freed
}

std::unique_ptr<Exchange> nccl_exchange(Communicator& processes, const Staging& staging) {
  return device_exchange(processes, staging, "nccl", [&processes, threads = staging.threads] {
    return std::make_unique<NcclDevice>(own_gpu(processes), processes.rank(), processes.size(), threads);
  });
}

}  // namespace ckpt
