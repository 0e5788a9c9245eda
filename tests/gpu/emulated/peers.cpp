// The sockets between the processes of an emulated communicator.
#include "gpu/emulated/peers.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "gpu/emulated/runtime.hpp"

namespace emulated {

namespace {

enum class Kind : std::uint64_t { message = 1, confirmation, goodbye };

struct Header {
  Kind kind;
  std::uint64_t size;
};

void append(std::string& out, Kind kind, const std::byte* bytes, std::uint64_t size) {
  const Header header{kind, size};
  out.append(reinterpret_cast<const char*>(&header), sizeof header);
  if (size > 0) out.append(reinterpret_cast<const char*>(bytes), size);
}

struct Address {
  explicit Address(const std::string& name) {
    where.sun_family = AF_UNIX;
    std::memcpy(where.sun_path + 1, name.data(), std::min(name.size(), sizeof where.sun_path - 1));
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&where); }
  sockaddr_un where{};
  socklen_t size = 0;
};

int make_socket() {
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) misuse("no socket can be had");
  return made;
}

}  // namespace

Peers::Peers(std::string name, int rank, int size)
    : name_(std::move(name)), rank_(rank), peers_(static_cast<std::size_t>(size)) {
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  listener_ = make_socket();
  const Address address(name_ + "-" + std::to_string(rank_));
  if (bind(listener_, address.get(), address.size) != 0 || listen(listener_, size) != 0)
    misuse("two processes of a communicator are number " + std::to_string(rank));
  thread_ = std::thread([this] { run(); });
}

bool Peers::are_connected() const {
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer)
    if (peer != rank_ && !of(peer).is_known) return false;
  return true;
}

bool Peers::is_one_lost() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.is_lost; });
}

bool Peers::have_all_left() const {
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer)
    if (peer != rank_ && (!of(peer).has_left || !of(peer).out.empty())) return false;
  return true;
}

void Peers::send(int peer, const std::byte* bytes, std::uint64_t size) {
  append(of(peer).out, Kind::message, bytes, size);
  ++of(peer).sent;
  wake();
}

const std::string* Peers::next(int peer) const {
  return of(peer).arrived.empty() ? nullptr : &of(peer).arrived.front();
}

void Peers::take(int peer) {
  of(peer).arrived.pop_front();
  append(of(peer).out, Kind::confirmation, nullptr, 0);
  wake();
}

void Peers::leave() {
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer)
    if (peer != rank_) append(of(peer).out, Kind::goodbye, nullptr, 0);
  wake();
}

void Peers::close() {
  if (!thread_.joinable()) return;
  is_closing_ = true;
  wake();
  thread_.join();
  for (const Peer& peer : peers_)
    if (peer.socket >= 0) ::close(peer.socket);
  for (const int socket : unknown_) ::close(socket);
  ::close(listener_);
  ::close(wake_);
}

void Peers::wake() const {
  const std::uint64_t one = 1;
  if (::write(wake_, &one, sizeof one) < 0) return;  // it is awake
}

/// The lower ranks listen already, or will: it is tried again.
void Peers::connect_to_lower() {
  for (int peer = 0; peer < rank_; ++peer) {
    if (of(peer).socket >= 0) continue;
    const Address address(name_ + "-" + std::to_string(peer));
    const int made = make_socket();
    if (connect(made, address.get(), address.size) != 0) {
      ::close(made);
      continue;
    }
    if (::send(made, &rank_, sizeof rank_, MSG_NOSIGNAL) != sizeof rank_) misuse("a socket takes nothing");
    of(peer).socket = made;
    of(peer).is_known = true;
    runtime().changed.notify_all();
  }
}

void Peers::accept_higher() {
  const int made = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (made >= 0) unknown_.push_back(made);
}

void Peers::read(Peer& peer) {
  char bytes[1 << 16];
  for (;;) {
    const ssize_t size = recv(peer.socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size > 0) {
      peer.in.append(bytes, static_cast<std::size_t>(size));
      continue;
    }
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) peer.is_lost = true;
    break;
  }
  understand(peer);
  if (peer.has_left) peer.is_lost = false;
}

void Peers::understand(Peer& peer) {
  std::size_t at = 0;
  for (Header header{}; peer.in.size() - at >= sizeof header; at += sizeof header + header.size) {
    std::memcpy(&header, peer.in.data() + at, sizeof header);
    if (peer.in.size() - at < sizeof header + header.size) break;
    if (header.kind == Kind::message) peer.arrived.push_back(peer.in.substr(at + sizeof header, header.size));
    if (header.kind == Kind::confirmation) ++peer.confirmed;
    if (header.kind == Kind::goodbye) peer.has_left = true;
  }
  peer.in.erase(0, at);
}

void Peers::write(Peer& peer) {
  const ssize_t size = ::send(peer.socket, peer.out.data(), peer.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size > 0) peer.out.erase(0, static_cast<std::size_t>(size));
  if (size < 0 && errno != EAGAIN && errno != EINTR) peer.out.clear();  // reading finds that it has gone
}

void Peers::run() {
  constexpr int retry_ms = 2;
  std::unique_lock lock(runtime().mutex);
  while (!is_closing_) {
    connect_to_lower();
    std::vector<pollfd> waits{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const int socket : unknown_) waits.push_back({socket, POLLIN, 0});
    for (const Peer& peer : peers_)
      if (peer.socket >= 0 && !peer.is_lost && !peer.has_left)
        waits.push_back({peer.socket, static_cast<short>(peer.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      else if (peer.socket >= 0 && !peer.out.empty())
        waits.push_back({peer.socket, POLLOUT, 0});
    const bool is_waiting = !are_connected();
    lock.unlock();
    poll(waits.data(), waits.size(), is_waiting ? retry_ms : -1);
    lock.lock();
    std::uint64_t count = 0;
    if (::read(wake_, &count, sizeof count) < 0) count = 0;
    if (waits[1].revents != 0) accept_higher();
    std::vector<int> still_unknown;
    for (const int socket : unknown_) {
      int rank = -1;
      const ssize_t size = recv(socket, &rank, sizeof rank, MSG_DONTWAIT);
      if (size == sizeof rank && rank > rank_ && rank < static_cast<int>(peers_.size())) {
        of(rank).socket = socket;
        of(rank).is_known = true;
      } else if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        still_unknown.push_back(socket);
      } else {
        ::close(socket);
      }
    }
    unknown_ = std::move(still_unknown);
    for (Peer& peer : peers_) {
      if (peer.socket < 0) continue;
      if (!peer.out.empty()) write(peer);
      if (!peer.is_lost && !peer.has_left) read(peer);
    }
    runtime().changed.notify_all();
  }
}

}  // namespace emulated
