#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "processes/communicator.hpp"
#include "processes/mpi/mpi_abi.hpp"

namespace ckpt {

/// Every call of MPI is made under this lock: an MPI need not allow several threads at once.
std::timed_mutex& turn_at_mpi();

/// Finds out whether the other processes still run and can be reached. Once a second, a thread of its own exchanges a
/// small message with every process that this one watches, whatever else the processes do: process 0 and every other
/// one watch each other, and so do the first processes of all hosts, as a link may be down between two hosts alone. If
/// nothing comes from one of them for too long, `end_work` ends this process's work with an error that names it.
template <class Abi>
class Heartbeat {
 public:
  using Mpi = MpiCalls<Abi>;

  /// `processes` gives numbers, hosts and names; `comm` is its communicator.
  Heartbeat(const Communicator& processes, typename Mpi::Comm comm);
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  ~Heartbeat();
  /// Waits until all others leave, too; at once after `stop`. Returns what was lost, if anything.
  std::optional<Error> leave();

  /// Any message shows that a process is alive. Any thread.
  void hear(int peer) noexcept;
  /// No call of MPI is made from now on. Any thread.
  void stop() noexcept { is_stopped_ = true; }
  std::chrono::seconds patience() const noexcept { return std::chrono::seconds(patience_s_); }
  void set_patience(std::chrono::seconds patience) noexcept { patience_s_ = static_cast<int>(patience.count()); }
  using Work = Communicator::Work;
  void share(std::function<Work()> mine);
  Work shared() const;

 private:
  struct Beat {
    std::uint64_t is_last;
    Work work;
  };
  /// What this process knows of one that it watches.
  struct Peer {
    int rank;
    std::atomic<int> silent_s{0};
    bool has_left = false;
    Work work;    ///< under mutex_
    Beat beat{};  ///< in flight
    typename Mpi::Request request{};
    bool is_sending = false;
    bool is_told = false;  ///< that this process leaves
  };

  void run();
  bool is_leaving_within(std::chrono::milliseconds pause);
  void beat(bool is_last);
  void listen();
  void judge();
  bool is_between_others(const Peer& peer) const;
  int limit_of(const Peer& peer) const;
  [[noreturn]] void give_up(const Peer& peer) const;
  bool is_over() const;
  Peer* of(int rank) noexcept;

  const Mpi& mpi_ = Mpi::instance();
  const Communicator& processes_;
  typename Mpi::Comm comm_;
  std::deque<Peer> peers_;  ///< whom this process watches, by rank
  std::atomic<int> patience_s_;
  std::atomic<bool> is_stopped_{false};
  std::optional<Error> lost_;  ///< the thread's, until it ends
  mutable std::mutex mutex_;   ///< guards the next two, and Peer::work
  std::function<Work()> mine_;
  bool is_leaving_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace ckpt
