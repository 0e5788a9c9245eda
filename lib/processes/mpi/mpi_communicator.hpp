#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/handle.hpp"
#include "processes/communicator.hpp"
#include "processes/mpi/mpi_abi.hpp"

namespace ckpt {

template <class Abi>
struct MpiCommTraits {
  using type = typename Abi::Comm;
  static type none() noexcept { return {}; }  // no library's handle
  static void release(type comm) noexcept { MpiCalls<Abi>::instance().comm_free(&comm); }
};

/// MPI counts in int: larger messages are sent in pieces of this size.
inline constexpr std::uint64_t largest_message_bytes = 1ULL << 30;

/// MPI_COMM_WORLD under a communicator of its own. If MPI is not running, the constructor starts it, and the destructor
/// ends it: that object must outlive all others.
template <class Abi>
class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(std::uint64_t largest_message);
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  MpiCommunicator(MpiCommunicator&&) = delete;
  MpiCommunicator& operator=(MpiCommunicator&&) = delete;
  ~MpiCommunicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  std::vector<std::string> all_gather(const std::string& mine) override;
  std::string broadcast(const std::string& bytes, int root) override;
  std::uint64_t sum(std::uint64_t value) override { return reduce(value, mpi_.sum); }
  std::uint64_t maximum(std::uint64_t value) override { return reduce(value, mpi_.max); }
  std::vector<std::string> all_to_all(std::vector<std::string> to_peer) override;
  std::unique_ptr<Pending> start(const std::vector<Message>& sends, const std::vector<Message>& receives) override;
  void raise_alarm() override;
  bool is_alarmed() override;
  void clear_alarms() override;
  void abandon(int status) noexcept override;

 private:
  using Mpi = MpiCalls<Abi>;
  using Owner = Handle<MpiCommTraits<Abi>>;

  /// Lives during every collective call: if an exception leaves the call, it marks the communicator, whose destructor
  /// then frees the others. Entering a call also means that an error agreed on before has been handled.
  class Collective {
   public:
    explicit Collective(MpiCommunicator& processes) noexcept : processes_(processes) {
      processes_.set_failed_together(false);
    }
    Collective(const Collective&) = delete;
    Collective& operator=(const Collective&) = delete;
    ~Collective() {
      if (std::uncaught_exceptions() > exceptions_) processes_.interrupted_ = true;
    }

   private:
    MpiCommunicator& processes_;
    int exceptions_ = std::uncaught_exceptions();
  };

  typename Mpi::Comm handle() const noexcept { return comm_.get(); }
  bool start_mpi();
  void connect();
  template <class Call>
  void collectively(const char* name, const Call& call);
  void check_all(std::vector<typename Mpi::Request>& requests);
  std::uint64_t reduce(std::uint64_t value, typename Mpi::Op operation);
  void broadcast_into(std::string& bytes, int root);
  void gather_small(const std::string& mine, const std::vector<std::uint64_t>& sizes, std::vector<std::string>& all);
  int piece(std::uint64_t left) const noexcept;
  void receive_alarm(int peer);

  const Mpi& mpi_ = Mpi::instance();
  std::uint64_t largest_message_;
  bool started_mpi_ = false;
  bool interrupted_ = false;  ///< an exception left a collective call incomplete: the others are still in it
  int exceptions_at_start_;
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  Owner comm_;
  std::uint64_t alarms_raised_ = 0;             ///< by this process, in total
  std::vector<std::uint64_t> alarms_received_;  ///< from each process, in total
  bool is_alarmed_ = false;
};

/// Returns an MpiCommunicator of the library that is there. It sends messages in pieces of that many bytes.
std::unique_ptr<Communicator> mpi_communicator(std::uint64_t largest_message = largest_message_bytes);

}  // namespace ckpt
