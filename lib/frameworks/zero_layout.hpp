#pragma once

#include <string>
#include <vector>

#include "frameworks/deepspeed_files.hpp"
#include "frameworks/module_layout.hpp"
#include "frameworks/zero_states.hpp"
#include "layout/card_files.hpp"
#include "store/catalog.hpp"

namespace ckpt::deepspeed {

/// What stands before the names of what lies in the files.
inline constexpr const char* model_prefix = "model/";
inline constexpr const char* optimizer_prefix = "optim/";

/// The metadata of a tag's files of one model rank: the first data rank's model states, and each data rank's optimizer
/// file (none without ZeRO).
struct TagSchemas {
  const Schema* model = nullptr;
  std::vector<const Schema*> optimizers;
};

/// How ZeRO has cut a model and its optimizer over the axis dp, as the text of a layout. Weights and buffers have the
/// model's own names; all other names have a '/' in them: `fp32/NAME` (ZeRO-1 and 2: the master weights; ZeRO-3 has no
/// others), `exp_avg/NAME` (what the optimizer keeps for each element, whatever it is called), `step/G` (what it keeps
/// for a group). `module`: how the model ranks have cut the weights, and with them what the optimizer keeps; null:
/// there is one model rank. Throws input for files that are none of ZeRO's.
std::string zero_layout(const TagFiles& files, const ModelStates& states, const TagSchemas& schemas,
                        const ModuleLayout* module = nullptr);

/// Such a layout's files where they lie in another folder: "global_step1000/", or nothing.
CardFiles zero_files(const TagFiles& files, const std::string& folder, const Mesh& mesh);

}  // namespace ckpt::deepspeed
