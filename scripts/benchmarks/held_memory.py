"""Holds memory between measured runs, and gives it back just before each of them, so that all runs find the same.

A virtual machine may hand its host what has been free for two seconds (Linux: free page reporting), and whoever touches that memory
next waits until the host has provided it again. Without this, one run after every two seconds pays for that, ten times
what writing costs otherwise, and which one is a matter of the order of runs.
"""
import mmap
import os
import pathlib
import subprocess
import sys
import time

BYTES = 5 << 30          # what a cold copy of 2 GiB takes: the source, the output, and some more
REPORTING_SECONDS = 2.2  # from the first free page until the system has handed it to the host, and a little more


class HeldMemory:
    """Of a process of its own: what the one that starts programs holds would count as theirs."""

    @staticmethod
    def is_needed():
        return (pathlib.Path("/sys/module/page_reporting").exists() and
                " hypervisor" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))

    def __init__(self):
        self._given_at = 0.0
        self._holder = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def hold(self):
        """Takes it; then waits until nothing that was free before is on its way to the host."""
        self._ask()
        time.sleep(max(0.0, self._given_at + REPORTING_SECONDS - time.monotonic()))

    def give(self):
        self._ask()
        self._given_at = time.monotonic()

    def _ask(self):
        self._holder.stdin.write(b"\n")
        self._holder.stdin.flush()
        self._holder.stdout.readline()


def main():
    """Takes memory and gives it back by turns, for each line that comes in, and answers with a line when it is done."""
    size = min(BYTES, os.sysconf("SC_PHYS_PAGES") // 4 * mmap.PAGESIZE)
    held = None
    while sys.stdin.buffer.readline():
        if held:
            held.close()
            held = None
        else:
            held = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            held.madvise(mmap.MADV_HUGEPAGE)
            held[::mmap.PAGESIZE] = bytes(size // mmap.PAGESIZE)  # every page is touched
        print(flush=True)


if __name__ == "__main__":
    main()
