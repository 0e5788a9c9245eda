"""Random tensors between random layouts, cast on the way, against the naive model and NumPy's casts."""
import json

import checkpoints
import naive
import numpy as np
from group_random import compare, tensors
from programs import Failure, check
from random_layouts import Case

DTYPES = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "<f4"}  # as h5py reads them


def casts(context):
    options = context.options
    context.each(one_case, range(options.seed, options.seed + options.cases))


def one_case(context, seed):
    tier = context.options.tier
    case = Case(seed, tier)
    source = case.layout()
    read = dict(case.logical)
    dtype, words = choose(case)
    case.logical = {name: cast(array, dtype) for name, array in read.items()}
    target = case.layout()
    try:
        move(context, case, (source, read), (target, dtype, words))
    except Failure as problem:
        raise Failure(f"{problem}\n\nseed {seed}, tier {tier}; again with: --group cast --tier {tier} --seed {seed} "
                      f"--cases 1 --keep\n{words}\n{tensors(case)}\nsource {json.dumps(source)}\ntarget {json.dumps(target)}"
                      ) from None


def choose(case):
    """The dtype that all floats are cast to, and the options that say so."""
    dtype = case.random.choice(list(DTYPES))
    other = case.random.choice(list(DTYPES))
    return dtype, (["--cast", other] if case.chance(0.3) else []) + ["--cast", dtype]


def numbers(array):
    """A floating-point array's values; None for others. Opaque elements of two bytes are bfloat16."""
    if array.dtype == np.dtype("V2"):
        bits = np.frombuffer(array.tobytes(), "<u2").astype("<u4") << 16
        return bits.view("<f4").reshape(array.shape)
    return array if array.dtype.kind == "f" else None


def cast(array, dtype):
    values = numbers(array)
    if values is None:
        return array
    with np.errstate(all="ignore"):
        return to_bf16(values) if dtype == "bf16" else values.astype(DTYPES[dtype])


def to_bf16(array):
    """The nearest number of eight bits: by Python's integers and fractions of any length, so slow and simple."""
    exact = array.astype("<f8").ravel()
    found = np.empty(exact.shape, "<f4")
    for i, number in enumerate(exact):
        found[i] = nearest(float(number))
    return found.reshape(array.shape)


def nearest(number):
    if not np.isfinite(number) or number == 0:
        return number
    exponent = max(int(np.frexp(number)[1]) - 8, -133)
    steps = round(np.ldexp(number, -exponent))  # Python rounds half to even
    rounded = np.copysign(float(steps) * 2.0 ** exponent, number)
    return np.copysign(np.inf, number) if abs(rounded) >= 2.0 ** 128 else rounded


def plain(arrays):
    """With one NaN for all: which bits of it are kept is for unit tests."""
    def one(array):
        return np.where(np.isnan(array), array.dtype.type(np.nan), array) if array.dtype.kind == "f" else array
    return {card: {name: one(array) for name, array in held.items()} for card, held in arrays.items()}


def move(context, case, taken, wanted):
    (source, read), (target, dtype, words) = taken, wanted
    a = checkpoints.write_layout(context.path("a.json"), source)
    b = checkpoints.write_layout(context.path("b.json"), target)
    checkpoints.write(context.path("source"), source, naive.spread(source, read))
    report = context.path("report.json")
    ranks, more = case.random.choice([(0, []), (0, ["--memory", "1MiB", "--threads", "3"]), (2, ["--exchange", "mpi"]),
                                      (3, ["--exchange", "mpi", "--memory", "1MiB"])])
    context.programs.reshard(a, b, context.path("source"), context.path("target"), *words, "--report", report,
                             "--verify", case.random.choice(["none", "written", "reread"]), *more, ranks=ranks)
    compare(plain(naive.spread(target, case.logical)), plain(checkpoints.read(context.path("target"), target)), "target")
    with open(report, encoding="utf-8") as file:
        found = {each["parameter"]: each["elements"] for each in json.load(file)["overflows"]}
    expected = {name: int(np.sum(np.isinf(case.logical[name]) & np.isfinite(numbers(array))))
                for name, array in read.items() if numbers(array) is not None}
    expected = {name: count for name, count in expected.items() if count}
    check(found == expected, f"overflows: {found}, expected {expected}")
