#include "frameworks/describe.hpp"

#include <algorithm>
#include <array>

#include "frameworks/dcp.hpp"
#include "frameworks/deepspeed.hpp"
#include "frameworks/keras_weights.hpp"
#include "frameworks/megatron.hpp"
#include "frameworks/mindformers.hpp"
#include "frameworks/orbax.hpp"
#include "frameworks/paddle_dist.hpp"
#include "frameworks/paddle_variables.hpp"
#include "frameworks/tensorflow.hpp"
#include "frameworks/torch_checkpointing.hpp"
#include "frameworks/universal.hpp"

namespace ckpt {

struct Framework {
  const char* name;
  bool (*is_meant)(const std::filesystem::path& directory);
  DirectoryDescription (*describe)(const std::filesystem::path& directory, SourceStore& store);
  bool has_plain_files = false;  ///< each file describes its own content
  /// Describes with a layout of the model's weights alone; null: such a layout gets no special treatment.
  DirectoryDescription (*complete)(const std::filesystem::path& directory, const Layout& weights,
                                   SourceStore& store) = nullptr;
  /// Whether a path names one checkpoint of a directory; null: none is ever named so.
  bool (*is_part)(const std::filesystem::path& path) = nullptr;
  /// Whether a checkpoint was never finished, so that describing it is refused; null: there is no sign of it.
  bool (*is_unfinished)(const std::filesystem::path& directory) = nullptr;
};

namespace {

/// The first framework that recognises a directory describes it.
constexpr std::array frameworks{
    Framework{"PaddlePaddle", is_paddle_dist, describe_paddle_dist},
    Framework{.name = "torch.distributed.checkpoint",
              .is_meant = is_dcp,
              .describe = describe_dcp,
              .is_unfinished = is_unfinished_dcp},
    Framework{"torch_checkpointing", is_torch_checkpointing, describe_torch_checkpointing},
    Framework{"MindFormers", is_mindformers, describe_mindformers},
    Framework{"Megatron", is_megatron_run, describe_megatron_run},
    Framework{"DeepSpeed, universal", is_universal, describe_universal},
    Framework{
        .name = "Keras", .is_meant = is_keras_weights, .describe = describe_keras_weights, .is_part = is_keras_map},
    Framework{"DeepSpeed", is_deepspeed, describe_deepspeed, true, describe_deepspeed_of},
    Framework{.name = "TensorFlow",
              .is_meant = is_tensorflow,
              .describe = describe_tensorflow,
              .is_part = is_tensorflow_prefix,
              .is_unfinished = is_unfinished_tensorflow},
    Framework{.name = "Orbax", .is_meant = is_orbax, .describe = describe_orbax, .is_unfinished = is_unfinished_orbax},
    Framework{"PaddlePaddle, static", is_paddle_variables, describe_paddle_variables, true}};

bool names_part(const Framework& framework, const std::filesystem::path& path) {
  return framework.is_part != nullptr && framework.is_part(path);
}

}  // namespace

bool SelfDescribed::is_part(const std::filesystem::path& path) {
  return std::any_of(frameworks.begin(), frameworks.end(),
                     [&](const Framework& each) { return names_part(each, path); });
}

std::optional<SelfDescribed> SelfDescribed::find(const std::filesystem::path& directory) {
  const auto* const found = std::find_if(frameworks.begin(), frameworks.end(), [&](const Framework& each) {
    return names_part(each, directory) || each.is_meant(directory);
  });
  if (found == frameworks.end()) return std::nullopt;
  return SelfDescribed(directory, *found);
}

const char* SelfDescribed::name() const noexcept {
  return framework_->name;
}

bool SelfDescribed::has_plain_files() const noexcept {
  return framework_->has_plain_files;
}

bool SelfDescribed::is_unfinished() const {
  return framework_->is_unfinished != nullptr && framework_->is_unfinished(directory_);
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
