#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/communicator.hpp"
#include "layout/placement.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

struct ManifestFile {
  std::string name;
  std::uint64_t card = 0;
  std::uint64_t bytes = 0;
  std::string fingerprint;  ///< empty: the run did not verify
};

/// `checkpoint.json` (in a merged file: root attribute ckpt_manifest, without files): what a checkpoint is, as JSON
/// text that is the same for the same checkpoint. `fingerprints`: of every parameter, or none where the run did not
/// verify.
std::string manifest(const Placement& placement, const std::vector<ManifestFile>& files,
                     const std::vector<Fingerprint>& fingerprints);

/// The files of all processes, by card id. Collective; on process 0 alone there are any.
std::vector<ManifestFile> gather_list(const std::vector<ManifestFile>& mine, Communicator& processes);

}  // namespace ckpt
