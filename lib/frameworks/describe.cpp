#include "frameworks/describe.hpp"

#include <algorithm>
#include <array>

#include "frameworks/dcp.hpp"
#include "frameworks/deepspeed.hpp"
#include "frameworks/megatron.hpp"

namespace ckpt {

namespace {

struct Framework {
  bool (*is_meant)(const std::filesystem::path& directory);
  Described (*describe)(const std::filesystem::path& directory, SourceStore& store);
  bool has_plain_files = false;  ///< each says what is in it
  /// With a layout of the model's weights alone; null: such a layout is one like others.
  Described (*complete)(const std::filesystem::path& directory, const Layout& weights, SourceStore& store) = nullptr;
};

/// The first that knows a directory describes it.
constexpr std::array frameworks{Framework{is_dcp, describe_dcp}, Framework{is_megatron_run, describe_megatron_run},
                                Framework{is_deepspeed, describe_deepspeed, true, describe_deepspeed_of}};

const Framework* framework_of(const std::filesystem::path& directory) {
  const auto* const found = std::find_if(frameworks.begin(), frameworks.end(),
                                         [&](const Framework& each) { return each.is_meant(directory); });
  return found == frameworks.end() ? nullptr : found;
}

}  // namespace

bool is_described(const std::filesystem::path& directory) {
  return framework_of(directory) != nullptr;
}

bool has_plain_files(const std::filesystem::path& directory) {
  const Framework* const framework = framework_of(directory);
  return framework == nullptr || framework->has_plain_files;
}

bool is_completed(const std::filesystem::path& directory, const Layout& given) {
  const Framework* const framework = framework_of(directory);
  return framework != nullptr && framework->complete != nullptr && given.files.is_default();
}

std::optional<Described> describe(const std::filesystem::path& directory, SourceStore& store) {
  const Framework* const framework = framework_of(directory);
  if (framework == nullptr) return std::nullopt;
  return framework->describe(directory, store);
}

Described complete(const std::filesystem::path& directory, const Layout& given, SourceStore& store) {
  Described described = framework_of(directory)->complete(directory, given, store);
  described.completes_given = true;
  return described;
}

}  // namespace ckpt
