#pragma once

namespace ckpt {

/// Returns freed memory to the system. Otherwise the heap keeps it where threads that need it later may not find it:
/// call it when a phase that holds much memory ends. Does nothing if the C library cannot.
void return_freed_memory() noexcept;

}  // namespace ckpt
