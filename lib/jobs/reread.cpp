#include "jobs/reread.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ckpt {

void check_reread(const Placement& target, TargetFiles& files, const ContentSums& written, std::uint64_t piece_bytes,
                  unsigned threads, Communicator& processes) {
  ContentSums again(target);
  agree(processes, [&] { files.sum_again(piece_bytes, threads, again); });
  again.give_to_owners([&](FileNumber file) { return files.owner(file); }, processes);
  const auto before = written.of_parameters(processes);
  const auto after = again.of_parameters(processes);
  agree(processes, [&] {
    const auto expected = files.list(&written);
    const auto found = files.list(&again);
    const auto [file, other] =
        std::mismatch(found.begin(), found.end(), expected.begin(),
                      [](const auto& a, const auto& b) { return a.fingerprint == b.fingerprint; });
    if (file == found.end()) return;
    std::vector<std::string> parameters;
    for (std::size_t p = 0; p < before.size(); ++p)
      if (before[p] != after[p]) parameters.push_back("'" + target.tensors()[p].name + "'");
    throw Error(Kind::io, file->name,
                {"the storage does not give back what was written" +
                     (parameters.empty() ? "" : ", in parameter " + join(parameters)),
                 "fingerprint " + other->fingerprint, "nothing is published; write to another disk"})
        .in_file(file->name);
  });
}

}  // namespace ckpt
