#include "frameworks/megatron.hpp"

#include <string>

#include "frameworks/dcp.hpp"
#include "frameworks/latest_iteration.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t iteration_digits = 7;

std::string latest_folder(const fs::path& directory) {
  return latest_iteration(directory, "iter_", iteration_digits);
}

}  // namespace

bool is_megatron_run(const fs::path& directory) {
  const std::string folder = latest_folder(directory);
  return !folder.empty() && is_dcp(directory / folder);
}

DirectoryDescription describe_megatron_run(const fs::path& directory, SourceStore& store) {
  const std::string folder = latest_folder(directory);
  return described_in(folder, describe_dcp(directory / folder, store));
}

}  // namespace ckpt
