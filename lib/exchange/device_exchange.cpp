#include "exchange/device_exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/printable.hpp"
#include "base/trace.hpp"
#include "exchange/device_round.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

namespace {

/// Breaks a hang: if a process that has failed is still blocked when the time is up (by a call into a driver, or
/// waiting for a process that has ended), it reports why, and ends the whole job including itself.
class Watchdog {
 public:
  Watchdog(Communicator& processes, const std::string& message, std::chrono::milliseconds limit)
      : processes_(processes),
        text_("error: " + printable(message) + "\n"),
        limit_(limit),
        was_interrupted_(is_interrupted()),
        thread_([this] { watch(); }) {}

  /// Cancels it: the process is no longer blocked.
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      is_off_ = true;
    }
    called_off_.notify_all();
    thread_.join();
  }

  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  Watchdog(Watchdog&&) = delete;
  Watchdog& operator=(Watchdog&&) = delete;

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    if (called_off_.wait_for(lock, limit_, [this] { return is_off_; })) return;
    // A launcher that ends the job sends a signal about a second before it kills: then another process has said why.
    const bool is_told = is_interrupted() && !was_interrupted_;
    // Not by the log, which only the first process shows: it may be the lost one.
    if (!is_told) std::fputs(text_.c_str(), stderr);
    processes_.abandon(1);
    std::_Exit(1);
  }

  Communicator& processes_;
  std::string text_;
  std::chrono::milliseconds limit_;
  bool was_interrupted_;
  std::mutex mutex_;
  std::condition_variable called_off_;
  bool is_off_ = false;
  std::thread thread_;
};

using Clock = std::chrono::steady_clock;
using Queue = Device::Queue;

constexpr std::size_t rounds_under_way = 4;  // read, uploaded, exchanged and downloaded, written
constexpr std::uint64_t best_device_scratch = 1ULL << 20;
constexpr std::chrono::milliseconds alarm_patience{500};

/// How staging memory is divided: scratch for each thread, and four rounds.
struct DeviceShares {
  explicit DeviceShares(const Staging& staging) : threads(std::max(staging.threads, 1U)) {
    scratch_bytes =
        std::clamp<std::uint64_t>(staging.memory_bytes / (8ULL * threads), 64ULL << 10, best_device_scratch);
    const std::uint64_t host = staging.memory_bytes - std::min(staging.memory_bytes / 2, scratch_bytes * threads);
    part_bytes = std::min(host / rounds_under_way * 2 / 7, staging.device_memory_bytes / rounds_under_way * 2 / 11);
  }
  std::uint64_t staging_bytes() const {
    return rounds_under_way * DeviceRound::host_bytes(part_bytes) + threads * scratch_bytes;
  }

  unsigned threads;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t part_bytes = 0;
};

/// Thrown to leave work on the devices after another process has failed; all processes then throw that process's error.
struct PeerFailure {};

/// One run of the exchange, which owns everything that it uses on the device.
class DeviceRun {
 public:
  DeviceRun(Communicator& processes, const DeviceShares& shares, std::chrono::seconds stall_limit, Workload& work)
      : processes_(processes),
        shares_(shares),
        stall_limit_(stall_limit),
        work_(work),
        rounds_(processes, shares.part_bytes),
        workers_(shares.threads),
        slots_{DeviceRound(workers_), DeviceRound(workers_), DeviceRound(workers_), DeviceRound(workers_)} {}

  void run(const MakeDevice& make) {
    try {
      open(make);
      move();
      close();
    } catch (const std::exception& error) {
      watch_over(error.what());
      work_.stop();
      if (device_) device_->abort();
      throw;
    }
  }

 private:
  DeviceRound& slot(std::size_t round) { return slots_[round % slots_.size()]; }
  bool is_alone() const { return processes_.size() == 1; }

  void open(const MakeDevice& make) {
    processes_.clear_alarms();  // left from an exchange that failed
    std::string invitation;
    agree(processes_, [&] {
      device_ = make();
      if (processes_.rank() == 0 && !is_alone()) invitation = device_->invitation();
      for (DeviceRound& slot : slots_) slot.reserve(*device_, shares_.part_bytes);
    });
    if (is_alone()) return;
    invitation = processes_.broadcast(invitation, 0);
    agree_on_devices([&] {
      device_->connect(invitation);
      wait_until([&] { return device_->is_linked(); });
    });
  }

  void close() {
    if (is_alone()) return;
    agree_on_devices([&] {
      device_->disconnect();
      wait_until([&] { return device_->is_linked(); });
    });
  }

  /// Begins the rounds one after another; each time, sends the previous one and writes the one before that.
  void move() {
    for (std::size_t r = 0;; ++r) {
      const bool more = begin(slot(r));
      if (r > 0) send(slot(r - 1), r > 1 ? &slot(r - 2) : nullptr);
      if (more) continue;
      if (r > 0) agree_on_devices([&] { settle(); });
      if (r > 0) slot(r - 1).write(work_);
      break;
    }
    agree(processes_, [&] {
      for (DeviceRound& slot : slots_) slot.wait_for_writes();
    });
  }

  /// Returns false if no process has a chunk left.
  bool begin(DeviceRound& slot) {
    agree(processes_, [&] {
      slot.wait_for_writes();  // its memory is free again
      rounds_.plan_ahead(work_);
    });
    if (!rounds_.agree_on_grants()) return false;
    agree(processes_, [&] { rounds_.take_chunks(slot.plan); });
    rounds_.ask(slot.plan);
    agree(processes_, [&] {
      rounds_.accept(work_, slot.plan);
      slot.assign_places();
    });
    if (processes_.maximum(slot.has_room() ? 0 : 1) != 0)
      agree_on_devices([&] {
        settle();
        slot.make_room(*device_);
      });
    agree(processes_, [&] { slot.read(work_, shares_.scratch_bytes); });
    return true;
  }

  /// Waits for all work given to the device, on all processes alike.
  void settle() {
    for (const DeviceRound& each : slots_)
      if (each.arrived) wait_until([&] { return each.arrived->is_reached(); });
  }

  /// Queues all of a round's work on the device, waits for the previous round, and has that one written.
  void send(DeviceRound& now, DeviceRound* before) {
    agree(processes_, [&] {
      now.wait_for_reads();
      now.upload_and_pack(*device_);
      device_->follow(Queue::link, Queue::up);
    });
    agree_on_devices([&] {
      exchange(now);
      device_->follow(Queue::down, Queue::link);
      now.assemble_and_download(*device_);
      if (before != nullptr) wait_until([&] { return before->arrived->is_reached(); });
    });
    if (before != nullptr) before->write(work_);
  }

  void exchange(const DeviceRound& round) {
    const auto sends = rounds_.outgoing(round.plan.sent, round.sent());
    const auto receives = rounds_.incoming(round.plan.received, round.received());
    if (sends.empty() && receives.empty()) return;
    const trace::Timed timed("exchange");  // until the link is done
    device_->exchange(sends, receives);
    wait_until([&] { return device_->is_linked(); });
  }

  /// Agrees on work in which devices wait for one another: a process that fails in it frees the others.
  template <class Work>
  void agree_on_devices(Work&& work) {
    agree(processes_, [&] {
      try {
        work();
      } catch (const PeerFailure&) {
        watch_over("exchange over GPUs: another process failed", false);
        device_->abort();
      } catch (const std::exception& error) {
        watch_over(error.what());
        processes_.raise_alarm();
        device_->abort();
        throw;
      }
    });
  }

  /// A link that breaks is often how a process hears first that another one has given up: that one knows why, and its
  /// alarm is on the way.
  template <class IsDone>
  bool ask(IsDone& is_done) {
    try {
      return is_done();
    } catch (const Error& error) {
      if (error.kind() != Kind::peer) throw;
      const auto limit = Clock::now() + alarm_patience;
      while (!processes_.is_alarmed()) {
        if (Clock::now() > limit) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      throw PeerFailure{};
    }
  }

  /// Waits for the device as long as it gets on and no other process has given up.
  template <class IsDone>
  void wait_until(IsDone&& is_done) {
    const auto limit = Clock::now() + stall_limit_;
    while (!ask(is_done)) {
      check_interrupt();
      if (processes_.is_alarmed()) throw PeerFailure{};
      if (Clock::now() > limit)
        throw Error(Kind::peer, "exchange over GPUs",
                    {"no progress for " + std::to_string(stall_limit_.count()) + " s on process " +
                         std::to_string(processes_.rank()) + " of " + std::to_string(processes_.size()),
                     "",
                     "was a process or a link lost? NCCL_DEBUG=WARN tells more",
                     {Advice::What::more_patience, ""}});
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  /// From here on this process must end in time. If several fail, the first that failed reports why, as it knows most:
  /// the launcher ends the others before their limits pass.
  void watch_over(const std::string& message, bool is_own = true) {
    if (watchdog_) return;
    const int limit_ms = is_own ? 4000 + 750 * processes_.rank() / processes_.size() : 4875;
    watchdog_.emplace(processes_, message, std::chrono::milliseconds(limit_ms));
  }

  Communicator& processes_;
  const DeviceShares& shares_;
  std::chrono::seconds stall_limit_;
  Workload& work_;
  std::optional<Watchdog> watchdog_;  // outlives the device, which may block
  std::unique_ptr<Device> device_;
  Rounds rounds_;
  Workers workers_;
  std::array<DeviceRound, rounds_under_way> slots_;
};

class DeviceExchange final : public Exchange {
 public:
  DeviceExchange(Communicator& processes, const Staging& staging, const char* name, MakeDevice make)
      : processes_(processes),
        shares_(staging),
        stall_limit_(staging.stall_limit),
        name_(name),
        make_(std::move(make)),
        chunk_bytes_(Rounds(processes, shares_.part_bytes).chunk_bytes()) {}

  const char* name() const noexcept override { return name_; }
  std::uint64_t chunk_bytes() const noexcept override { return chunk_bytes_; }
  std::uint64_t staging_bytes() const noexcept override { return shares_.staging_bytes(); }
  void run(Workload& work) override { DeviceRun(processes_, shares_, stall_limit_, work).run(make_); }

 private:
  Communicator& processes_;
  DeviceShares shares_;
  std::chrono::seconds stall_limit_;
  const char* name_;
  MakeDevice make_;
  std::uint64_t chunk_bytes_;
};

}  // namespace

std::unique_ptr<Exchange> device_exchange(Communicator& processes, const Staging& staging, const char* name,
                                          MakeDevice make) {
  return std::make_unique<DeviceExchange>(processes, staging, name, std::move(make));
}

}  // namespace ckpt
