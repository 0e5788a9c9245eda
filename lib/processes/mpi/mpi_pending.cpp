#include <algorithm>
#include <exception>

#include "processes/mpi/check.hpp"
#include "processes/mpi/mpi_communicator.hpp"

namespace ckpt {

namespace {

constexpr int bulk_tag = 1;  // all_to_all's messages have 0: the two never match

/// Requests in progress. MPI cannot cancel a half-received message, so that in a failing run the buffers must outlive
/// it: the requests are then left to the end of the job.
class MpiPending final : public Communicator::Pending {
 public:
  void add(MPI_Request request) { requests_.push_back(request); }

  bool is_done() override {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    return done != 0;
  }

  void wait() override {
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

 private:
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Communicator::Pending> MpiCommunicator::start(const std::vector<Message>& sends,
                                                              const std::vector<Message>& receives) {
  auto pending = std::make_unique<MpiPending>();
  const auto post = [&](const Message& message, auto&& begin) {
    for (std::uint64_t done = 0; done < message.bytes.size(); done += largest_message_) {
      MPI_Request request = MPI_REQUEST_NULL;
      begin(message.bytes.data() + done, piece(message.bytes.size() - done), message.peer, &request);
      pending->add(request);
    }
  };
  for (const Message& message : receives)
    post(message, [&](std::byte* at, int count, int peer, MPI_Request* request) {
      check(MPI_Irecv(at, count, MPI_BYTE, peer, bulk_tag, handle(), request), "MPI_Irecv");
    });
  for (const Message& message : sends)
    post(message, [&](std::byte* at, int count, int peer, MPI_Request* request) {
      check(MPI_Isend(at, count, MPI_BYTE, peer, bulk_tag, handle(), request), "MPI_Isend");
    });
  return pending;
}

}  // namespace ckpt
