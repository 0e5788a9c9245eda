#include "processes/mpi/mpi_communicator.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "base/backoff.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace ckpt {

namespace {

constexpr int small_tag = 0;  // of all_to_all; no message may match another kind's
constexpr int bulk_tag = 1;
constexpr int alarm_tag = 2;

/// Waits until `is_done()`. Processes wait for one another here: MPI would keep a processor busy, which this process's
/// own threads, or the process that it waits for, may need.
template <class IsDone>
void poll_until(const IsDone& is_done) {
  constexpr int tries = 100;  // some tens of microseconds
  Backoff pause;
  for (int n = 0; !is_done(); ++n)
    if (n >= tries) std::this_thread::sleep_for(pause.next());
}

}  // namespace

/// Requests in progress. MPI cannot cancel a half-received message, so that in a failing run the buffers must outlive
/// it: the requests are then left to the end of the job.
template <class Abi>
class MpiPending final : public Communicator::Pending {
 public:
  using Request = typename MpiCalls<Abi>::Request;

  void add(Request request) { requests_.push_back(request); }

  bool is_done() override {
    int done = 0;
    mpi_.check(mpi_.testall(static_cast<int>(requests_.size()), requests_.data(), &done, mpi_.no_status()),
               "MPI_Testall");
    return done != 0;
  }

  void wait() override {
    mpi_.check(mpi_.waitall(static_cast<int>(requests_.size()), requests_.data(), mpi_.no_status()), "MPI_Waitall");
  }

 private:
  const MpiCalls<Abi>& mpi_ = MpiCalls<Abi>::instance();
  std::vector<Request> requests_;
};

/// Starts MPI unless it is running; returns whether this call started it.
template <class Abi>
bool MpiCommunicator<Abi>::start_mpi() {
  int running = 0;
  mpi_.check(mpi_.initialized(&running), "MPI_Initialized");
  if (running != 0) return false;
  int given = mpi_.thread_single;
  mpi_.check(mpi_.init_thread(nullptr, nullptr, mpi_.thread_serialized, &given), "MPI_Init_thread");
  if (given < mpi_.thread_funneled) {
    mpi_.finalize();
    throw Error(Kind::io, "MPI_Init_thread", {"this MPI allows no threads", "MPI_THREAD_FUNNELED at least", ""});
  }
  return true;
}

/// Starts a collective call and waits for it. `call(request)` returns MPI's status.
template <class Abi>
template <class Call>
void MpiCommunicator<Abi>::collectively(const char* name, const Call& call) {
  typename Mpi::Request request{};
  mpi_.check(call(&request), name);
  poll_until([&] {
    int done = 0;
    mpi_.check(mpi_.test(&request, &done, mpi_.no_status()), name);
    return done != 0;
  });
}

template <class Abi>
void MpiCommunicator<Abi>::check_all(std::vector<typename Mpi::Request>& requests) {
  std::vector<typename Mpi::Status> statuses(requests.size());
  int status = 0;
  poll_until([&] {
    int done = 0;
    status = mpi_.testall(static_cast<int>(requests.size()), requests.data(), &done, statuses.data());
    return status != 0 || done != 0;
  });
  if (status == Abi::error_in_status)
    for (const auto& each : statuses)
      if (each.error != Abi::error_pending) mpi_.check(each.error, "MPI_Testall");
  mpi_.check(status, "MPI_Testall");
}

template <class Abi>
MpiCommunicator<Abi>::MpiCommunicator(std::uint64_t largest_message)
    : largest_message_(std::clamp<std::uint64_t>(largest_message, 1, std::numeric_limits<int>::max())),
      started_mpi_(start_mpi()),
      exceptions_at_start_(std::uncaught_exceptions()) {
  try {
    connect();
  } catch (...) {
    if (started_mpi_) mpi_.abort(mpi_.world, 1);  // no destructor will run, and the others may have connected
    throw;
  }
}

template <class Abi>
void MpiCommunicator<Abi>::connect() {
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

template <class Abi>
MpiCommunicator<Abi>::~MpiCommunicator() {
  const bool unwinding = std::uncaught_exceptions() > exceptions_at_start_;
  if (interrupted_ || (unwinding && !failed_together())) abandon(1);
  comm_.reset();
  if (started_mpi_ && mpi_.finalize() != 0) log::warn("MPI_Finalize failed");
}

template <class Abi>
void MpiCommunicator<Abi>::abandon(int status) noexcept {
  if (size_ > 1) mpi_.abort(mpi_.world, status);
}

template <class Abi>
int MpiCommunicator<Abi>::piece(std::uint64_t left) const noexcept {
  return static_cast<int>(std::min(left, largest_message_));
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
  for (std::uint64_t done = 0; done < bytes.size(); done += largest_message_)
    mpi_.check(mpi_.bcast(bytes.data() + done, piece(bytes.size() - done), mpi_.byte, root, handle()), "MPI_Bcast");
}

template <class Abi>
std::string MpiCommunicator<Abi>::broadcast(const std::string& bytes, int root) {
  const Collective guard(*this);
  std::uint64_t length = bytes.size();
  mpi_.check(mpi_.bcast(&length, 1, mpi_.uint64, root, handle()), "MPI_Bcast");
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
  for (int root = 0; root < size_; ++root) {  // MPI_Allgatherv's displacements are int, and count all ranks together
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
  mpi_.check(mpi_.allgatherv(mine.data(), static_cast<int>(mine.size()), mpi_.byte, joined.data(), counts.data(),
                             starts.data(), mpi_.byte, handle()),
             "MPI_Allgatherv");
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
  std::vector<std::uint64_t> sent(peers);
  std::vector<std::uint64_t> coming(peers);
  std::transform(to_peer.begin(), to_peer.end(), sent.begin(), [](const std::string& bytes) { return bytes.size(); });
  collectively("MPI_Ialltoall", [&](typename Mpi::Request* request) {
    return mpi_.ialltoall(sent.data(), 1, mpi_.uint64, coming.data(), 1, mpi_.uint64, handle(), request);
  });

  const auto self = static_cast<std::size_t>(rank_);
  std::vector<std::string> from_peer(peers);
  for (std::size_t p = 0; p < peers; ++p)
    if (p != self) from_peer[p].resize(coming[p]);
  from_peer[self] = std::move(to_peer[self]);

  // Pieces of one message keep their order: MPI matches messages between two processes under one tag in order.
  std::vector<typename Mpi::Request> requests;
  const auto post = [&](std::string& bytes, auto&& start) {
    for (std::uint64_t done = 0; done < bytes.size(); done += largest_message_)
      start(bytes.data() + done, piece(bytes.size() - done), &requests.emplace_back());
  };
  for (std::size_t step = 1; step < peers; ++step) {
    const auto source = (self + peers - step) % peers;
    post(from_peer[source], [&](char* at, int count, typename Mpi::Request* request) {
      mpi_.check(mpi_.irecv(at, count, mpi_.byte, static_cast<int>(source), small_tag, handle(), request), "MPI_Irecv");
    });
  }
  for (std::size_t step = 1; step < peers; ++step) {
    const auto target = (self + step) % peers;
    post(to_peer[target], [&](char* at, int count, typename Mpi::Request* request) {
      mpi_.check(mpi_.isend(at, count, mpi_.byte, static_cast<int>(target), small_tag, handle(), request), "MPI_Isend");
    });
  }
  check_all(requests);
  return from_peer;
}

template <class Abi>
std::unique_ptr<Communicator::Pending> MpiCommunicator<Abi>::start(const std::vector<Message>& sends,
                                                                   const std::vector<Message>& receives) {
  auto pending = std::make_unique<MpiPending<Abi>>();
  const auto post = [&](const Message& message, auto&& begin) {
    for (std::uint64_t done = 0; done < message.bytes.size(); done += largest_message_) {
      typename Mpi::Request request{};
      begin(message.bytes.data() + done, piece(message.bytes.size() - done), message.peer, &request);
      pending->add(request);
    }
  };
  for (const Message& message : receives)
    post(message, [&](std::byte* at, int count, int peer, typename Mpi::Request* request) {
      mpi_.check(mpi_.irecv(at, count, mpi_.byte, peer, bulk_tag, handle(), request), "MPI_Irecv");
    });
  for (const Message& message : sends)
    post(message, [&](std::byte* at, int count, int peer, typename Mpi::Request* request) {
      mpi_.check(mpi_.isend(at, count, mpi_.byte, peer, bulk_tag, handle(), request), "MPI_Isend");
    });
  return pending;
}

template <class Abi>
void MpiCommunicator<Abi>::raise_alarm() {
  ++alarms_raised_;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    typename Mpi::Request request{};  // an empty message waits for nobody
    mpi_.check(mpi_.isend(nullptr, 0, mpi_.byte, peer, alarm_tag, handle(), &request), "MPI_Isend");
    mpi_.check(mpi_.request_free(&request), "MPI_Request_free");
  }
}

template <class Abi>
bool MpiCommunicator<Abi>::is_alarmed() {
  int is_there = 0;
  typename Mpi::Status status{};
  mpi_.check(mpi_.iprobe(Abi::any_source, alarm_tag, handle(), &is_there, &status), "MPI_Iprobe");
  if (is_there != 0) receive_alarm(status.source);
  return is_alarmed_;
}

template <class Abi>
void MpiCommunicator<Abi>::receive_alarm(int peer) {
  mpi_.check(mpi_.recv(nullptr, 0, mpi_.byte, peer, alarm_tag, handle(), mpi_.no_status()), "MPI_Recv");
  ++alarms_received_[static_cast<std::size_t>(peer)];
  is_alarmed_ = true;
}

template <class Abi>
void MpiCommunicator<Abi>::clear_alarms() {
  const Collective guard(*this);
  std::vector<std::uint64_t> raised(static_cast<std::size_t>(size_));
  mpi_.check(mpi_.allgather(&alarms_raised_, 1, mpi_.uint64, raised.data(), 1, mpi_.uint64, handle()), "MPI_Allgather");
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
    throw Error(
        Kind::io, mpi_version(),
        {"this process is alone",
         "several, as a launcher started",
         "start it with the launcher of this MPI: its mpirun, or srun --mpi=pmix, or choose the launcher's MPI: "
         "CKPT_MPI=mpich, openmpi or /path/to/libmpi.so",
         {Advice::What::go_alone, "one process alone was meant"}});
  return processes;
}

}  // namespace ckpt
