#include "checkpoint/file_cache.hpp"

#include <algorithm>
#include <string>

#include "base/limits.hpp"

namespace ckpt {

namespace {

/// More are of no use.
constexpr std::uint64_t most_in_cache = 4096;

/// A file that is read or written though its cache has let go of it, and one that a format's library opens beside it.
constexpr std::uint64_t files_of_thread = 2;

/// A job has two caches. A source that a format's library must read is open twice, and once more where it is read past
/// the system's memory. The rest is for what comes later: journals, manifests, connections.
constexpr std::uint64_t parts = 5;

}  // namespace

std::size_t files_in_cache(const OpenFiles& files, unsigned threads) {
  const std::uint64_t needed = files.open + files_of_thread * threads + parts;
  if (files.most < needed)
    throw Error(Kind::io, "ulimit -n",
                {"it allows " + std::to_string(files.most) + " open files",
                 "at least " + std::to_string(needed) + " for " + std::to_string(threads) +
                     (threads == 1 ? " thread" : " threads") + " (" + std::to_string(files.open) + " are open already)",
                 "raise it",
                 {Advice::What::fewer_threads, ""}});
  return static_cast<std::size_t>(std::min((files.most - needed) / parts + 1, most_in_cache));
}

std::size_t files_in_cache(unsigned threads) {
  return files_in_cache(open_files(), threads);
}

}  // namespace ckpt
