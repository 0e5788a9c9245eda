#include "exchange/nccl/gpus.hpp"

#include <cstdlib>
#include <map>
#include <string>

#include "base/error.hpp"
#include "exchange/exchange.hpp"
#include "exchange/nccl/handles.hpp"

namespace ckpt {

namespace {

constexpr char has_gpu = '+';

/// Returns the identity of this process's GPU, which is unique in the world, or why it has none.
std::string survey(const Communicator& processes) {
  try {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, own_gpu(processes)), "cudaGetDeviceProperties");
    return has_gpu + std::string(properties.uuid.bytes, sizeof properties.uuid.bytes);
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

int own_gpu(const Communicator& processes) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) cudaGetLastError();  // else a later call that merely asks for the last error would find it
  if (status != cudaSuccess || count == 0)
    throw Error(Kind::io, "no GPU on this machine", {cudaGetErrorString(status), "", ""});
  return processes.local_rank() % count;
}

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

}  // namespace ckpt
