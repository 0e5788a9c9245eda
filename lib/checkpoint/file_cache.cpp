#include "checkpoint/file_cache.hpp"

#include <algorithm>
#include <string>

#include "base/limits.hpp"

namespace ckpt {

namespace {

/// A larger cache is of no use.
constexpr std::uint64_t most_in_cache = 4096;

/// Each thread may use a file that the cache has already dropped, and one that a format's library opens besides.
constexpr std::uint64_t files_of_thread = 2;

/// A job has two caches. A source file that only a format's library can read is open twice, and once more when it is
/// read with direct I/O. The rest is for later: journals, manifests, connections.
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
