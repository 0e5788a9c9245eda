#include "processes/communicator.hpp"

#include <filesystem>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "base/limits.hpp"
#include "base/wire.hpp"
#include "processes/host_of_error.hpp"

namespace ckpt {

namespace {

/// Its host is added where all processes are told (`naming_host`).
std::string named(const Communicator& processes) {
  return processes.size() == 1 ? "" : "process " + std::to_string(processes.rank());
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
  unsigned processors() const override { return share_of(allowed_processors(), {}).processors; }
  void share_work(std::function<Work()> mine) override { mine_ = std::move(mine); }
  Work shared_work() const override { return mine_ ? mine_() : Work(); }
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

  std::function<Work()> mine_;
};

}  // namespace

std::string Communicator::name_of(int rank) const {
  const std::string host = host_of(rank);
  return "process " + std::to_string(rank) + (host.empty() ? "" : " (" + host + ")");
}

Error naming_host(const Error& error, int rank, const Communicator& processes) {
  const std::string host = processes.host_of(rank);
  const bool is_of_all = error.kind() == Kind::usage || error.kind() == Kind::layout || error.kind() == Kind::peer;
  if (host.empty() || is_of_all) return error;
  Error::Parts parts = error.to_wire();
  auto& [kind, object, text, file, parameter, advice, may_pass] = parts;
  std::string& text_of_place = object.empty() ? text.found : object;
  const std::size_t at = file.empty() ? std::string::npos : object.find(file);
  text_of_place.insert(at == std::string::npos ? text_of_place.size() : at + file.size(), " (on " + host + ")");
  return Error(std::move(parts));
}

void agree(Communicator& processes, const std::function<void()>& work) {
  processes.set_failed_together(false);  // any earlier agreed error has been handled
  const auto failure = failure_of(work, processes);
  // One reduction shows both whether any process failed and the lowest that did: a lower rank makes a higher bid.
  const int bid = failure ? processes.size() - processes.rank() : 0;
  const auto highest = static_cast<int>(processes.maximum(static_cast<std::uint64_t>(bid)));
  if (highest == 0) return;
  const int lowest = processes.size() - highest;
  const std::string mine = failure ? wire::packed(*failure) : "";
  const std::string first = processes.broadcast(mine, lowest);
  const std::uint64_t same = processes.sum(mine == first ? 1 : 0);
  processes.set_failed_together(true);
  const auto error = wire::unpacked<Error>(first);
  throw same == static_cast<std::uint64_t>(processes.size()) ? error : naming_host(error, lowest, processes);
}

std::vector<std::uint32_t> host_numbers(const Communicator& processes) {
  std::map<std::string, std::uint32_t> number_of;
  std::vector<std::uint32_t> numbers;
  for (int rank = 0; rank < processes.size(); ++rank)
    numbers.push_back(number_of.emplace(processes.host_of(rank), number_of.size()).first->second);
  return numbers;
}

std::unique_ptr<Communicator> single_process() {
  return std::make_unique<SingleProcess>();
}

}  // namespace ckpt
