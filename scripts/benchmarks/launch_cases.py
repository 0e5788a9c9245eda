"""What it costs to start a job under mpirun: beside the same job alone, and an MPI program that does nothing."""
import shlex
import statistics

import measure
from jobs import GPT56, GPT64, MAIN, MPIRUN
from measure import Side
from rows import Case, reported, versus

REPORTS = 5
OUTSIDE = "outside (launch, MPI's start and end)"


def phases(side, space):
    """Median seconds of each phase that the program reports, and of what lies outside them."""
    runs = []
    for _ in range(1 if space.quick else REPORTS):
        done, seconds = reported(side, space)
        runs.append({**seconds, OUTSIDE: done.seconds - seconds["total"]})
    return {phase: statistics.median(run[phase] for run in runs) for phase in runs[0]}


def mpirun_phases(case, space, options):
    empty = space.program("mpi_start_bench")
    if not empty.exists():
        print(f"{case}: not run: there is no {empty}")
        return []
    output, other = space.path("out"), space.path("rival")
    together, alone = MAIN.side(space, output, MPIRUN), MAIN.side(space, other)
    # With the transport that our programs choose on one node: the default one takes 0.2 s more to look for networks.
    start = [*MPIRUN, "--mca", "pml", "ob1", empty]
    both = Side(["sh", "-c", " && ".join(shlex.join(map(str, command)) for command in (alone.command, start))], other)
    row = versus(case, space, options, together, ("alone, then an empty MPI program", both),
                 space.checker("gpt", GPT56, output), 1.0, bytes=MAIN.bytes(space), definition="")
    of_alone, of_together = phases(alone, space), phases(together, space)
    started = statistics.median(measure.run(start).seconds for _ in range(REPORTS))
    told = ", ".join(f"{phase} {of_alone[phase]:.3f} / {seconds:.3f}" for phase, seconds in of_together.items())
    row.definition = (f"{MAIN.text(space)}: wall of mpirun -n 2 ckpt-reshard / that of ckpt-reshard alone and mpirun -n 2 of a program with "
                      f"MPI_Init and MPI_Finalize alone ({started:.3f} s), one after the other; phases alone / under mpirun, s: {told}")
    return [row]


CASES = {"mpirun-phases": Case(mpirun_phases, lambda quick: [("gpt", GPT64)],
                               "mpirun -n 2 / the job alone and an empty MPI program; where the time goes")}
