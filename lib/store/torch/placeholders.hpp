#pragma once

#include <string>
#include <unordered_set>

#include "store/pickle/pickle.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::torch {

/// Recognises empty tensors that stand for weights in other files, as DeepSpeed's ZeRO-3 saves them in `module`: a file
/// has them if a weight of its `param_shapes` is empty there. They are not tensors of the checkpoint, but part of the
/// file's tree.
/// https://github.com/deepspeedai/DeepSpeed, deepspeed/utils/zero_to_fp32.py
class Placeholders {
 public:
  Placeholders(const Pickle& pickle, const Storages& storages);

  bool contains(const std::string& name, const TensorView& view) const {
    return stand_for_weights_ && numel(view.shape) == 0 && name.starts_with(folder) && !empty_ones_.contains(name);
  }
  /// Returns whether the file may have any.
  explicit operator bool() const noexcept { return stand_for_weights_; }

 private:
  static constexpr const char* folder = "module/";

  bool stand_for_weights_ = false;
  std::unordered_set<std::string> empty_ones_;  // tensors that are empty themselves
};

}  // namespace ckpt::torch
