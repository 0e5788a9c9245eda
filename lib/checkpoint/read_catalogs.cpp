#include "checkpoint/read_catalogs.hpp"

#include <algorithm>
#include <numeric>
#include <system_error>

#include "base/interrupt.hpp"
#include "base/limits.hpp"
#include "base/parallel.hpp"
#include "io/posix_file.hpp"
#include "processes/gather_all.hpp"
#include "sandbox/helper_process.hpp"

namespace ckpt {

namespace {

/// How many files a node reads together when storage is slow to answer.
constexpr unsigned files_at_once = 16;

/// Metadata is at a file's beginning or at its end: this much of each is checked.
constexpr std::uint64_t end_bytes = 128ULL << 10;

/// Whether part of a file's metadata is not in the page cache; false where that is unknown.
bool has_cold_metadata(const std::filesystem::path& path) {
  try {
    const PosixFile file = PosixFile::open_for_reading(path);
    const std::uint64_t bytes = file.status().bytes;
    const std::uint64_t looked_at = std::min(bytes, end_bytes);
    return !is_in_memory(file.fd(), 0, looked_at) || !is_in_memory(file.fd(), bytes - looked_at, looked_at);
  } catch (const Error&) {
    return false;
  }
}

/// How many files a process reads at a time.
struct ReadingThreads {
  unsigned warm = 1;  ///< at most one for each processor
  unsigned cold = 1;
};

/// One at a time without a helper process to fork: a process with threads may not fork itself.
ReadingThreads files_together(const Communicator& processes) {
  if (HelperProcess::current() == nullptr) return {};
  const unsigned cold = std::max(1U, files_at_once / static_cast<unsigned>(processes.local_size()));
  return {std::min(files_at_once, processes.processors()), cold};
}

/// Reads the first file alone: most of the others then only have to be compared with it. Comparing occupies a processor
/// each; waiting for storage allows more threads.
std::vector<FileCatalog> read_in_order(const std::vector<std::filesystem::path>& files, SourceStore& store,
                                       const ReadingThreads& together) {
  std::vector<FileCatalog> catalogs(files.size());
  const auto read = [&](std::uint64_t n) { catalogs[n] = store.catalog(files[n]); };
  if (!files.empty()) read(0);
  if (std::max(together.cold, together.warm) > 1 && files.size() > 2) {
    const unsigned threads = has_cold_metadata(files[1]) ? together.cold : together.warm;
    for_each_in_parallel(threads, files.size() - 1, [&](std::uint64_t n) { read(n + 1); });
    return catalogs;
  }
  for (std::uint64_t n = 1; n < files.size(); ++n) {
    check_interrupt();
    read(n);
  }
  return catalogs;
}

}  // namespace

std::vector<FileToRead> with_readers(const std::vector<std::filesystem::path>& files, Communicator& processes) {
  std::vector<bool> mine;
  std::error_code ignored;
  for (const auto& file : files) mine.push_back(std::filesystem::exists(file, ignored));
  const auto seen = gather_all(mine, processes);
  std::vector<FileToRead> with_readers;
  for (std::size_t i = 0; i < files.size(); ++i) {
    with_readers.push_back({files[i], 0});
    for (std::size_t turn = 0; turn < seen.size(); ++turn) {
      const std::size_t process = (i + turn) % seen.size();
      if (!seen[process][i]) continue;
      with_readers.back().reader = process;
      break;
    }
  }
  return with_readers;
}

std::vector<FileCatalog> read_catalogs(const std::vector<FileToRead>& files, SourceStore& store,
                                       Communicator& processes) {
  std::vector<FileCatalog> mine;
  agree(processes, [&] {
    std::vector<std::filesystem::path> paths;
    for (const FileToRead& file : files)
      if (file.reader == static_cast<std::uint64_t>(processes.rank())) paths.push_back(file.path);
    mine = read_in_order(paths, store, files_together(processes));
  });
  if (processes.size() == 1) return mine;
  const std::vector<FileCatalog> all = decode_catalogs(processes.all_gather(encode(mine)));
  // Rank by rank, each one's files in order.
  std::vector<std::size_t> next(static_cast<std::size_t>(processes.size()) + 1, 0);
  for (const FileToRead& file : files) ++next[file.reader + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<FileCatalog> catalogs;
  catalogs.reserve(files.size());
  for (const FileToRead& file : files) catalogs.push_back(all.at(next[file.reader]++));
  return catalogs;
}

}  // namespace ckpt
