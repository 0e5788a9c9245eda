#include "checkpoint/read_catalogs.hpp"

#include <numeric>
#include <system_error>

#include "base/interrupt.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

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
