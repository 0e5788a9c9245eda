#pragma once

#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "exchange/communicator.hpp"

namespace ckpt {

/// What all processes have found, as one list without repetition; each process's own is `mine`.
template <class Value>
std::set<Value> of_all(const std::vector<Value>& mine, Communicator& processes) {
  std::set<Value> all;
  for (const std::string& text :
       processes.all_gather(nlohmann::json(mine).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)))
    for (const auto& value : nlohmann::json::parse(text)) all.insert(value.get<Value>());
  return all;
}

}  // namespace ckpt
