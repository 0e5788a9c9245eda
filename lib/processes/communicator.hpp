#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ckpt {

/// The processes of a run: collective calls for small values and agreements, messages for bulk data. Calls are
/// collective unless stated otherwise, and one thread of each process makes all of them. A call that waits throws what
/// `check_interrupt` does: at once if a process was lost or messages are waited for, else two seconds after a signal,
/// as the others were probably told to end, too, and can agree on it.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Processes on this one's node are numbered 0..local_size-1 by local_rank.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  /// What this process has of the processors that it may use: several of a node may share some of them.
  virtual unsigned processors() const = 0;
  /// Returns a process's host; nothing if all processes are on one.
  virtual std::string host_of(int /*rank*/) const { return ""; }
  /// What this process has sent in messages to single others, in bytes.
  struct Sent {
    std::uint64_t within_host = 0;
    std::uint64_t between_hosts = 0;
  };
  virtual Sent sent() const { return {}; }
  /// Returns "process 1 (node7)", or "process 1" if all are on one host.
  std::string name_of(int rank) const;

  /// How long a process may be silent, unless set_patience was called.
  static constexpr std::chrono::seconds default_patience{50};
  /// If this process hears nothing of another one for this long, all its calls and `check_interrupt` throw peer. Not
  /// collective.
  virtual void set_patience(std::chrono::seconds /*patience*/) {}
  /// An amount of work, in bytes.
  struct Work {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
  };
  /// Asks `mine` for this process's part of `shared_work` from now on, in any thread; an empty function: there is none.
  /// Not collective.
  virtual void share_work(std::function<Work()> mine) = 0;
  /// Returns the sum of all processes' parts on process 0, those of others as they were a second or two ago. Any
  /// thread; not collective.
  virtual Work shared_work() const = 0;

  /// Returns every process's bytes, by rank. Any sizes, even above 2^31 in total.
  virtual std::vector<std::string> all_gather(const std::string& mine) = 0;
  virtual std::string broadcast(const std::string& bytes, int root) = 0;
  virtual std::uint64_t sum(std::uint64_t value) = 0;
  virtual std::uint64_t maximum(std::uint64_t value) = 0;

  /// Sends to_peer[p] to process p, and returns what each process sent here, by rank (any sizes).
  virtual std::vector<std::string> all_to_all(std::vector<std::string> to_peer) = 0;

  /// A bulk message to or from a peer. The caller owns the bytes, and must not touch them until the transfer is done.
  struct Message {
    int peer;
    std::span<std::byte> bytes;
  };
  /// Messages in flight. Destroyed before they are done only if the run is failing. Its calls are not collective.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual bool is_done() = 0;  ///< never waits; throws peer
    virtual void wait() = 0;
  };
  /// Starts sending and receiving: at most one message to and one from each peer, none to itself, none empty, and with
  /// equal sizes on both sides. Not collective; other calls may be made meanwhile.
  virtual std::unique_ptr<Pending> start(const std::vector<Message>& sends, const std::vector<Message>& receives) = 0;

  /// Notifies all other processes, whatever they are doing, that this one has failed in joint work outside these calls,
  /// such as an exchange between GPUs. Not collective; never waits.
  virtual void raise_alarm() = 0;
  /// Returns whether another process has raised an alarm. Not collective; never waits.
  virtual bool is_alarmed() = 0;
  /// Discards all alarms, including those in flight. Collective.
  virtual void clear_alarms() = 0;

  /// Ends all processes at once with this status, after this one has failed alone and the others would wait for it
  /// forever. Not collective; returns only if there are no other processes.
  virtual void abandon(int status) noexcept = 0;

  /// Returns whether `agree` threw the current error on every process, so that all of them end in the normal way. Any
  /// other error is this process's own: print it, then call `abandon`.
  bool failed_together() const noexcept { return failed_together_; }
  void set_failed_together(bool together) noexcept { failed_together_ = together; }

  /// The status with which this process will end; the others, too, if they cannot leave with it.
  void set_exit_status(int status) noexcept { exit_status_ = status; }

 protected:
  int exit_status() const noexcept { return exit_status_; }

 private:
  bool failed_together_ = false;
  int exit_status_ = 0;
};

/// Runs `work` on every process. If it throws on any, the lowest failing rank's error is thrown on all, so that no
/// process waits in a later collective call; it names that rank's host, unless all processes have the same error. Other
/// exceptions than ckpt::Error are converted to one. `work` itself must make no collective call.
void agree(Communicator& processes, const std::function<void()>& work);

/// Returns each process's host as a number, from 0 in the order of the first processes on them.
std::vector<std::uint32_t> host_numbers(const Communicator& processes);

/// Returns a communicator of one process; it does not start MPI.
std::unique_ptr<Communicator> single_process();

/// If all processes share one node, chooses Open MPI's plain transport (ob1) through the environment: it is the right
/// one for them, and searching for networks first takes as long as the rest of MPI's start (0.2 s). Nor does hwloc then
/// search the PCI bus, which takes a third of the processor time that is left. Respects a choice of the user. For
/// `main`, before `mpi_world`.
void prefer_shared_memory();

/// Returns "Open MPI v4.1.4".
std::string mpi_version();

/// Returns the processes that mpirun or srun started. It starts MPI, and its destructor ends MPI; an exception that
/// unwinds past it on one process only aborts the others instead of leaving them waiting. Throws peer if MPI finds one
/// process although a launcher started several: it does not speak the launcher's protocol then. Whether all run the
/// same build is for `check_same_build`.
std::unique_ptr<Communicator> mpi_world();

/// Returns whether an MPI launcher started this process together with others. False if a parent process is a rank of
/// the job already: nobody else can take that rank's place. Throws usage for tasks that a launcher started without MPI
/// (`srun -n 4` without --mpi=pmix), each of which would do the whole job.
bool launched_in_parallel();

/// This process's place in the job whose environment it inherited, as far as its launcher tells it.
struct JobPlace {
  std::string rank;
  std::string size;
  std::string hosts;          ///< as the launcher writes a list of them: "node[1-2]"
  std::string words() const;  ///< "rank 3 of 8"
};
JobPlace place_in_job();

/// The ancestor of this process that has the same place in the job, if any.
enum class JobAncestor {
  nothing,      ///< none: the launcher started it
  without_mpi,  ///< a script or program that does not use MPI
  with_mpi,     ///< a program that has MPI loaded
};
JobAncestor job_ancestor();

}  // namespace ckpt
