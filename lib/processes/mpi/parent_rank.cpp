#include "processes/mpi/parent_rank.hpp"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>
#include <vector>

namespace ckpt {

namespace {

namespace fs = std::filesystem;

/// Variables that distinguish one process of a job or step from the others.
constexpr std::array identity{"PMIX_NAMESPACE", "PMIX_RANK",    "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                              "PALS_RANKID",    "SLURM_JOB_ID", "SLURM_STEP_ID",        "SLURM_PROCID"};

/// Variables with the address of the launcher's server, by version of PMIx.
constexpr std::array server_addresses{"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
                                      "PMIX_SERVER_URI2"};

constexpr int most_processes_above = 64;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the parent of a process; 0 if it is unknown.
std::uint64_t parent_of(const fs::path& process) {
  const std::string status = text_of(process / "status");
  constexpr std::string_view key = "\nPPid:\t";
  const std::size_t at = status.find(key);
  std::uint64_t parent = 0;
  if (at != std::string::npos) std::from_chars(status.data() + at + key.size(), status.data() + status.size(), parent);
  return parent;
}

/// Returns a variable from the environment with which a process was started.
std::optional<std::string> variable_in(const std::string& started_with, const std::string& name) {
  const std::string all = '\0' + started_with;
  const std::string key = '\0' + name + '=';
  const std::size_t at = all.find(key);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + key.size();
  return all.substr(begin, all.find('\0', begin) - begin);
}

bool has_same_place(const std::string& started_with, const LaunchEnvironment& environment) {
  bool has_any = false;
  for (const char* const name : identity) {
    const auto mine = environment.variable(name);
    if (mine != variable_in(started_with, name)) return false;
    has_any = has_any || (mine && std::strcmp(name, "SLURM_JOB_ID") != 0);
  }
  return has_any;
}

/// Returns "0100007F:9821" for "…;tcp4://127.0.0.1:38945", the system's form of a connection's other end; empty for
/// other addresses.
std::string other_end(const std::string& address) {
  const std::size_t scheme = address.find("://");
  const std::size_t colon = address.rfind(':');
  if (scheme == std::string::npos || colon <= scheme + 3) return "";
  std::string host = address.substr(scheme + 3, colon - scheme - 3);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  unsigned port = 0;
  std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  std::array<std::uint32_t, 4> words{};
  std::size_t used = 0;
  if (::inet_pton(AF_INET, host.c_str(), words.data()) == 1)
    used = 1;
  else if (::inet_pton(AF_INET6, host.c_str(), words.data()) == 1)
    used = words.size();
  std::array<char, 16> digits{};
  std::string end;
  for (std::size_t i = 0; i < used; ++i) {
    std::snprintf(digits.data(), digits.size(), "%08X", words[i]);
    end += digits.data();
  }
  std::snprintf(digits.data(), digits.size(), ":%04X", port);
  return used == 0 ? "" : end + digits.data();
}

/// Returns the inode numbers of the sockets that are connected to this end.
std::set<std::string> connected_sockets(const fs::path& proc, const std::string& end) {
  constexpr const char* established = "01";
  std::set<std::string> sockets;
  for (const char* const table : {"tcp", "tcp6"}) {
    std::istringstream lines(text_of(proc / "self/net" / table));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
      constexpr std::size_t remote = 2;
      constexpr std::size_t state = 3;
      constexpr std::size_t inode = 9;
      if (fields.size() > inode && fields[remote] == end && fields[state] == established)
        sockets.insert("socket:[" + fields[inode] + "]");
    }
  }
  return sockets;
}

bool has_open(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code error;
  for (fs::directory_iterator it(process / "fd", error), end; !error && it != end; it.increment(error)) {
    std::error_code unreadable;
    if (sockets.contains(fs::read_symlink(it->path(), unreadable).string())) return true;
  }
  return false;
}

std::set<std::string> sockets_to_server(const LaunchEnvironment& environment, const fs::path& proc) {
  for (const char* const name : server_addresses)
    if (const auto address = environment.variable(name)) {
      const std::string end = other_end(*address);
      return end.empty() ? std::set<std::string>{} : connected_sockets(proc, end);
    }
  return {};
}

}  // namespace

std::optional<ParentRank> parent_rank(const LaunchEnvironment& environment, const fs::path& proc) {
  std::optional<std::set<std::string>> sockets;  // a list of all connections takes the system long
  std::optional<ParentRank> nearest;
  std::uint64_t process = parent_of(proc / "self");
  for (int n = 0; process > 1 && n < most_processes_above; ++n) {
    const fs::path place = proc / std::to_string(process);
    if (!has_same_place(text_of(place / "environ"), environment)) break;
    if (!sockets) sockets = sockets_to_server(environment, proc);
    const ParentRank above{process, has_open(place, *sockets),
                           text_of(place / "maps").find("/libmpi") != std::string::npos};
    if (above.is_connected) return above;
    if (!nearest || (above.has_mpi && !nearest->has_mpi)) nearest = above;
    process = parent_of(place);
  }
  return nearest;
}

}  // namespace ckpt
