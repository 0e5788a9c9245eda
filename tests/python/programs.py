"""Running the programs under test, alone and under mpirun, with one exception that tells a failure's whole story."""
import os
import subprocess

MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "^tcp,ofi",  # one node: Open MPI 5 would complain of network interfaces that cannot reach one another
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
TIMEOUT_S = 180


class Failure(AssertionError):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


class Programs:
    def __init__(self, directory):
        self.directory = os.path.abspath(directory)

    def path(self, name):
        return os.path.join(self.directory, name)

    def command(self, name, arguments, ranks=0, before=()):
        """ranks 0: the program alone; else under mpirun. `before`: a wrapper around the program."""
        launcher = ["mpirun", "-n", str(ranks)] if ranks else []
        return [*launcher, *before, self.path(name), *map(str, arguments)]

    def run_command(self, command, expect=0, stdin=None):
        environment = {**os.environ, **MPI_ENVIRONMENT}
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, input=stdin,
                                  timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired as late:
            raise Failure(f"{' '.join(command)}\nran longer than {TIMEOUT_S} s\n{late.stderr}") from None
        check(done.returncode == expect, f"{' '.join(command)}\nexit status {done.returncode}, expected {expect}\n"
                                         f"standard output:\n{done.stdout}\nstandard error:\n{done.stderr}")
        return done

    def run(self, name, *arguments, ranks=0, expect=0, before=(), stdin=None):
        return self.run_command(self.command(name, arguments, ranks, before), expect, stdin)

    def reshard(self, source_layout, target_layout, source, output, *more, **how):
        return self.run("ckpt-reshard", "--from", source_layout, "--to", target_layout, source, "-o", output,
                        "--no-fsync", *more, **how)

    def merge(self, layout, source, output, *more, **how):
        return self.run("ckpt-merge", "--layout", layout, source, "-o", output, "--no-fsync", *more, **how)

    def split(self, layout, merged, output, *more, **how):
        return self.run("ckpt-split", "--layout", layout, merged, "-o", output, "--no-fsync", *more, **how)
