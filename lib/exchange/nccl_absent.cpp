#include "base/error.hpp"
#include "exchange/exchange.hpp"

// Replaces nccl/ in a build without CUDA.
namespace ckpt {

std::string why_no_nccl(Communicator& /*processes*/) {
  return "this build has no CUDA";
}

std::unique_ptr<Exchange> nccl_exchange(Communicator& processes, const Staging& /*staging*/) {
  throw Error(Kind::io, "exchange over NCCL", {why_no_nccl(processes), "", ""});
}

}  // namespace ckpt
