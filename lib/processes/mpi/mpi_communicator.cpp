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
#include "processes/mpi/check.hpp"

namespace ckpt {

namespace {

/// Starts MPI unless it is running; returns whether this call started it.
bool start_mpi() {
  int running = 0;
  check(MPI_Initialized(&running), "MPI_Initialized");
  if (running != 0) return false;
  int given = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given), "MPI_Init_thread");
  if (given < MPI_THREAD_FUNNELED) {
    MPI_Finalize();
    throw Error(Kind::peer, "MPI_Init_thread", {"this MPI allows no threads", "MPI_THREAD_FUNNELED at least", ""});
  }
  return true;
}

/// Waits until `is_done()`. Processes wait for one another here: MPI would keep a processor busy, which this process's
/// own threads, or the process that it waits for, may need.
template <class IsDone>
void poll_until(const IsDone& is_done) {
  constexpr int tries = 100;  // some tens of microseconds
  Backoff pause;
  for (int n = 0; !is_done(); ++n)
    if (n >= tries) std::this_thread::sleep_for(pause.next());
}

/// Starts a collective call and waits for it. `call(request)` returns MPI's status.
template <class Call>
void collectively(const char* name, const Call& call) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(call(&request), name);
  poll_until([&] {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), name);
    return done != 0;
  });
}

void check_all(std::vector<MPI_Request>& requests) {
  std::vector<MPI_Status> statuses(requests.size());
  int status = MPI_SUCCESS;
  poll_until([&] {
    int done = 0;
    status = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, statuses.data());
    return status != MPI_SUCCESS || done != 0;
  });
  if (status == MPI_ERR_IN_STATUS)
    for (const auto& each : statuses)
      if (each.MPI_ERROR != MPI_ERR_PENDING) check(each.MPI_ERROR, "MPI_Testall");
  check(status, "MPI_Testall");
}

}  // namespace

MpiCommunicator::MpiCommunicator(std::uint64_t largest_message)
    : largest_message_(std::clamp<std::uint64_t>(largest_message, 1, std::numeric_limits<int>::max())),
      started_mpi_(start_mpi()),
      exceptions_at_start_(std::uncaught_exceptions()) {
  try {
    connect();
  } catch (...) {
    if (started_mpi_) MPI_Abort(MPI_COMM_WORLD, 1);  // no destructor will run, and the others may have connected
    throw;
  }
}

void MpiCommunicator::connect() {
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  comm_ = MpiComm(comm);
  check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &size_), "MPI_Comm_size");
  alarms_received_.resize(static_cast<std::size_t>(size_));
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  const MpiComm owner(node);
  check(MPI_Comm_rank(node, &local_rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(node, &local_size_), "MPI_Comm_size");
}

MpiCommunicator::~MpiCommunicator() {
  const bool unwinding = std::uncaught_exceptions() > exceptions_at_start_;
  if (interrupted_ || (unwinding && !failed_together())) abandon(1);
  comm_.reset();
  if (started_mpi_ && MPI_Finalize() != MPI_SUCCESS) log::warn("MPI_Finalize failed");
}

void MpiCommunicator::abandon(int status) noexcept {
  if (size_ > 1) MPI_Abort(MPI_COMM_WORLD, status);
}

int MpiCommunicator::piece(std::uint64_t left) const noexcept {
  return static_cast<int>(std::min(left, largest_message_));
}

std::uint64_t MpiCommunicator::reduce(std::uint64_t value, MPI_Op operation) {
  const Collective guard(*this);
  std::uint64_t result = 0;
  collectively("MPI_Iallreduce", [&](MPI_Request* request) {
    return MPI_Iallreduce(&value, &result, 1, MPI_UINT64_T, operation, handle(), request);
  });
  return result;
}

void MpiCommunicator::broadcast_into(std::string& bytes, int root) {
  for (std::uint64_t done = 0; done < bytes.size(); done += largest_message_)
    check(MPI_Bcast(bytes.data() + done, piece(bytes.size() - done), MPI_BYTE, root, handle()), "MPI_Bcast");
}

std::string MpiCommunicator::broadcast(const std::string& bytes, int root) {
  const Collective guard(*this);
  std::uint64_t length = bytes.size();
  check(MPI_Bcast(&length, 1, MPI_UINT64_T, root, handle()), "MPI_Bcast");
  std::string result = rank_ == root ? bytes : std::string(length, '\0');
  broadcast_into(result, root);
  return result;
}

std::vector<std::string> MpiCommunicator::all_gather(const std::string& mine) {
  const Collective guard(*this);
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size_));
  collectively("MPI_Iallgather", [&](MPI_Request* request) {
    return MPI_Iallgather(&length, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, handle(), request);
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

void MpiCommunicator::gather_small(const std::string& mine, const std::vector<std::uint64_t>& sizes,
                                   std::vector<std::string>& all) {
  std::vector<int> counts(sizes.begin(), sizes.end());
  std::vector<int> starts(sizes.size());
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  std::string joined(static_cast<std::size_t>(starts.back() + counts.back()), '\0');
  check(MPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, joined.data(), counts.data(),
                       starts.data(), MPI_BYTE, handle()),
        "MPI_Allgatherv");
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].assign(joined, static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(counts[i]));
}

std::vector<std::string> MpiCommunicator::all_to_all(std::vector<std::string> to_peer) {
  const Collective guard(*this);
  const auto peers = static_cast<std::size_t>(size_);
  if (to_peer.size() != peers)
    throw Error(
        Kind::peer, "all_to_all",
        {std::to_string(to_peer.size()) + " messages", "one for each of " + std::to_string(size_) + " processes", ""});
  std::vector<std::uint64_t> sent(peers);
  std::vector<std::uint64_t> coming(peers);
  std::transform(to_peer.begin(), to_peer.end(), sent.begin(), [](const std::string& bytes) { return bytes.size(); });
  collectively("MPI_Ialltoall", [&](MPI_Request* request) {
    return MPI_Ialltoall(sent.data(), 1, MPI_UINT64_T, coming.data(), 1, MPI_UINT64_T, handle(), request);
  });

  const auto self = static_cast<std::size_t>(rank_);
  std::vector<std::string> from_peer(peers);
  for (std::size_t p = 0; p < peers; ++p)
    if (p != self) from_peer[p].resize(coming[p]);
  from_peer[self] = std::move(to_peer[self]);

  // Pieces of one message keep their order: MPI matches messages between two processes under one tag in order.
  std::vector<MPI_Request> requests;
  const auto post = [&](std::string& bytes, auto&& start) {
    for (std::uint64_t done = 0; done < bytes.size(); done += largest_message_)
      start(bytes.data() + done, piece(bytes.size() - done), &requests.emplace_back(MPI_REQUEST_NULL));
  };
  for (std::size_t step = 1; step < peers; ++step) {
    const auto source = (self + peers - step) % peers;
    post(from_peer[source], [&](char* at, int count, MPI_Request* request) {
      check(MPI_Irecv(at, count, MPI_BYTE, static_cast<int>(source), 0, handle(), request), "MPI_Irecv");
    });
  }
  for (std::size_t step = 1; step < peers; ++step) {
    const auto target = (self + step) % peers;
    post(to_peer[target], [&](char* at, int count, MPI_Request* request) {
      check(MPI_Isend(at, count, MPI_BYTE, static_cast<int>(target), 0, handle(), request), "MPI_Isend");
    });
  }
  check_all(requests);
  return from_peer;
}

std::unique_ptr<Communicator> mpi_world() {
  auto processes = std::make_unique<MpiCommunicator>();
  if (processes->size() == 1 && launched_in_parallel())
    throw Error(Kind::peer, "MPI",
                {"this process is alone",
                 "several, as a launcher started",
                 "start it with the launcher of the MPI it was built with: its mpirun, or srun --mpi=pmix",
                 {Advice::What::go_alone, "one process alone was meant"}});
  return processes;
}

}  // namespace ckpt
