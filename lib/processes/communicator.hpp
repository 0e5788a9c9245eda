#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ckpt {

/// The processes of a run: collective calls for small values and agreements, messages for bulk data. Calls are
/// collective unless they say otherwise, and one thread of each process makes them all.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Processes that share this one's node are 0..local_size-1 by local_rank.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;

  /// Every process's bytes, by rank. Any sizes, also above 2^31 in all.
  virtual std::vector<std::string> all_gather(const std::string& mine) = 0;
  virtual std::string broadcast(const std::string& bytes, int root) = 0;
  virtual std::uint64_t sum(std::uint64_t value) = 0;
  virtual std::uint64_t maximum(std::uint64_t value) = 0;

  /// Sends to_peer[p] to process p and gives what each process sent here, by rank (any sizes).
  virtual std::vector<std::string> all_to_all(std::vector<std::string> to_peer) = 0;

  /// A bulk message to or from a peer. The caller owns the bytes, and leaves them alone until the transfer is done.
  struct Message {
    int peer;
    std::span<std::byte> bytes;
  };
  /// Messages in flight. Destroyed before it is done only when the run is failing. Its calls are not collective.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual bool is_done() = 0;  ///< never waits; throws peer
    virtual void wait() = 0;
  };
  /// Starts sending and receiving: at most one message to and one from each peer, none to oneself, none empty, and both
  /// sides give the same size. Not collective; other calls may be made meanwhile.
  virtual std::unique_ptr<Pending> start(const std::vector<Message>& sends, const std::vector<Message>& receives) = 0;

  /// Tells all other processes, whatever they are doing, that this one has failed in work that they do together outside
  /// these calls, such as an exchange between GPUs. Not collective; never waits.
  virtual void raise_alarm() = 0;
  /// Whether another process has raised one. Not collective; never waits.
  virtual bool is_alarmed() = 0;
  /// Discards all alarms, those still in flight too. Collective.
  virtual void clear_alarms() = 0;

  /// Ends all processes at once with this status, where this one failed alone and the others would wait for it for
  /// ever. Not collective; returns only where there are no others.
  virtual void abandon(int status) noexcept = 0;

  /// Whether the error being thrown is one that `agree` threw on every process, so that all of them end by themselves.
  /// An error for which this is false is this process's own: print it, then `abandon`.
  bool failed_together() const noexcept { return failed_together_; }
  void set_failed_together(bool together) noexcept { failed_together_ = together; }

 private:
  bool failed_together_ = false;
};

/// Runs `work` on every process. When it throws on any, the lowest failing rank's error is thrown on every one, so that
/// no process is left waiting in a later collective call. Anything but ckpt::Error is turned into one. `work` itself
/// makes no collective call.
void agree(Communicator& processes, const std::function<void()>& work);

/// One process alone: no MPI is started.
std::unique_ptr<Communicator> solo();

/// Where all processes share one node, chooses Open MPI's plain transport (ob1) through the environment: it is the one
/// that serves them, and looking for networks first takes as long as the rest of MPI's start (0.2 s). A choice of the
/// user's is left as it is. For `main`, before `mpi_world`.
void prefer_shared_memory();

/// "Open MPI v4.1.4".
std::string mpi_version();

/// The processes that mpirun or srun started. MPI is started with it and ended with its destruction; an exception that
/// unwinds past it on one process only aborts the others instead of leaving them waiting. Throws peer where MPI finds
/// one process although a launcher started several (it speaks another launcher's language).
std::unique_ptr<Communicator> mpi_world();

/// Whether this process was started by an MPI launcher with company. It was not where a process above it is a rank of
/// the job already: nobody else can take that rank's place. Throws usage for tasks that a launcher started without MPI
/// (`srun -n 4` with no --mpi=pmix), which would each do the whole job.
bool launched_in_parallel();

/// "rank 3 of 8": this process's place in the job in whose environment it was started.
std::string place_in_job();

/// What has started this process, where that has the same place in the job.
enum class AboveInJob {
  nothing,      ///< the launcher has
  without_mpi,  ///< a script or program that does not use MPI
  with_mpi,     ///< one that has MPI loaded
};
AboveInJob above_in_job();

}  // namespace ckpt
