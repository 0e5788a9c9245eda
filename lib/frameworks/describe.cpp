#include "frameworks/describe.hpp"

#include <algorithm>
#include <array>

#include "frameworks/dcp.hpp"
#include "frameworks/deepspeed.hpp"
#include "frameworks/megatron.hpp"

namespace ckpt {

struct Framework {
  const char* name;
  bool (*is_meant)(const std::filesystem::path& directory);
  DirectoryDescription (*describe)(const std::filesystem::path& directory, SourceStore& store);
  bool has_plain_files = false;  ///< each file describes its own content
  /// Describes with a layout of the model's weights alone; null: such a layout gets no special treatment.
  DirectoryDescription (*complete)(const std::filesystem::path& directory, const Layout& weights,
                                   SourceStore& store) = nullptr;
};

namespace {

/// The first framework that recognises a directory describes it.
constexpr std::array frameworks{Framework{"torch.distributed.checkpoint", is_dcp, describe_dcp},
                                Framework{"Megatron", is_megatron_run, describe_megatron_run},
                                Framework{"DeepSpeed", is_deepspeed, describe_deepspeed, true, describe_deepspeed_of}};

}  // namespace

std::optional<SelfDescribed> SelfDescribed::find(const std::filesystem::path& directory) {
  const auto* const found = std::find_if(frameworks.begin(), frameworks.end(),
                                         [&](const Framework& each) { return each.is_meant(directory); });
  if (found == frameworks.end()) return std::nullopt;
  return SelfDescribed(directory, *found);
}

const char* SelfDescribed::name() const noexcept {
  return framework_->name;
}

bool SelfDescribed::has_plain_files() const noexcept {
  return framework_->has_plain_files;
}

bool SelfDescribed::completes(const Layout& given) const {
  return framework_->complete != nullptr && given.files.is_default();
}

DirectoryDescription SelfDescribed::describe(SourceStore& store) const {
  return framework_->describe(directory_, store);
}

DirectoryDescription SelfDescribed::complete(const Layout& given, SourceStore& store) const {
  DirectoryDescription described = framework_->complete(directory_, given, store);
  described.completes_given = true;
  return described;
}

}  // namespace ckpt
