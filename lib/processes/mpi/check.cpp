#include "processes/mpi/check.hpp"

#include <array>
#include <string>

#include "base/error.hpp"

namespace ckpt {

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(status, text.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string found =
      length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : "error " + std::to_string(status);
  throw Error(Kind::peer, call, {found, "", "was another process lost?"});
}

}  // namespace ckpt
