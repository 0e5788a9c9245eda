#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

namespace emulated {

/// The connections of one process of a communicator to all others, which are on the same machine: sockets in the
/// system's abstract names, so that nothing is left in any directory. Messages between two processes keep their order;
/// each is confirmed when it has been taken, so that a sender knows that somebody received it. All calls are made with
/// the runtime's mutex held, which guards everything here, but for close.
class Peers {
 public:
  Peers(std::string name, int rank, int size);
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  Peers(Peers&&) = delete;
  Peers& operator=(Peers&&) = delete;
  ~Peers() { close(); }

  /// Whether all have come.
  bool are_connected() const;
  /// Whether one has gone without a word.
  bool is_one_lost() const;
  void send(int peer, const std::byte* bytes, std::uint64_t size);
  std::uint64_t sent(int peer) const { return of(peer).sent; }
  std::uint64_t confirmed(int peer) const { return of(peer).confirmed; }
  /// The next message from a peer, or nullptr.
  const std::string* next(int peer) const;
  void take(int peer);
  /// Says goodbye to all.
  void leave();
  bool have_all_left() const;  ///< and have heard the same of this one
  /// Ends the thread and the connections. Without the mutex.
  void close();

 private:
  struct Peer {
    int socket = -1;
    bool is_known = false;  ///< has said who it is
    bool has_left = false;
    bool is_lost = false;
    std::string out;
    std::string in;
    std::deque<std::string> arrived;
    std::uint64_t sent = 0;
    std::uint64_t confirmed = 0;
  };

  Peer& of(int peer) { return peers_.at(static_cast<std::size_t>(peer)); }
  const Peer& of(int peer) const { return peers_.at(static_cast<std::size_t>(peer)); }
  void run();
  void connect_to_lower();
  void accept_higher();
  void read(Peer& peer);
  void understand(Peer& peer);
  void write(Peer& peer);
  void wake() const;

  std::string name_;
  int rank_;
  std::vector<Peer> peers_;
  int listener_ = -1;
  int wake_ = -1;
  std::atomic<bool> is_closing_{false};
  std::vector<int> unknown_;  ///< connected, and not yet said who they are
  std::thread thread_;
};

}  // namespace emulated
