#include "diagnosis/check_source.hpp"

#include "base/log.hpp"
#include "diagnosis/discarded_copies.hpp"
#include "diagnosis/equal_pieces_words.hpp"
#include "diagnosis/plain_copies.hpp"

namespace ckpt {

void check_source(const EqualFiles& files, Exchange& exchange, Communicator& processes) {
  check_replicas(files.replicated, processes);
  if (files.replicated.checkpoint.describes_itself())
    for (const std::string& warning : warnings_of_plain_copies(files.replicated, processes)) log::warn(warning);
  else
    for (const auto find : {find_discarded_copies, warnings_of_equal_pieces})
      for (const std::string& warning : find(files.replicated, processes)) log::warn(warning);
  check_equalities(files, exchange, processes);
}

}  // namespace ckpt
