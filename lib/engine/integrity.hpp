#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/job.hpp"
#include "exchange/communicator.hpp"

namespace ckpt {

/// What of a checkpoint is not as its manifest says.
struct Damage {
  enum class What {
    manifest,  ///< the manifest itself: nothing else can be held against it
    missing,
    surplus,     ///< a file of the same kind that the manifest does not name
    size,        ///< truncated, or grown
    unreadable,  ///< the metadata: `detail` says of which file
    layout,      ///< the file carries another layout: it comes from another run
    swapped,     ///< it holds what the file in `detail` should
    content,     ///< some byte
    parameter,   ///< the files are what they should be, but what they hold together is not
  };
  What what = What::content;
  std::string file;    ///< empty where it is not one file's
  std::string detail;  ///< what is found, and what was expected
  /// Those that are not what they should be, of what the file holds a part; none: metadata or padding.
  std::vector<std::string> parameters;
};

struct Integrity {
  std::uint64_t files = 0;
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;      ///< of the files' data
  std::vector<Damage> damages;  ///< files and parameters are not counted where the manifest is damaged
};

/// Holds the checkpoint job.source against the manifest that was written with it: its files, their sizes, and the
/// fingerprints of every file and of every copy of every parameter, computed anew from all that the files hold. What
/// keeps data from being reached (files that are missing, of another size or unreadable) ends the search. Collective;
/// the result is the same on every process, and for any number of them. Throws input where there is no manifest.
Integrity check_integrity(const Job& job, Communicator& processes, Counters& counters);

}  // namespace ckpt
