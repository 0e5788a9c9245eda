"""What it costs to start a job under mpirun: beside the same job alone, and an MPI program that does nothing."""
import shlex
import statistics

import measure
from jobs import GPT56, GPT64, MAIN, MPIRUN, merging
from measure import Side
from rows import Case, data_text, reported, versus

REPORTS = 5
OUTSIDE = "outside (launch, MPI's start and end)"


def phases(side, space):
    """Median seconds of each phase that the program reports, and of what lies outside them."""
    runs = []
    for _ in range(1 if space.quick else REPORTS):
        done, seconds = reported(side, space)
        runs.append({**seconds, OUTSIDE: done.seconds - seconds["total"]})
    return {phase: statistics.median(run[phase] for run in runs) for phase in runs[0]}


def empty_program(case, space, launcher):
    """An MPI program that does nothing, with the transport that our programs choose on one node: the default one takes 0.2 s more to look for
    networks. Nothing where it was not built."""
    empty = space.program("mpi_start_bench")
    if empty.exists():
        return [*launcher, "--mca", "pml", "ob1", empty]
    print(f"{case}: not run: there is no {empty}")
    return []


def then(side, command):
    return Side(["sh", "-c", " && ".join(shlex.join(map(str, each)) for each in (side.command, command))], side.output)


def mpirun_phases(case, space, options):
    start = empty_program(case, space, MPIRUN)
    if not start:
        return []
    output, other = space.path("out"), space.path("rival")
    together, alone = MAIN.side(space, output, MPIRUN), MAIN.side(space, other)
    both = then(alone, start)
    row = versus(case, space, options, together, ("alone, then an empty MPI program", both),
                 space.checker("gpt", GPT56, output), 1.0, bytes=MAIN.bytes(space), definition="")
    of_alone, of_together = phases(alone, space), phases(together, space)
    started = statistics.median(measure.run(start).seconds for _ in range(REPORTS))
    told = ", ".join(f"{phase} {of_alone[phase]:.3f} / {seconds:.3f}" for phase, seconds in of_together.items())
    row.definition = (f"{MAIN.text(space)}: wall of mpirun -n 2 ckpt-reshard / that of ckpt-reshard alone and mpirun -n 2 of a program with "
                      f"MPI_Init and MPI_Finalize alone ({started:.3f} s), one after the other; phases alone / under mpirun, s: {told}")
    return [row]


def mpirun_crowded(case, space, options):
    """More processes than processors, and a job so small that what each process does besides its share counts."""
    launcher = ("mpirun", "--oversubscribe", "-n", "8")
    start = empty_program(case, space, launcher)
    if not start:
        return []
    output, other = space.path("merged.h5"), space.path("rival.h5")
    alone, merge = merging(space, "small", CARDS8, other), merging(space, "small", CARDS8, output)
    together = Side([*launcher, *merge.command], output)
    return [versus(case, space, options, together, ("alone, then an empty MPI program", then(alone, start)),
                   space.checker("small", "whole", output), 1.1, bytes=space.bytes_of("small", CARDS8),
                   definition=f"8 cards to one file, {data_text(space, 'small', CARDS8)}: wall of mpirun -n 8 ckpt-merge / that of ckpt-merge alone and "
                   "mpirun -n 8 of a program with MPI_Init and MPI_Finalize alone, one after the other")]


CARDS8 = "dp=2,tp=4"
CASES = {"mpirun-crowded": Case(mpirun_crowded, lambda quick: [("small", CARDS8)],
                                "mpirun -n 8 of a small merge / the job alone and an empty MPI program of 8"),
         "mpirun-phases": Case(mpirun_phases, lambda quick: [("gpt", GPT64)],
                               "mpirun -n 2 / the job alone and an empty MPI program; where the time goes")}
