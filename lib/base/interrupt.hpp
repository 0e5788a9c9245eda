#pragma once

namespace ckpt {

class Error;

/// From now on the first SIGINT or SIGTERM is only recorded, for `check_interrupt`. One that comes a second later, or
/// after that, ends the program at once: Slurm sends SIGTERM twice within milliseconds when a job's time is up. A
/// signal that was ignored before stays ignored (shells ignore them for background jobs).
void watch_interrupts();

/// Makes `check_interrupt` throw this error from now on, in any thread: what the work depends on is gone. Only the
/// first call counts.
void end_work(const Error& why);

/// Throws what `end_work` was given, and interrupted or terminated if a signal has been recorded. Call it between
/// pieces of work of at most a few MiB, and not after the output is published.
void check_interrupt();

/// The last `check_interrupt`: what follows is not to be stopped by a signal, except a second later by another one.
void check_interrupt_at_last();

/// Returns whether a signal has been recorded.
bool is_interrupted() noexcept;

}  // namespace ckpt
