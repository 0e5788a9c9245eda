#include "processes/mpi/check.hpp"
#include "processes/mpi/mpi_communicator.hpp"

namespace ckpt {

namespace {

constexpr int alarm_tag = 2;  // follows the tags of all_to_all and of bulk messages

}  // namespace

void MpiCommunicator::raise_alarm() {
  ++alarms_raised_;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;  // an empty message waits for nobody
    check(MPI_Isend(nullptr, 0, MPI_BYTE, peer, alarm_tag, handle(), &request), "MPI_Isend");
    check(MPI_Request_free(&request), "MPI_Request_free");
  }
}

bool MpiCommunicator::is_alarmed() {
  int is_there = 0;
  MPI_Status status;
  check(MPI_Iprobe(MPI_ANY_SOURCE, alarm_tag, handle(), &is_there, &status), "MPI_Iprobe");
  if (is_there != 0) receive_alarm(status.MPI_SOURCE);
  return is_alarmed_;
}

void MpiCommunicator::receive_alarm(int peer) {
  check(MPI_Recv(nullptr, 0, MPI_BYTE, peer, alarm_tag, handle(), MPI_STATUS_IGNORE), "MPI_Recv");
  ++alarms_received_[static_cast<std::size_t>(peer)];
  is_alarmed_ = true;
}

void MpiCommunicator::clear_alarms() {
  const Collective guard(*this);
  std::vector<std::uint64_t> raised(static_cast<std::size_t>(size_));
  check(MPI_Allgather(&alarms_raised_, 1, MPI_UINT64_T, raised.data(), 1, MPI_UINT64_T, handle()), "MPI_Allgather");
  for (int peer = 0; peer < size_; ++peer)
    while (peer != rank_ && alarms_received_[static_cast<std::size_t>(peer)] < raised[static_cast<std::size_t>(peer)])
      receive_alarm(peer);
  is_alarmed_ = false;
}

}  // namespace ckpt
