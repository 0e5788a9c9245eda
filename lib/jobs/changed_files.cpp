#include "jobs/changed_files.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "io/file_sum.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

std::string fingerprint_of_file(const std::filesystem::path& path, const std::string& name, Counters& counters) {
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::uint64_t bytes = file.status().bytes;
  const PartialSum sum = sum_of_file(file, bytes);
  counters.bytes_read += bytes;
  return to_string(fingerprint(sum, name));
}

/// The files that this process is to read: one of the processes that see a file reads it.
std::vector<const ManifestFile*> own_of(const std::filesystem::path& checkpoint, const std::vector<ManifestFile>& files,
                                        Communicator& processes) {
  std::string is_seen;
  for (const ManifestFile& file : files) {
    std::error_code error;
    is_seen += std::filesystem::exists(checkpoint / file.name, error) ? '1' : '0';
  }
  const std::vector<std::string> is_seen_by = gather_all(is_seen, processes);
  const auto rank = static_cast<std::size_t>(processes.rank());
  std::vector<const ManifestFile*> own;
  for (std::size_t n = 0; n < files.size(); ++n) {
    std::vector<std::size_t> readers;
    for (std::size_t each = 0; each < is_seen_by.size(); ++each)
      if (is_seen_by[each][n] == '1') readers.push_back(each);
    if (!readers.empty() && readers[n % readers.size()] == rank) own.push_back(&files[n]);
  }
  return own;
}

}  // namespace

std::vector<Damage> changed_files(const std::filesystem::path& checkpoint, const std::vector<ManifestFile>& files,
                                  unsigned threads, Communicator& processes, Counters& counters) {
  const std::vector<const ManifestFile*> own = own_of(checkpoint, files, processes);
  std::vector<char> is_changed(own.size());  // not bool: threads write to it
  agree(processes, [&] {
    for_each_in_parallel(threads, own.size(), [&](std::uint64_t n) {
      is_changed[n] =
          fingerprint_of_file(checkpoint / own[n]->name, own[n]->name, counters) != own[n]->fingerprint ? 1 : 0;
    });
  });
  std::vector<std::string> changed;
  for (std::size_t n = 0; n < own.size(); ++n)
    if (is_changed[n] != 0) changed.push_back(own[n]->name);
  std::vector<std::string> all;
  for (auto& of_process : gather_all(changed, processes)) all.insert(all.end(), of_process.begin(), of_process.end());
  std::sort(all.begin(), all.end());
  std::vector<Damage> damages;
  for (std::string& name : all)
    damages.push_back({Damage::What::content, std::move(name), "it has other bytes than were written", {}});
  return damages;
}

}  // namespace ckpt
