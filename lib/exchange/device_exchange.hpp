#pragma once

#include <functional>
#include <memory>

#include "exchange/device.hpp"
#include "exchange/exchange.hpp"

namespace ckpt {

using MakeDevice = std::function<std::unique_ptr<Device>()>;

/// Makes an exchange through devices, one for each process: pieces are uploaded to the reader's device, packed into
/// messages there, sent to the writer's device, assembled into chunks and downloaded to the host. Four rounds are in
/// progress at a time: one is read, one is uploaded, one is exchanged and downloaded, one is written.
std::unique_ptr<Exchange> device_exchange(Communicator& processes, const Staging& staging, const char* name,
                                          MakeDevice make);

}  // namespace ckpt
