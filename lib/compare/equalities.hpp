#pragma once

#include <cstddef>
#include <vector>

#include "checkpoint/source_reader.hpp"
#include "compare/replicas.hpp"
#include "exchange/exchange.hpp"
#include "plan/readers.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// A checkpoint whose layout says that some parameters have the values of others.
struct EqualFiles {
  ReplicatedFiles replicated;
  const Readers& readers;  ///< of the parameters that are rounded
  SourceStore& store;
  std::vector<Equality> pairs;  ///< skips those without elements of fixed size
  std::size_t most_open = 1;    ///< limit for the files, which are opened once more
};

/// Compares the values of each pair's parameter, rounded to the dtype of the other, with the other's, to the same
/// extent as replicas. `exchange` moves the elements of one to where the other's are read. Throws input, naming both
/// parameters and the first element, if they are not the same or cannot be. Collective.
void check_equalities(const EqualFiles& files, Exchange& exchange, Communicator& processes);

}  // namespace ckpt
