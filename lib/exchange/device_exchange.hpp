#pragma once

#include <functional>
#include <memory>

#include "exchange/device.hpp"
#include "exchange/exchange.hpp"

namespace ckpt {

using MakeDevice = std::function<std::unique_ptr<Device>()>;

/// An exchange through devices, one for each process: pieces go to the reader's device, are packed into messages there,
/// sent to the writer's, assembled into chunks and copied back to the host. Four rounds are under way at a time: one is
/// read, one is uploaded, one is exchanged and downloaded, one is written.
std::unique_ptr<Exchange> device_exchange(Communicator& processes, const Staging& staging, const char* name,
                                          MakeDevice make);

}  // namespace ckpt
