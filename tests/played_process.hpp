#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "processes/communicator.hpp"

namespace ckpt::fixture {

/// A process that is asked for nothing but its number.
class Played final : public Communicator {
 public:
  Played(int rank, int size, std::string host = "") : rank_(rank), size_(size), host_(std::move(host)) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 1; }
  unsigned processors() const override { return 1; }
  std::string host_of(int /*rank*/) const override { return host_; }
  void share_work(std::function<Work()>) override {}
  Work shared_work() const override { return {}; }
  std::vector<std::string> all_gather(const std::string&) override { return refuse(); }
  std::string broadcast(const std::string&, int) override { return refuse().front(); }
  std::uint64_t sum(std::uint64_t) override { return refuse().size(); }
  std::uint64_t maximum(std::uint64_t) override { return refuse().size(); }
  std::vector<std::string> all_to_all(std::vector<std::string>) override { return refuse(); }
  std::unique_ptr<Pending> start(const std::vector<Message>&, const std::vector<Message>&) override {
    refuse();
    return nullptr;
  }
  void raise_alarm() override {}
  bool is_alarmed() override { return false; }
  void clear_alarms() override {}
  void abandon(int status) noexcept override { std::exit(status); }

 private:
  static std::vector<std::string> refuse() { throw Error(Kind::peer, "a played process talks to nobody"); }

  int rank_;
  int size_;
  std::string host_;
};

}  // namespace ckpt::fixture
