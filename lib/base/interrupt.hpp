#pragma once

namespace ckpt {

/// From now on the first SIGINT or SIGTERM is only taken down, for `check_interrupt`; the next one ends the program at
/// once. A signal that was ignored before (a shell does that for jobs in the background) stays so.
void watch_interrupts();

/// Throws interrupted or terminated when a signal has been taken down. Called between pieces of work: nobody waits for
/// more than a few MiB, and after the output is published nobody asks any more.
void check_interrupt();

}  // namespace ckpt
