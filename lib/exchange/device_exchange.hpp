#pragma once

#include <functional>
#include <memory>

#include "exchange/device.hpp"
#include "exchange/exchange.hpp"

namespace ckpt {

using MakeDevice = std::function<std::unique_ptr<Device>()>;

/// An exchange by way of devices, one of each process: pieces go to the reader's device, are packed into messages
/// there, come to the writer's, are assembled to chunks and go back to the host. Four rounds are under way at a time:
/// one is read, one goes up, one is exchanged and comes down, one is written.
std::unique_ptr<Exchange> device_exchange(Communicator& processes, const Staging& staging, const char* name,
                                          MakeDevice make);

}  // namespace ckpt
