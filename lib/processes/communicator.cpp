#include "processes/communicator.hpp"

#include <filesystem>
#include <new>
#include <optional>
#include <utility>

#include "base/wire.hpp"

namespace ckpt {

namespace {

std::string named(const Communicator& processes) {
  if (processes.size() == 1) return {};
  return "process " + std::to_string(processes.rank()) + " of " + std::to_string(processes.size());
}

std::optional<Error> failure_of(const std::function<void()>& work, const Communicator& processes) {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(Kind::io, named(processes),
                 {"out of memory", "", "run fewer processes on a node", {Advice::What::less_memory, ""}});
  } catch (const std::filesystem::filesystem_error& error) {
    return system_error(error.path1().string(), "cannot be used", error.code().value());
  } catch (const std::exception& error) {
    return Error(Kind::io, named(processes), {error.what(), "", ""});
  } catch (...) {
    return Error(Kind::io, named(processes), {"an error of an unknown type", "", ""});
  }
}

class SingleProcess final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 1; }
  std::vector<std::string> all_gather(const std::string& mine) override { return {mine}; }
  std::string broadcast(const std::string& bytes, int root) override {
    if (root != 0) throw Error(Kind::peer, "broadcast", {"from process " + std::to_string(root), "process 0 of 1", ""});
    return bytes;
  }
  std::uint64_t sum(std::uint64_t value) override { return value; }
  std::uint64_t maximum(std::uint64_t value) override { return value; }
  std::vector<std::string> all_to_all(std::vector<std::string> to_peer) override {
    if (to_peer.size() != 1)
      throw Error(Kind::peer, "all_to_all", {std::to_string(to_peer.size()) + " messages", "one, for 1 process", ""});
    return to_peer;
  }
  std::unique_ptr<Pending> start(const std::vector<Message>& sends, const std::vector<Message>& receives) override {
    if (!sends.empty() || !receives.empty())
      throw Error(Kind::peer, "start", {"messages to another process", "none, for there is one process", ""});
    return std::make_unique<NothingPending>();
  }
  void raise_alarm() override {}
  bool is_alarmed() override { return false; }
  void clear_alarms() override {}
  void abandon(int /*status*/) noexcept override {}

 private:
  struct NothingPending final : Pending {
    bool is_done() override { return true; }
    void wait() override {}
  };
};

}  // namespace

void agree(Communicator& processes, const std::function<void()>& work) {
  processes.set_failed_together(false);  // any earlier agreed error has been handled
  const auto failure = failure_of(work, processes);
  // One reduction shows both whether any process failed and the lowest that did: a lower rank makes a higher bid.
  const int bid = failure ? processes.size() - processes.rank() : 0;
  const auto highest = static_cast<int>(processes.maximum(static_cast<std::uint64_t>(bid)));
  if (highest == 0) return;
  const auto lowest = processes.broadcast(failure ? wire::packed(*failure) : "", processes.size() - highest);
  processes.set_failed_together(true);
  throw wire::unpacked<Error>(lowest);
}

std::unique_ptr<Communicator> single_process() {
  return std::make_unique<SingleProcess>();
}

}  // namespace ckpt
