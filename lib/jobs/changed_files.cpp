#include "jobs/changed_files.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "processes/gather_all.hpp"
#include "store/file_sum.hpp"

namespace ckpt {

namespace {

std::string fingerprint_of_file(const std::filesystem::path& path, const std::string& name, Counters& counters) {
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::uint64_t bytes = file.status().bytes;
  const PartialSum sum = sum_of_file(file, bytes);
  counters.bytes_read += bytes;
  return to_string(fingerprint(sum, name));
}

}  // namespace

std::vector<Damage> changed_files(const std::filesystem::path& checkpoint, const std::vector<ManifestFile>& files,
                                  unsigned threads, Communicator& processes, Counters& counters) {
  const auto size = static_cast<std::uint64_t>(processes.size());
  const auto rank = static_cast<std::uint64_t>(processes.rank());
  std::vector<const ManifestFile*> own;
  std::uint64_t number = 0;
  for (const ManifestFile& file : files)
    if (number++ % size == rank) own.push_back(&file);
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
