"""Whole-program tests: what the programs write against the naive model, and against themselves under other ranks,
threads, exchanges and memory.

  roundtrip_test.py --bin build/ci/bin --group tutorial
  roundtrip_test.py --bin build/ci/bin --group random --tier full --seed 17 --cases 1 --keep
  roundtrip_test.py --list
"""
import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import group_cast
    import group_cold
    import group_deltas
    import group_features
    import group_filters
    import group_formats
    import group_intact
    import group_jobs
    import group_memory
    import group_paddle
    import group_random
    import group_ranks
    import group_shares
    import group_tables
    import group_trees
    import group_verify
    import group_virtual
    import group_zero
except ImportError as problem:
    sys.exit(f"roundtrip_test: {sys.executable}: {problem}; install Debian's python3-h5py")
from programs import Failure, Programs  # noqa: E402

GROUPS = {
    "tutorial": group_jobs.tutorial, "sample": group_jobs.sample, "gpt": group_jobs.gpt, "carried": group_jobs.carried,
    "node-local": group_jobs.node_local, "random": group_random.random_layouts, "cast": group_cast.casts,
    "formats": group_formats.random_formats, "sources": group_features.sources,
    "attributes": group_features.attributes, "files": group_features.files, "names": group_features.names,
    "memory": group_memory.memory, "verify": group_verify.verification,
    "intact": group_intact.intact, "shares": group_shares.parts, "virtual": group_virtual.virtual,
    "cold": group_cold.cold, "past-memory": group_cold.past_memory, "tables": group_tables.tables, "paddle": group_paddle.paddle,
    "filters": group_filters.filters, "deltas": group_deltas.deltas, "trees": group_trees.trees, "zero": group_zero.zero, "ranks": group_ranks.ranks,
}


class Context:
    """What a group is given: the programs, an empty directory, and the options of the command line."""

    def __init__(self, options, directory):
        self.programs, self.directory, self.options = Programs(options.bin), directory, options

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def below(self, name):
        os.makedirs(self.path(name))
        return Context(self.options, self.path(name))

    def each(self, work, cases):
        """work(context, case) for every case, some at a time, each in its own directory; the first failure ends it."""
        jobs = [(work, self.options, self.path(f"case{number}"), case) for number, case in enumerate(cases)]
        with multiprocessing.Pool(self.options.jobs) as pool:
            for problem in pool.imap(run_case, jobs):
                if problem:
                    pool.terminate()
                    raise Failure(problem)


def run_case(job):
    work, options, directory, case = job
    os.makedirs(directory)
    try:
        work(Context(options, directory), case)
    except Exception as problem:  # a worker's traceback would hide the message
        return f"case {case}: {type(problem).__name__}: {problem}"
    if not options.keep:
        shutil.rmtree(directory)
    return None


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="directory of the programs")
    parser.add_argument("--group", choices=GROUPS, action="append", help="which tests (default: all)")
    parser.add_argument("--list", action="store_true", help="print the groups")
    parser.add_argument("--tier", choices=["basic", "full"], default="basic", help="random: how much of the language")
    parser.add_argument("--seed", type=int, default=0, help="random: the first seed")
    parser.add_argument("--cases", type=int, default=100, help="random: how many")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="leave the files of the tests behind")
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.list:
        print("\n".join(GROUPS))
        return 0
    if not options.bin:
        sys.exit("roundtrip_test: --bin: where are the programs?")
    for name in options.group or GROUPS:
        directory = tempfile.mkdtemp(prefix=f"ckpt-{name}-")
        try:
            GROUPS[name](Context(options, directory))
        except Failure as problem:
            print(f"{name}: FAILED\n{problem}", file=sys.stderr)
            return 1
        finally:
            if options.keep:
                print(f"{name}: files are in {directory}")
            else:
                shutil.rmtree(directory)
        print(f"{name}: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
