#pragma once

#include <atomic>

#include "exchange/traffic.hpp"

namespace ckpt {

enum class Phase : int { catalog, keys, plan, replicas, metadata, resume, move, reread, compare, publish, done };

/// The progress of a running job in this process.
struct Counters : Traffic {
  std::atomic<Phase> phase{Phase::catalog};
};

}  // namespace ckpt
