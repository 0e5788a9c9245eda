#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "base/buffer.hpp"
#include "base/error.hpp"
#include "exchange/device.hpp"
#include "host_grid.hpp"

namespace ckpt {

/// A GPU played by the host, to find on any machine what an exchange leaves to luck. Nothing happens when it is asked
/// for: what waits in the queues is done bit by bit, one queue at a time at random, as late as somebody asks whether a
/// mark is reached. So whatever misses an order that was not asked for, or memory that was used again too soon, is
/// seen. Messages go by the communicator.
class SimulatedDevice final : public Device {
 public:
  SimulatedDevice(Communicator& processes, std::uint64_t seed) : processes_(processes), engine_(seed) {}

  /// What happens at the nth call of what is named ("memory", "upload", "exchange" or "mark"): it throws; it throws,
  /// and giving up never comes to an end; it never gets further.
  enum class Fault : std::uint8_t { none, error, stuck, hang };
  void fail_at(std::string what, int nth, Fault fault) {
    fails_ = std::move(what);
    countdown_ = nth;
    fault_ = fault;
  }

  std::unique_ptr<Memory> host_memory(std::uint64_t bytes) override { return memory(bytes); }
  std::unique_ptr<Memory> device_memory(std::uint64_t bytes) override {
    maybe_fail("memory");
    return memory(bytes);
  }
  void upload(std::byte* device, const std::byte* host, std::uint64_t bytes) override {
    maybe_fail("upload");
    put(Queue::up, [=] { std::memcpy(device, host, bytes); });
  }
  void download(std::byte* host, const std::byte* device, std::uint64_t bytes) override {
    put(Queue::down, [=] { std::memcpy(host, device, bytes); });
  }
  void clear(Queue queue, std::byte* device, std::uint64_t bytes) override {
    put(queue, [=] { std::memset(device, 0, bytes); });
  }
  void copy(Queue queue, std::byte* base, const CopyTableView& table) override {
    put(queue, [=] { run_on_host(table, base); });
  }
  void follow(Queue later, Queue earlier) override {
    const auto is_done = std::make_shared<bool>(false);
    put(earlier, [=] { *is_done = true; });
    of(later).push_back([=] { return *is_done; });
  }
  std::unique_ptr<Mark> mark(Queue queue) override {
    maybe_fail("mark");
    const auto is_done = std::make_shared<bool>(false);
    put(queue, [=] { *is_done = true; });
    return std::make_unique<Point>(*this, is_done);
  }

  std::string invitation() override { return "come"; }
  void connect(const std::string& invitation) override {
    if (invitation != "come") throw Error(Kind::peer, "simulated device", {"'" + invitation + "'", "'come'", ""});
    linking_ = 2;
  }
  void exchange(const Messages& sends, const Messages& receives) override {
    if (linking_ != 0) throw Error(Kind::peer, "simulated device", {"exchange", "is_linked() first", ""});
    linking_ = 2;
    maybe_fail("exchange");
    std::shared_ptr<Communicator::Pending> pending;
    of(Queue::link).push_back([this, sends, receives, pending]() mutable {
      if (!pending) pending = processes_.start(sends, receives);
      return pending->is_done();
    });
  }
  void disconnect() override { linking_ = 2; }
  bool is_linked() override { return linking_ == 0 || --linking_ == 0; }

  /// Where every process has put the same messages into its queue, all come to their end.
  void abort() noexcept override {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    const auto is_idle = [&] {
      return std::all_of(queues_.begin(), queues_.end(), [](const auto& queue) { return queue.empty(); });
    };
    while (is_stuck_ || (!is_idle() && std::chrono::steady_clock::now() < limit)) step();
  }

 private:
  using Task = std::function<bool()>;  // whether it is done

  struct Room final : Memory {
    explicit Room(std::uint64_t bytes) : buffer(std::max<std::uint64_t>(bytes, 1)) {
      std::memset(buffer.data(), 0xA5, buffer.size());
    }
    std::byte* data() const noexcept override { return buffer.data(); }
    Buffer buffer;
  };
  struct Point final : Mark {
    Point(SimulatedDevice& owner, std::shared_ptr<bool> flag) : device(owner), is_done(std::move(flag)) {}
    bool is_reached() override {
      for (int i = 0; i < 3; ++i) device.step();
      return *is_done;
    }
    SimulatedDevice& device;
    std::shared_ptr<bool> is_done;
  };

  static std::unique_ptr<Memory> memory(std::uint64_t bytes) { return std::make_unique<Room>(bytes); }
  std::deque<Task>& of(Queue queue) { return queues_[static_cast<std::size_t>(queue)]; }
  template <class Work>
  void put(Queue queue, Work work) {
    of(queue).push_back([work] {
      work();
      return true;
    });
  }
  void step() {
    auto& queue = queues_[engine_() % queues_.size()];
    if (!hangs_ && !queue.empty() && queue.front()()) queue.pop_front();
  }
  void maybe_fail(const char* what) {
    if (fails_ != what || countdown_-- != 0) return;
    hangs_ = fault_ == Fault::hang;
    is_stuck_ = fault_ == Fault::stuck;
    if (!hangs_) throw Error(Kind::io, "process " + std::to_string(processes_.rank()) + ": " + what + " failed");
  }

  Communicator& processes_;
  std::mt19937_64 engine_;
  std::array<std::deque<Task>, 3> queues_;
  int linking_ = 0;
  std::string fails_;
  int countdown_ = 0;
  Fault fault_ = Fault::none;
  bool hangs_ = false;
  bool is_stuck_ = false;
};

}  // namespace ckpt
