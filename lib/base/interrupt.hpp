#pragma once

namespace ckpt {

/// From now on the first SIGINT or SIGTERM is only recorded, for `check_interrupt`; the next one ends the program at
/// once. A signal that was ignored before (shells do that for background jobs) stays ignored.
void watch_interrupts();

/// Throws interrupted or terminated when a signal has been recorded. Called between pieces of work of at most a few
/// MiB, and no more once the output is published.
void check_interrupt();

}  // namespace ckpt
