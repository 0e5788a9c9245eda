#pragma once

namespace ckpt {

/// Gives the memory that has been freed back to the system. The heap keeps it otherwise, where threads that need it
/// later may not find it: to be called when a phase that holds much ends. Does nothing where the C library cannot.
void return_freed_memory() noexcept;

}  // namespace ckpt
