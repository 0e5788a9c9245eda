#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/wire.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// Returns every process's value, by rank. Collective, like all functions below.
template <class T>
std::vector<T> gather_all(const T& mine, Communicator& processes) {
  if (processes.size() == 1) return {mine};
  std::vector<T> all;
  for (const std::string& bytes : processes.all_gather(wire::packed(mine))) all.push_back(wire::unpacked<T>(bytes));
  return all;
}

/// Returns the value of one process.
template <class T>
T value_of(int process, const T& mine, Communicator& processes) {
  if (processes.size() == 1) return mine;
  return wire::unpacked<T>(processes.broadcast(processes.rank() == process ? wire::packed(mine) : "", process));
}

/// Sends to_peer[p] to process p; returns what each process has sent to this one, by rank.
template <class T>
std::vector<T> exchange_values(std::vector<T> to_peer, Communicator& processes) {
  if (processes.size() == 1) return to_peer;
  std::vector<std::string> messages;
  for (const T& each : to_peer) messages.push_back(wire::packed(each));
  std::vector<T> received;
  for (const std::string& bytes : processes.all_to_all(std::move(messages)))
    received.push_back(wire::unpacked<T>(bytes));
  return received;
}

/// Returns the concatenated lists of all processes on process 0; nothing on the others.
template <class T>
std::vector<T> gather_at_first(const std::vector<T>& mine, Communicator& processes) {
  std::vector<std::vector<T>> to_peer(static_cast<std::size_t>(processes.size()));
  to_peer[0] = mine;
  std::vector<T> list;
  for (const auto& theirs : exchange_values(std::move(to_peer), processes))
    list.insert(list.end(), theirs.begin(), theirs.end());
  return list;
}

/// Returns what all processes have found, without repetition; `mine` is each process's own list.
template <class Value>
std::set<Value> of_all(const std::vector<Value>& mine, Communicator& processes) {
  std::set<Value> all;
  for (const std::vector<Value>& each : gather_all(mine, processes)) all.insert(each.begin(), each.end());
  return all;
}

}  // namespace ckpt
