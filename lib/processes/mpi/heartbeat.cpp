#include "processes/mpi/heartbeat.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/backoff.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"

namespace ckpt {

namespace {

constexpr int beat_tag = 3;
constexpr std::chrono::seconds interval(1);
constexpr int warned_after_s = 30;

/// Whom a process watches, ascending.
std::vector<int> watched_by(int rank, const Communicator& processes) {
  std::vector<bool> is_first;  // of its host
  std::uint32_t hosts = 0;
  for (const std::uint32_t host : host_numbers(processes)) {
    is_first.push_back(host == hosts);
    if (is_first.back()) ++hosts;
  }
  std::vector<int> watched;
  for (int other = 0; other < processes.size(); ++other) {
    const bool are_first = is_first[static_cast<std::size_t>(rank)] && is_first[static_cast<std::size_t>(other)];
    if (other != rank && (other == 0 || rank == 0 || are_first)) watched.push_back(other);
  }
  return watched;
}

}  // namespace

std::timed_mutex& turn_at_mpi() {
  static std::timed_mutex turn;
  return turn;
}

template <class Abi>
Heartbeat<Abi>::Heartbeat(const Communicator& processes, typename Mpi::Comm comm)
    : processes_(processes), comm_(comm), patience_s_(static_cast<int>(Communicator::default_patience.count())) {
  for (const int rank : watched_by(processes_.rank(), processes_)) peers_.emplace_back(rank);
  thread_ = std::thread([this] { run(); });
}

template <class Abi>
Heartbeat<Abi>::~Heartbeat() {
  stop();
  leave();
}

template <class Abi>
std::optional<Error> Heartbeat<Abi>::leave() {
  {
    const std::lock_guard lock(mutex_);
    is_leaving_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  return lost_;
}

template <class Abi>
typename Heartbeat<Abi>::Peer* Heartbeat<Abi>::of(int rank) noexcept {
  const auto found = std::ranges::lower_bound(peers_, rank, {}, &Peer::rank);
  return found != peers_.end() && found->rank == rank ? &*found : nullptr;
}

template <class Abi>
void Heartbeat<Abi>::hear(int peer) noexcept {
  if (Peer* const it = of(peer)) it->silent_s = 0;
}

template <class Abi>
void Heartbeat<Abi>::share(std::function<Work()> mine) {
  const std::lock_guard lock(mutex_);
  mine_ = std::move(mine);
}

template <class Abi>
Communicator::Work Heartbeat<Abi>::shared() const {
  const std::lock_guard lock(mutex_);
  Work sum = mine_ ? mine_() : Work();
  for (const Peer& peer : peers_) {
    sum.done += peer.work.done;
    sum.total += peer.work.total;
  }
  return sum;
}

template <class Abi>
bool Heartbeat<Abi>::is_leaving_within(std::chrono::milliseconds pause) {
  std::unique_lock lock(mutex_);
  return wake_.wait_for(lock, pause, [this] { return is_leaving_; });
}

/// Time is counted in beats of this process: when all have been suspended, nobody was silent.
template <class Abi>
void Heartbeat<Abi>::run() {
  using Clock = std::chrono::steady_clock;
  try {
    while (!is_leaving_within(interval) && !is_stopped_) {
      beat(false);
      listen();
      judge();
    }
    Backoff pause;
    for (auto next = Clock::now() + interval; !is_stopped_; std::this_thread::sleep_for(pause.next())) {
      beat(true);
      listen();
      if (is_over()) return;
      if (Clock::now() < next) continue;
      judge();
      next = Clock::now() + interval;
    }
  } catch (const Error& error) {
    lost_ = error;
  } catch (const std::exception& error) {  // no memory
    lost_ = Error(Kind::io, "the processes' signs of life", {error.what(), "", ""});
  }
  if (lost_) end_work(*lost_);
}

/// Sends a message, unless the one before it is still on its way; the last message is always sent.
template <class Abi>
void Heartbeat<Abi>::beat(bool is_last) {
  const Work mine = processes_.rank() == 0 ? Work() : shared();
  const std::lock_guard turn(turn_at_mpi());
  if (is_stopped_) return;
  for (Peer& peer : peers_) {
    int is_sent = 1;
    if (peer.is_sending) mpi_.check(mpi_.test(&peer.request, &is_sent, mpi_.no_status()), "MPI_Test");
    peer.is_sending = is_sent == 0;
    if (peer.is_sending || peer.is_told) continue;
    peer.beat = {is_last ? 1U : 0U, peer.rank == 0 ? mine : Work()};
    mpi_.check(mpi_.isend(&peer.beat, sizeof(Beat), mpi_.byte, peer.rank, beat_tag, comm_, &peer.request), "MPI_Isend");
    peer.is_sending = true;
    peer.is_told = is_last;
  }
}

template <class Abi>
void Heartbeat<Abi>::listen() {
  const std::lock_guard turn(turn_at_mpi());
  if (is_stopped_) return;
  while (true) {
    int is_there = 0;
    typename Mpi::Status status{};
    mpi_.check(mpi_.iprobe(Abi::any_source, beat_tag, comm_, &is_there, &status), "MPI_Iprobe");
    if (is_there == 0) return;
    Beat beat{};
    mpi_.check(mpi_.recv(&beat, sizeof beat, mpi_.byte, status.source, beat_tag, comm_, mpi_.no_status()), "MPI_Recv");
    Peer* const peer = of(status.source);
    if (peer == nullptr) continue;
    peer->silent_s = 0;
    {
      const std::lock_guard lock(mutex_);
      peer->work = beat.work;
    }
    peer->has_left = beat.is_last != 0;
  }
}

template <class Abi>
bool Heartbeat<Abi>::is_between_others(const Peer& peer) const {
  return peer.rank != 0 && processes_.rank() != 0;
}

/// One error is enough: of a lost host process 0 speaks, of a lost link the lower rank, and they end the others.
template <class Abi>
int Heartbeat<Abi>::limit_of(const Peer& peer) const {
  if (!is_between_others(peer)) return patience_s_ + std::min(processes_.local_rank(), 4);
  return patience_s_ + (processes_.rank() < peer.rank ? 2 : 4);
}

template <class Abi>
void Heartbeat<Abi>::judge() {
  for (Peer& peer : peers_) {
    if (peer.has_left) continue;
    const int silent = ++peer.silent_s;
    if (silent == warned_after_s && silent < limit_of(peer))
      log::warn("no progress for {} s: waiting for {}", silent, processes_.name_of(peer.rank));
    if (silent > limit_of(peer)) give_up(peer);
  }
}

template <class Abi>
void Heartbeat<Abi>::give_up(const Peer& peer) const {
  const std::string where = is_between_others(peer) ? " at " + processes_.name_of(processes_.rank()) : "";
  throw Error(Kind::peer, processes_.name_of(peer.rank),
              {"nothing has come from it" + where + " for " + std::to_string(patience_s_) + " s",
               "",
               is_between_others(peer) ? "is the network between the two down?"
                                       : "is its host down, its network, or was the process stopped?",
               {Advice::What::more_patience, ""}});
}

template <class Abi>
bool Heartbeat<Abi>::is_over() const {
  return std::all_of(peers_.begin(), peers_.end(),
                     [](const Peer& peer) { return peer.has_left && peer.is_told && !peer.is_sending; });
}

template class Heartbeat<OpenMpiAbi>;
template class Heartbeat<MpichAbi>;

}  // namespace ckpt
