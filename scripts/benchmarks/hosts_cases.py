"""Two hosts, which are network namespaces of this machine with a link of a given rate between them: how much of it an exchange takes, both ways at
once, beside iperf3 in the same minute."""
import json
import pathlib
import statistics
import subprocess

import measure
from rows import Case, Row

JOB = pathlib.Path(__file__).with_name("hosts_link.sh")
GOAL = 1 / 0.85  # 0.85 of the rival's rate
SKIPPED = 77


def link(rate, size):
    def run(case, space, options):
        turns = 1 if space.quick else min(options.pairs, 5)
        done = subprocess.run([JOB, options.bin, space.path("hosts"), rate, str(turns), "8MB" if space.quick else size],
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == SKIPPED:
            print(f"{case}: not run: {done.stdout.strip()}")
            return []
        if done.returncode != 0:
            raise measure.Failed(f"{JOB.name} failed: {done.stdout.strip() or done.returncode}")
        told = [json.loads(line) for line in done.stdout.splitlines()]
        # The time of the fuller direction, at the rate of the slower one.
        rival = [max(turn["sent"]) / min(turn["before"] + turn["after"]) for turn in told]
        ratios = sorted(turn["seconds"] / seconds for turn, seconds in zip(told, rival))
        ratio = statistics.median(ratios)
        control = statistics.median(min(turn["before"]) / min(turn["after"]) for turn in told)
        sent = "/".join(f"{each / 1e6:.0f}" for each in told[0]["sent"])
        busy = statistics.median(turn["busy"] for turn in told)
        rate_of_link = statistics.median(min(turn["before"] + turn["after"]) for turn in told)
        return [Row(case, goal=f"≤ {GOAL:.3g}", met=ratio <= GOAL, rival="iperf3, both ways at once", ratio=ratio, low=ratios[0], high=ratios[-1],
                    best_ratio=ratios[0], control=control, is_quiet=0.95 <= control <= 1.05, pairs=turns,
                    seconds=statistics.median(turn["seconds"] for turn in told), rival_seconds=statistics.median(rival),
                    bytes=sum(told[0]["sent"]), peak_bytes=max(turn["peak"] for turn in told), phases=told[0]["phases"] if options.phases else {},
                    definition=f"{sent} MB each way between two hosts (a process each) at {rate}: the phase move of ckpt-reshard, reading and writing "
                               f"included / the fuller direction's bytes at the slower direction's rate of iperf3 --bidir ({rate_of_link / 1e6:.1f} MB/s), "
                               f"before and after each run; the processors of the machine, which plays both hosts, were {busy:.0%} busy")]
    return Case(run, lambda quick: [], f"an exchange between two hosts at {rate}, both ways at once / iperf3")


CASES = {
    "hosts-200": link("200mbit", "800MB"),
    "hosts-1000": link("1gbit", "800MB"),
}
