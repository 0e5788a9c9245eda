#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/handle.hpp"
#include "base/limits.hpp"
#include "processes/communicator.hpp"
#include "processes/mpi/heartbeat.hpp"
#include "processes/mpi/mpi_abi.hpp"

namespace ckpt {

template <class Abi>
struct MpiCommTraits {
  using type = typename Abi::Comm;
  static type none() noexcept { return {}; }  // no library's handle
  static void release(type comm) noexcept { MpiCalls<Abi>::instance().comm_free(&comm); }
};

/// Larger values go in pieces of this size, so that a process that receives by a slow network is heard of in between.
inline constexpr std::uint64_t largest_message_bytes = 16ULL << 20;

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
  unsigned processors() const override { return share_.processors; }
  std::string host_of(int rank) const override { return hosts_.empty() ? "" : hosts_[static_cast<std::size_t>(rank)]; }
  Sent sent() const override { return sent_; }
  void set_patience(std::chrono::seconds patience) override { heartbeat_->set_patience(patience); }
  void share_work(std::function<Work()> mine) override { heartbeat_->share(std::move(mine)); }
  Work shared_work() const override { return heartbeat_->shared(); }
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
      if (std::uncaught_exceptions() == exceptions_) return;
      processes_.interrupted_ = true;
      if (processes_.heartbeat_) processes_.heartbeat_->stop();  // MPI may still write to what the call has left
    }

   private:
    MpiCommunicator& processes_;
    int exceptions_ = std::uncaught_exceptions();
  };

  class Requests;

  bool is_near(int peer) const {
    return hosts_.empty() || hosts_[static_cast<std::size_t>(peer)] == hosts_[static_cast<std::size_t>(rank_)];
  }
  typename Mpi::Comm handle() const noexcept { return comm_.get(); }
  bool start_mpi();
  void connect();
  void introduce();
  template <class Call>
  void call(const char* name, const Call& work) const;
  template <class IsDone>
  void wait(std::chrono::seconds grace, const IsDone& is_done);
  template <class Call>
  void collectively(const char* name, const Call& begin);
  std::uint64_t reduce(std::uint64_t value, typename Mpi::Op operation);
  void broadcast_into(std::string& bytes, int root);
  void gather_small(const std::string& mine, const std::vector<std::uint64_t>& sizes, std::vector<std::string>& all);
  template <class Start>
  void in_pieces(std::span<std::byte> bytes, std::uint64_t most, const Start& start) const;
  std::unique_ptr<Requests> post(int tag, const std::vector<Message>& sends, const std::vector<Message>& receives);
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
  ProcessorShare share_;
  Owner comm_;
  std::vector<std::string> hosts_;  ///< by rank; none if all are on one
  Sent sent_;
  std::optional<Heartbeat<Abi>> heartbeat_;
  std::uint64_t alarms_raised_ = 0;             ///< by this process, in total
  std::vector<std::uint64_t> alarms_received_;  ///< from each process, in total
  bool is_alarmed_ = false;
};

/// Returns an MpiCommunicator of the library that is there. It sends messages in pieces of that many bytes.
std::unique_ptr<Communicator> mpi_communicator(std::uint64_t largest_message = largest_message_bytes);

}  // namespace ckpt
