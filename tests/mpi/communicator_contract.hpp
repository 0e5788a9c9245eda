#pragma once

#include <algorithm>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "processes/communicator.hpp"

// What every Communicator promises, as functions that each process runs. None of them checks between two collective
// calls: results are collected first, so that a process whose check fails leaves no other waiting.
namespace ckpt::contract {

/// `size` bytes that tell who sent them and to whom.
inline std::string message(int from, int to, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<char>(static_cast<std::size_t>(31 * from + 7 * to) + i * 13 + (i >> 8));
  return bytes;
}

/// Sizes that differ with the pair; some are 0.
inline std::size_t uneven(int from, int to, std::size_t unit) {
  return static_cast<std::size_t>((from + 2 * to) % 4) * unit;
}

inline void identity(const Communicator& processes) {
  CHECK(processes.size() >= 1);
  CHECK(processes.rank() >= 0);
  CHECK(processes.rank() < processes.size());
  CHECK(processes.local_rank() >= 0);
  CHECK(processes.local_rank() < processes.local_size());
  CHECK(processes.local_size() <= processes.size());
}

inline void gathers(Communicator& processes, std::size_t unit) {
  const auto all = processes.all_gather(message(processes.rank(), 1, uneven(processes.rank(), 1, unit)));
  const auto none = processes.all_gather("");
  CHECK(all.size() == static_cast<std::size_t>(processes.size()));
  if (all.size() != static_cast<std::size_t>(processes.size())) return;
  for (int p = 0; p < processes.size(); ++p)
    CHECK((all[static_cast<std::size_t>(p)] == message(p, 1, uneven(p, 1, unit))));
  CHECK(none == std::vector<std::string>(static_cast<std::size_t>(processes.size())));
}

inline void broadcasts(Communicator& processes, std::size_t size) {
  std::vector<std::string> got;
  for (int root = 0; root < processes.size(); ++root)
    got.push_back(processes.broadcast(processes.rank() == root ? message(root, 0, size) : "ignored", root));
  const auto empty = processes.broadcast("", processes.size() - 1);
  for (int root = 0; root < processes.size(); ++root)
    CHECK((got[static_cast<std::size_t>(root)] == message(root, 0, size)));
  CHECK(empty.empty());
}

inline void reduces(Communicator& processes) {
  const auto rank = static_cast<std::uint64_t>(processes.rank());
  const auto size = static_cast<std::uint64_t>(processes.size());
  const auto total = processes.sum((1ULL << 40) + rank);
  const auto largest = processes.maximum((1ULL << 63) + rank);
  processes.sum(0);
  CHECK(total == (size << 40) + size * (size - 1) / 2);
  CHECK(largest == (1ULL << 63) + size - 1);
}

inline void exchanges(Communicator& processes, std::size_t unit) {
  std::vector<std::string> to_peer;
  for (int p = 0; p < processes.size(); ++p)
    to_peer.push_back(message(processes.rank(), p, uneven(processes.rank(), p, unit)));
  const auto from_peer = processes.all_to_all(std::move(to_peer));
  CHECK(from_peer.size() == static_cast<std::size_t>(processes.size()));
  if (from_peer.size() != static_cast<std::size_t>(processes.size())) return;
  for (int p = 0; p < processes.size(); ++p)
    CHECK((from_peer[static_cast<std::size_t>(p)] == message(p, processes.rank(), uneven(p, processes.rank(), unit))));
}

struct Caught {
  Kind kind;
  std::string text;
  bool together;
};

/// What agree() throws when each process does `work`, and whether all processes saw the same.
inline std::optional<Caught> agreed(Communicator& processes, const std::function<void()>& work, bool& same) {
  std::optional<Caught> caught;
  try {
    agree(processes, work);
  } catch (const Error& error) {
    caught = Caught{error.kind(), error.what(), processes.failed_together()};
  }
  const auto mine = caught ? std::to_string(static_cast<int>(caught->kind)) + caught->text : "nothing";
  const auto all = processes.all_gather(mine);
  same = std::count(all.begin(), all.end(), mine) == processes.size();
  return caught;
}

inline void agrees_on_success(Communicator& processes) {
  bool same = false;
  int done = 0;
  const auto caught = agreed(
      processes, [&] { ++done; }, same);
  CHECK_FALSE(caught.has_value());
  CHECK_FALSE(processes.failed_together());
  CHECK(same);
  CHECK(done == 1);
}

/// Every set of failing processes (up to five processes: 31 of them) ends with the lowest one's error on all.
inline void agrees_on_failure(Communicator& processes) {
  const int rank = processes.rank();
  for (unsigned failing = 1; failing < (1U << processes.size()); ++failing) {
    int lowest = 0;
    while ((failing >> lowest & 1U) == 0) ++lowest;
    const Kind kind = lowest % 2 == 0 ? Kind::layout : Kind::input;
    bool same = false;
    const auto caught = agreed(
        processes,
        [&] {
          if ((failing >> rank & 1U) != 0)
            throw Error(rank % 2 == 0 ? Kind::layout : Kind::input, "rank_" + std::to_string(rank) + ".h5: bad");
        },
        same);
    CAPTURE(failing, lowest);
    CHECK(same);
    CHECK(caught.has_value());
    if (!caught) continue;
    CHECK(caught->kind == kind);
    CHECK(caught->text == "rank_" + std::to_string(lowest) + ".h5: bad");
    CHECK(caught->together);
  }
  agree(processes, [] {});
  CHECK_FALSE(processes.failed_together());  // dealt with
}

inline void agrees_on_other_exceptions(Communicator& processes) {
  const int last = processes.size() - 1;
  const auto failing = [&](auto exception) {
    return [&processes, last, exception] {
      if (processes.rank() == last) throw exception;
    };
  };
  bool same_memory = false;
  bool same_standard = false;
  bool same_unknown = false;
  const auto memory = agreed(processes, failing(std::bad_alloc()), same_memory);
  const auto standard = agreed(processes, failing(std::runtime_error("broken pipe")), same_standard);
  const auto unknown = agreed(processes, failing(42), same_unknown);
  CHECK((same_memory && same_standard && same_unknown));
  CHECK((memory && standard && unknown));
  if (!memory || !standard || !unknown) return;
  CHECK(memory->kind == Kind::io);
  CHECK_THAT(memory->text, Catch::Matchers::Contains("out of memory; run fewer processes"));
  CHECK(standard->kind == Kind::io);
  CHECK_THAT(standard->text, Catch::Matchers::Contains("broken pipe"));
  CHECK(unknown->kind == Kind::io);
  if (processes.size() > 1) CHECK_THAT(memory->text, Catch::Matchers::Contains(processes.name_of(last)));
}

/// Every process but the last waits until it is alarmed; alarms that nobody asked about are forgotten all the same.
inline void alarms(Communicator& processes) {
  const bool is_last = processes.rank() == processes.size() - 1;
  int wrong = 0;
  for (int round = 0; round < 3; ++round) {
    processes.clear_alarms();
    wrong += processes.is_alarmed() ? 1 : 0;
    processes.sum(0);
    if (is_last) processes.raise_alarm();
    while (round > 0 && !is_last && !processes.is_alarmed()) {
    }
    processes.sum(0);
  }
  processes.clear_alarms();
  wrong += processes.is_alarmed() ? 1 : 0;
  CHECK(wrong == 0);
}

/// All of it. `unit` bytes: the largest message of each case is three times that.
inline void all(Communicator& processes, std::size_t unit) {
  identity(processes);
  gathers(processes, unit);
  broadcasts(processes, unit);
  reduces(processes);
  exchanges(processes, unit);
  agrees_on_success(processes);
  agrees_on_failure(processes);
  agrees_on_other_exceptions(processes);
  alarms(processes);
}

}  // namespace ckpt::contract
