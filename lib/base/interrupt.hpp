#pragma once

namespace ckpt {

/// From now on the first SIGINT or SIGTERM is only recorded, for `check_interrupt`; the next one ends the program at
/// once. A signal that was ignored before stays ignored (shells ignore them for background jobs).
void watch_interrupts();

/// Throws interrupted or terminated if a signal has been recorded. Call it between pieces of work of at most a few MiB,
/// and not after the output is published.
void check_interrupt();

/// Returns whether a signal has been recorded.
bool is_interrupted() noexcept;

}  // namespace ckpt
