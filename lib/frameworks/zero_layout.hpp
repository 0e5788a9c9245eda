#pragma once

#include <string>
#include <vector>

#include "frameworks/deepspeed_files.hpp"
#include "frameworks/module_layout.hpp"
#include "frameworks/zero_states.hpp"
#include "layout/names/card_files.hpp"
#include "store/catalog.hpp"

namespace ckpt::deepspeed {

/// Prefixes of the names in the files.
inline constexpr const char* model_prefix = "model/";
inline constexpr const char* optimizer_prefix = "optim/";

/// The metadata of one model rank's files of a tag: the first data rank's model states, and each data rank's optimizer
/// file (none without ZeRO).
struct TagSchemas {
  const Schema* model = nullptr;
  std::vector<const Schema*> optimizers;
};

/// How ZeRO cut a model and its optimizer over the axis dp, as a layout that is not yet checked. Weights and buffers
/// have the model's own names; all other names contain a '/': `fp32/NAME` (ZeRO-1 and 2: the master weights; ZeRO-3 has
/// no others), `exp_avg/NAME` (a state that the optimizer keeps for each element, under the optimizer's name for it),
/// `step/G` (one that it keeps for a group). `module`: how the model ranks cut the weights, and with them the
/// optimizer's state; null: there is one model rank. Throws input if the files are not ZeRO's.
Layout zero_layout(const TagFiles& files, const ModelStates& states, const TagSchemas& schemas,
                   const ModuleLayout* module = nullptr);

/// The files of such a layout in another folder: "global_step1000/", or nothing.
CardFiles zero_files(const TagFiles& files, const std::string& folder, const Mesh& mesh);

}  // namespace ckpt::deepspeed
