#pragma once

#include <string>

#include "proof/replicas.hpp"

namespace ckpt {

/// Of a parameter whose replicas differ: the order of the mesh's axes with which they would all be the same, and other
/// cards' shards others, by what every card stores under its name: `"axes": ["tp", "dp"], "shape": [4, 2]`. Empty where
/// there is none, or the parameter does not tell. Collective; the same on every process.
std::string fitting_mesh(const ReplicatedFiles& files, ParameterId parameter, Communicator& processes);

}  // namespace ckpt
