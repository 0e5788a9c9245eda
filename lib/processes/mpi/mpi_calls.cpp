#include <array>
#include <string>

#include "base/error.hpp"
#include "processes/communicator.hpp"
#include "processes/mpi/mpi_abi.hpp"

namespace ckpt {

namespace {

template <class Abi>
std::string library_version() {
  std::array<char, MpiCalls<Abi>::longest_text> text{};
  int length = 0;
  MpiCalls<Abi>::instance().get_library_version(text.data(), &length);
  return text.data();
}

/// Returns "Open MPI v4.1.4" of "Open MPI v4.1.4, package: …", and "MPICH 4.0.2" of "MPICH Version:\t4.0.2\n…".
std::string short_version(const std::string& text) {
  std::string name = text.substr(0, text.find_first_of(",\n"));
  constexpr std::string_view word = " Version:\t";
  if (const std::size_t at = name.find(word); at != std::string::npos) name.replace(at, word.size(), " ");
  return name;
}

}  // namespace

template <class Abi>
void MpiCalls<Abi>::check(int status, const char* call) const {
  if (status == 0) return;
  std::array<char, longest_text> text{};
  int length = 0;
  if (error_string(status, text.data(), &length) != 0) length = 0;
  const std::string found =
      length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : "error " + std::to_string(status);
  throw Error(Kind::peer, call, {found, "", "was another process lost?"});
}

template struct MpiCalls<OpenMpiAbi>;
template struct MpiCalls<MpichAbi>;

std::string mpi_version() {
  if (!has_opened_mpi()) return "not loaded";
  return short_version(is_open_mpi() ? library_version<OpenMpiAbi>() : library_version<MpichAbi>());
}

}  // namespace ckpt
