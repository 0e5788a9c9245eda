#include "checkpoint/read_catalogs.hpp"

#include <numeric>

#include "base/interrupt.hpp"

namespace ckpt {

std::vector<FileCatalog> read_catalogs(const std::vector<FileToRead>& files, SourceStore& store,
                                       Communicator& processes) {
  std::vector<FileCatalog> mine;
  agree(processes, [&] {
    for (const FileToRead& file : files) {
      if (file.reader != static_cast<std::uint64_t>(processes.rank())) continue;
      check_interrupt();
      mine.push_back(store.catalog(file.path));
    }
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
