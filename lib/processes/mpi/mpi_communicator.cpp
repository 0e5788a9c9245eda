#include "processes/mpi/mpi_communicator.hpp"

#include <sysexits.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <limits>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "base/backoff.hpp"
#include "base/error.hpp"
#include "base/host_name.hpp"
#include "base/interrupt.hpp"
#include "base/late_notice.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"

namespace ckpt {

namespace {

constexpr int small_tag = 0;  // of all_to_all; no message may match another kind's
constexpr int bulk_tag = 1;
constexpr int alarm_tag = 2;

/// Messages of this size are posted together: a piece that arrives shows that its sender is alive.
constexpr std::uint64_t near_piece_bytes = 1ULL << 20;
constexpr std::uint64_t far_piece_bytes = 256ULL << 10;  // between hosts

/// Lets Open MPI's TCP send from where the data lies (1 + 8), and put nothing, and send whole pieces at once ("eager").
/// A put, or a larger piece, waits for the receiver's consent, which waits behind all that the receiver itself sends:
/// the two directions of a link would take turns. Respects a choice of the user. The parameters:
/// `ompi_info --param btl tcp --level 9`.
void let_tcp_go_both_ways() {
  constexpr std::uint64_t most_header = 4096;
  setenv("OMPI_MCA_btl_tcp_flags", "9", 0);
  setenv("OMPI_MCA_btl_tcp_eager_limit", std::to_string(far_piece_bytes + most_header).c_str(), 0);
}

/// After a signal, processes that wait for one another have this long to agree on it: the others usually get it, too.
constexpr std::chrono::seconds agreement_time(2);

/// Throws what `check_interrupt` does, in case of a signal `grace` after the first call that has found it: all waits
/// together have that long, so that processes which get a signal together give up together.
void check_interrupt_after(std::chrono::seconds grace) {
  using Clock = std::chrono::steady_clock;
  static std::optional<Clock::time_point> found;  // one thread waits
  if (is_interrupted() && !found) found = Clock::now();
  if (!found || Clock::now() >= *found + grace) check_interrupt();
}

/// Waits until `is_done()`, or throws what `check_interrupt_after` does. Processes wait for one another here: MPI would
/// keep a processor busy, which this process's own threads, or the process that is waited for, may need. If they share
/// too few (`is_crowded`), it surely does.
template <class IsDone>
void poll_until(std::chrono::seconds grace, bool is_crowded, const IsDone& is_done) {
  const int tries = is_crowded ? 1 : 100;  // some tens of microseconds
  Backoff pause(std::chrono::microseconds(is_crowded ? 400 : 100));
  for (int n = 0; !is_done(); ++n) {
    check_interrupt_after(grace);
    if (n >= tries) std::this_thread::sleep_for(pause.next());
  }
}

}  // namespace

/// The first message of all_to_all to each process: the size of the content, and the content itself if it is small. All
/// agreements of a round are small, except for its requests.
struct Envelope {
  std::uint64_t bytes = 0;
  std::array<char, 24> content{};

  bool is_whole() const noexcept { return bytes <= content.size(); }
};

/// Messages in progress. MPI cannot cancel a half-received one, so that in a failing run the buffers must outlive it:
/// the requests are then left to the end of the job.
template <class Abi>
class MpiCommunicator<Abi>::Requests final : public Communicator::Pending {
 public:
  explicit Requests(MpiCommunicator& processes) : processes_(processes) {}

  typename Mpi::Request* add(int peer) {
    peers_.push_back(peer);
    return &requests_.emplace_back();
  }

  bool is_done() override {
    if (left_ == 0) return true;
    int count = 0;
    {
      const std::lock_guard turn(turn_at_mpi());
      done_.resize(requests_.size());
      statuses_.resize(requests_.size());
      const int result =
          mpi_.testsome(static_cast<int>(requests_.size()), requests_.data(), &count, done_.data(), statuses_.data());
      if (result == Abi::error_in_status)
        for (std::size_t i = 0; i < static_cast<std::size_t>(std::max(count, 0)); ++i)
          mpi_.check(statuses_[i].error, "MPI_Testsome");
      mpi_.check(result, "MPI_Testsome");
    }
    for (int i = 0; i < count; ++i)
      processes_.heartbeat_->hear(peers_[static_cast<std::size_t>(done_[static_cast<std::size_t>(i)])]);
    left_ -= static_cast<std::size_t>(count);
    return left_ == 0;
  }

  void wait() override { wait_within(std::chrono::seconds(0)); }
  void wait_within(std::chrono::seconds grace) {
    processes_.wait(grace, [this] { return is_done(); });
  }
  void begin() { left_ = requests_.size(); }

 private:
  MpiCommunicator& processes_;
  const Mpi& mpi_ = Mpi::instance();
  std::vector<typename Mpi::Request> requests_;
  std::vector<int> peers_;
  std::vector<int> done_;
  std::vector<typename Mpi::Status> statuses_;
  std::size_t left_ = 0;
};

/// Starts MPI unless it is running; returns whether this call started it.
template <class Abi>
bool MpiCommunicator<Abi>::start_mpi() {
  int running = 0;
  mpi_.check(mpi_.initialized(&running), "MPI_Initialized");
  if (running != 0) return false;
  let_tcp_go_both_ways();
  int given = mpi_.thread_single;
  mpi_.check(mpi_.init_thread(nullptr, nullptr, mpi_.thread_serialized, &given), "MPI_Init_thread");
  if (given < mpi_.thread_serialized) {
    mpi_.finalize();
    throw Error(Kind::io, "MPI_Init_thread", {"this MPI allows no threads", "MPI_THREAD_SERIALIZED at least", ""});
  }
  return true;
}

template <class Abi>
template <class Call>
void MpiCommunicator<Abi>::call(const char* name, const Call& work) const {
  const std::lock_guard turn(turn_at_mpi());
  mpi_.check(work(), name);
}

/// Waits until `is_done()`. If the wait ends by an exception, the heartbeat makes no more calls: MPI would go on
/// writing to buffers of the call that is left.
template <class Abi>
template <class IsDone>
void MpiCommunicator<Abi>::wait(std::chrono::seconds grace, const IsDone& is_done) {
  try {
    poll_until(grace, share_.is_crowded, is_done);
  } catch (...) {
    if (heartbeat_) heartbeat_->stop();
    const std::unique_lock turn(turn_at_mpi(), std::chrono::seconds(1));  // a beat under way ends first
    throw;
  }
}

/// Starts a collective call and waits for it. `begin(request)` returns MPI's status.
template <class Abi>
template <class Call>
void MpiCommunicator<Abi>::collectively(const char* name, const Call& begin) {
  typename Mpi::Request request{};
  call(name, [&] { return begin(&request); });
  wait(agreement_time, [&] {
    int done = 0;
    call(name, [&] { return mpi_.test(&request, &done, mpi_.no_status()); });
    return done != 0;
  });
}

template <class Abi>
MpiCommunicator<Abi>::MpiCommunicator(std::uint64_t largest_message)
    : largest_message_(std::clamp<std::uint64_t>(largest_message, 1, std::numeric_limits<int>::max())),
      started_mpi_(start_mpi()),
      exceptions_at_start_(std::uncaught_exceptions()) {
  try {
    connect();
    introduce();
    heartbeat_.emplace(*this, handle());
  } catch (...) {
    if (heartbeat_) heartbeat_->stop();
    if (started_mpi_) mpi_.abort(mpi_.world, 1);  // no destructor will run, and the others may have connected
    throw;
  }
}

template <class Abi>
void MpiCommunicator<Abi>::connect() {
  const std::lock_guard turn(turn_at_mpi());
  mpi_.check(mpi_.comm_set_errhandler(mpi_.world, mpi_.errors_return), "MPI_Comm_set_errhandler");
  mpi_.check(mpi_.comm_set_errhandler(mpi_.self, mpi_.errors_return), "MPI_Comm_set_errhandler");
  typename Mpi::Comm comm{};
  mpi_.check(mpi_.comm_dup(mpi_.world, &comm), "MPI_Comm_dup");
  comm_ = Owner(comm);
  mpi_.check(mpi_.comm_rank(comm, &rank_), "MPI_Comm_rank");
  mpi_.check(mpi_.comm_size(comm, &size_), "MPI_Comm_size");
  alarms_received_.resize(static_cast<std::size_t>(size_));
  typename Mpi::Comm node{};
  mpi_.check(mpi_.comm_split_type(comm, Abi::shared_type, rank_, mpi_.no_info, &node), "MPI_Comm_split_type");
  const Owner owner(node);
  mpi_.check(mpi_.comm_rank(node, &local_rank_), "MPI_Comm_rank");
  mpi_.check(mpi_.comm_size(node, &local_size_), "MPI_Comm_size");
}

/// Learns the others' hosts, and which processors of this one they may use.
template <class Abi>
void MpiCommunicator<Abi>::introduce() {
  const std::string host = host_name();
  const std::string own = allowed_processors();
  std::vector<std::string> of_host;
  for (const std::string& each : all_gather(host + '\0' + own)) {
    hosts_.push_back(each.substr(0, each.find('\0')));
    if (hosts_.back() == host) of_host.push_back(each.substr(host.size() + 1));
  }
  share_ = share_of(own, of_host);
  if (std::ranges::count(hosts_, host) == size_) hosts_.clear();
}

template <class Abi>
MpiCommunicator<Abi>::~MpiCommunicator() {
  const bool unwinding = std::uncaught_exceptions() > exceptions_at_start_;
  const int status = exit_status() != 0 ? exit_status() : unwinding ? 1 : EX_TEMPFAIL;
  if (interrupted_ || (unwinding && !failed_together())) abandon(status);
  const std::chrono::seconds patience = heartbeat_->patience();
  if (is_interrupted()) heartbeat_->set_patience(agreement_time);
  if (const auto lost = heartbeat_->leave()) {
    if (exit_status() == 0) log::warn("{}", lost->what());
    abandon(status);
  }
  heartbeat_.reset();
  {
    const std::lock_guard turn(turn_at_mpi());  // another communicator's heart may beat
    comm_.reset();
  }
  if (!started_mpi_) return;
  const LateNotice end_of_patience(patience, [patience, status] {
    log::warn("MPI has not ended for {} s: a process or the network was lost at the end", patience.count());
    std::_Exit(status);
  });
  if (mpi_.finalize() != 0) log::warn("MPI_Finalize failed");
}

/// MPI_Abort may wait for what was lost: this process ends in any case.
template <class Abi>
void MpiCommunicator<Abi>::abandon(int status) noexcept {
  if (size_ == 1) return;
  if (heartbeat_) heartbeat_->stop();
  try {
    std::thread([status] {
      std::this_thread::sleep_for(std::chrono::seconds(5));
      std::_Exit(status);
    }).detach();
  } catch (const std::system_error&) {  // no thread is to be had: MPI_Abort alone must do
  }
  // The others say so, too; some MPIs end a process with a status of their own when they miss another one.
  if (is_interrupted()) std::this_thread::sleep_for(std::chrono::seconds(1));
  const std::unique_lock turn(turn_at_mpi(), std::chrono::seconds(1));
  mpi_.abort(mpi_.world, status);
}

template <class Abi>
template <class Start>
void MpiCommunicator<Abi>::in_pieces(std::span<std::byte> bytes, std::uint64_t most, const Start& start) const {
  for (most = std::min(most, largest_message_); !bytes.empty();) {
    const auto piece = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), most)));
    start(piece.data(), static_cast<int>(piece.size()));
    bytes = bytes.subspan(piece.size());
  }
}

template <class Abi>
std::uint64_t MpiCommunicator<Abi>::reduce(std::uint64_t value, typename Mpi::Op operation) {
  const Collective guard(*this);
  std::uint64_t result = 0;
  collectively("MPI_Iallreduce", [&](typename Mpi::Request* request) {
    return mpi_.iallreduce(&value, &result, 1, mpi_.uint64, operation, handle(), request);
  });
  return result;
}

template <class Abi>
void MpiCommunicator<Abi>::broadcast_into(std::string& bytes, int root) {
  in_pieces(std::as_writable_bytes(std::span(bytes)), largest_message_, [&](std::byte* at, int count) {
    collectively("MPI_Ibcast", [&](typename Mpi::Request* request) {
      return mpi_.ibcast(at, count, mpi_.byte, root, handle(), request);
    });
    if (heartbeat_) heartbeat_->hear(root);
  });
}

template <class Abi>
std::string MpiCommunicator<Abi>::broadcast(const std::string& bytes, int root) {
  const Collective guard(*this);
  std::uint64_t length = bytes.size();
  collectively("MPI_Ibcast", [&](typename Mpi::Request* request) {
    return mpi_.ibcast(&length, 1, mpi_.uint64, root, handle(), request);
  });
  std::string result = rank_ == root ? bytes : std::string(length, '\0');
  broadcast_into(result, root);
  return result;
}

template <class Abi>
std::vector<std::string> MpiCommunicator<Abi>::all_gather(const std::string& mine) {
  const Collective guard(*this);
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size_));
  collectively("MPI_Iallgather", [&](typename Mpi::Request* request) {
    return mpi_.iallgather(&length, 1, mpi_.uint64, sizes.data(), 1, mpi_.uint64, handle(), request);
  });
  std::vector<std::string> all(sizes.size());
  const bool small = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) <= largest_message_;
  if (small) {
    gather_small(mine, sizes, all);
    return all;
  }
  for (int root = 0; root < size_; ++root) {  // in pieces
    auto& bytes = all[static_cast<std::size_t>(root)];
    bytes = root == rank_ ? mine : std::string(sizes[static_cast<std::size_t>(root)], '\0');
    broadcast_into(bytes, root);
  }
  return all;
}

template <class Abi>
void MpiCommunicator<Abi>::gather_small(const std::string& mine, const std::vector<std::uint64_t>& sizes,
                                        std::vector<std::string>& all) {
  std::vector<int> counts(sizes.begin(), sizes.end());
  std::vector<int> starts(sizes.size());
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  std::string joined(static_cast<std::size_t>(starts.back() + counts.back()), '\0');
  collectively("MPI_Iallgatherv", [&](typename Mpi::Request* request) {
    return mpi_.iallgatherv(mine.data(), static_cast<int>(mine.size()), mpi_.byte, joined.data(), counts.data(),
                            starts.data(), mpi_.byte, handle(), request);
  });
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].assign(joined, static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(counts[i]));
}

template <class Abi>
std::vector<std::string> MpiCommunicator<Abi>::all_to_all(std::vector<std::string> to_peer) {
  const Collective guard(*this);
  const auto peers = static_cast<std::size_t>(size_);
  if (to_peer.size() != peers)
    throw Error(
        Kind::peer, "all_to_all",
        {std::to_string(to_peer.size()) + " messages", "one for each of " + std::to_string(size_) + " processes", ""});
  std::vector<Envelope> sent(peers);
  std::vector<Envelope> coming(peers);
  for (std::size_t p = 0; p < peers; ++p) {
    sent[p].bytes = to_peer[p].size();
    if (sent[p].is_whole()) std::ranges::copy(to_peer[p], sent[p].content.begin());
  }
  collectively("MPI_Ialltoall", [&](typename Mpi::Request* request) {
    return mpi_.ialltoall(sent.data(), sizeof(Envelope), mpi_.byte, coming.data(), sizeof(Envelope), mpi_.byte,
                          handle(), request);
  });

  const auto self = static_cast<std::size_t>(rank_);
  std::vector<std::string> from_peer(peers);
  for (std::size_t p = 0; p < peers; ++p) {
    if (p == self) continue;
    if (coming[p].is_whole())
      from_peer[p].assign(coming[p].content.data(), coming[p].bytes);
    else
      from_peer[p].resize(coming[p].bytes);
  }
  from_peer[self] = std::move(to_peer[self]);

  std::vector<Message> receives;
  std::vector<Message> sends;
  const auto bytes_of = [&](std::string& text, bool is_here) {
    return std::as_writable_bytes(is_here ? std::span<char>() : std::span(text));
  };
  for (std::size_t step = 1; step < peers; ++step) {
    const auto source = (self + peers - step) % peers;
    const auto target = (self + step) % peers;
    receives.push_back({static_cast<int>(source), bytes_of(from_peer[source], coming[source].is_whole())});
    sends.push_back({static_cast<int>(target), bytes_of(to_peer[target], sent[target].is_whole())});
  }
  post(small_tag, sends, receives)->wait_within(agreement_time);
  return from_peer;
}

/// Pieces of one message keep their order: MPI matches messages between two processes under one tag in order.
template <class Abi>
std::unique_ptr<typename MpiCommunicator<Abi>::Requests> MpiCommunicator<Abi>::post(
    int tag, const std::vector<Message>& sends, const std::vector<Message>& receives) {
  auto requests = std::make_unique<Requests>(*this);
  const auto piece_bytes = [&](int peer) { return is_near(peer) ? near_piece_bytes : far_piece_bytes; };
  for (const Message& message : receives)
    in_pieces(message.bytes, piece_bytes(message.peer), [&](std::byte* at, int count) {
      call("MPI_Irecv",
           [&] { return mpi_.irecv(at, count, mpi_.byte, message.peer, tag, handle(), requests->add(message.peer)); });
    });
  for (const Message& message : sends) {
    (is_near(message.peer) ? sent_.within_host : sent_.between_hosts) += message.bytes.size();
    in_pieces(message.bytes, piece_bytes(message.peer), [&](std::byte* at, int count) {
      call("MPI_Isend",
           [&] { return mpi_.isend(at, count, mpi_.byte, message.peer, tag, handle(), requests->add(message.peer)); });
    });
  }
  requests->begin();
  return requests;
}

template <class Abi>
std::unique_ptr<Communicator::Pending> MpiCommunicator<Abi>::start(const std::vector<Message>& sends,
                                                                   const std::vector<Message>& receives) {
  return post(bulk_tag, sends, receives);
}

template <class Abi>
void MpiCommunicator<Abi>::raise_alarm() {
  ++alarms_raised_;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    typename Mpi::Request request{};  // an empty message waits for nobody
    call("MPI_Isend", [&] { return mpi_.isend(nullptr, 0, mpi_.byte, peer, alarm_tag, handle(), &request); });
    call("MPI_Request_free", [&] { return mpi_.request_free(&request); });
  }
}

template <class Abi>
bool MpiCommunicator<Abi>::is_alarmed() {
  int is_there = 0;
  typename Mpi::Status status{};
  call("MPI_Iprobe", [&] { return mpi_.iprobe(Abi::any_source, alarm_tag, handle(), &is_there, &status); });
  if (is_there != 0) receive_alarm(status.source);
  return is_alarmed_;
}

template <class Abi>
void MpiCommunicator<Abi>::receive_alarm(int peer) {
  typename Mpi::Request request{};
  call("MPI_Irecv", [&] { return mpi_.irecv(nullptr, 0, mpi_.byte, peer, alarm_tag, handle(), &request); });
  wait(agreement_time, [&] {
    int done = 0;
    call("MPI_Test", [&] { return mpi_.test(&request, &done, mpi_.no_status()); });
    return done != 0;
  });
  ++alarms_received_[static_cast<std::size_t>(peer)];
  is_alarmed_ = true;
}

template <class Abi>
void MpiCommunicator<Abi>::clear_alarms() {
  const Collective guard(*this);
  std::vector<std::uint64_t> raised(static_cast<std::size_t>(size_));
  collectively("MPI_Iallgather", [&](typename Mpi::Request* request) {
    return mpi_.iallgather(&alarms_raised_, 1, mpi_.uint64, raised.data(), 1, mpi_.uint64, handle(), request);
  });
  for (int peer = 0; peer < size_; ++peer)
    while (peer != rank_ && alarms_received_[static_cast<std::size_t>(peer)] < raised[static_cast<std::size_t>(peer)])
      receive_alarm(peer);
  is_alarmed_ = false;
}

template class MpiCommunicator<OpenMpiAbi>;
template class MpiCommunicator<MpichAbi>;

std::unique_ptr<Communicator> mpi_communicator(std::uint64_t largest_message) {
  if (is_open_mpi()) return std::make_unique<MpiCommunicator<OpenMpiAbi>>(largest_message);
  return std::make_unique<MpiCommunicator<MpichAbi>>(largest_message);
}

std::unique_ptr<Communicator> mpi_world() {
  auto processes = mpi_communicator(largest_message_bytes);
  if (processes->size() == 1 && launched_in_parallel())
    throw Error(Kind::io, mpi_version(),
                {"this process is alone",
                 "several, as a launcher started",
                 "start it with the launcher of this MPI: its mpirun, or srun --mpi=pmix (MPICH: pmi2), or choose the "
                 "launcher's MPI: CKPT_MPI=mpich, openmpi or /path/to/libmpi.so",
                 {Advice::What::go_alone, "one process alone was meant"}});
  return processes;
}

}  // namespace ckpt
