"""The programs against the naive model: each family through each ready map, both ways, whole and cut over three cards; and from one map's names to
another one's in one go.

usage: programs_test.py PROGRAMS [MAP...]
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import model
from model_test import FAMILIES, MAPS_OF, numbered

RECOMPUTING = {"maxtext_scaled", "maxtext_halves", "qwen3_next"}  # no moves of elements: --allow-arithmetic
CUT = {"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [3]}, "files": "rank_{card}.h5",
       "parameters": [{"name": "*", "split": ["x"], "uneven": "ceil"}]}


def run(programs, program, *words):
    done = subprocess.run([str(programs / program), *map(str, words)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise SystemExit(f"{program} {' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")


def check(programs, place, family, ready, tensors, config):
    data = model.ready_map(ready)
    trainer = data["sides"][0]
    arithmetic = ["--allow-arithmetic"] if ready in RECOMPUTING else []
    there = model.convert(data, config, "hf", tensors, arithmetic=True)
    back = model.convert(data, config, trainer, there, model.shapes_of(tensors), arithmetic=True)  # rounded twice, where it is no move
    place.mkdir()
    (place / "config.json").write_text(json.dumps(config))
    (place / "cut.json").write_text(json.dumps(CUT))
    for file, found in (("hf", tensors), (trainer, there), ("wanted.hf", back), (f"wanted.{trainer}", there)):
        model.write_safetensors(place / f"{file}.safetensors", {name: np.ascontiguousarray(each, np.float32) for name, each in found.items()})
    for one, other in (("hf", trainer), (trainer, "hf")):
        wanted = place / f"wanted.{other}.safetensors"
        names = ["-q", "--names", f"{ready}#{one}", *arithmetic, "--expect", wanted]
        run(programs, "ckpt-merge", *names, place / f"{one}.safetensors", "-o", place / f"made.{other}.safetensors")
        run(programs, "ckpt-verify", "-q", place / f"made.{other}.safetensors", wanted)
        run(programs, "ckpt-verify", "-q", "--names", f"{ready}#{one}", *arithmetic, place / f"{one}.safetensors", wanted)
        run(programs, "ckpt-split", "-q", "--layout", place / "cut.json", place / f"{one}.safetensors", "-o", place / f"cut.{one}")
        run(programs, "ckpt-reshard", *names, "--to", place / "cut.json", place / f"cut.{one}", "-o", place / f"made.{other}")
        run(programs, "ckpt-verify", "-q", place / f"made.{other}", wanted)


def check_two(programs, place, family, maps, tensors, config):
    """From the first map's names to the other's: its side of the map stands in the output's layout."""
    data = [model.inherited(model.ready_map(each), model.READY) for each in maps]
    place.mkdir()
    (place / "config.json").write_text(json.dumps(config))
    for name, each in zip(("one", "other"), data):
        there = model.convert(each, config, "hf", tensors)
        model.write_safetensors(place / f"{name}.safetensors", {key: np.ascontiguousarray(value, np.float32) for key, value in there.items()})
    (place / "cut.json").write_text(json.dumps({**CUT, "names": f"{maps[1]}.{data[1]['sides'][0]}"}))
    run(programs, "ckpt-split", "-q", "--names", maps[0], "--expect", place / "other.safetensors", "--layout", place / "cut.json", place / "one.safetensors",
        "-o", place / "made")
    run(programs, "ckpt-verify", "-q", place / "made", place / "other.safetensors")
    print(f"{family} through {' and '.join(maps)}: ok", flush=True)


def main():
    programs = Path(sys.argv[1]).resolve()
    chosen = set(sys.argv[2:])
    for family, maps in MAPS_OF.items():
        data = model.read_json(FAMILIES / f"{family}.json")
        tensors = numbered(data["tensors"])
        for ready in maps:
            if chosen and ready not in chosen:
                continue
            with tempfile.TemporaryDirectory(prefix="ckpt_names_") as name:
                check(programs, Path(name) / "case", family, ready, tensors, {**data["config"], "model_type": family})
            print(f"{family} through {ready}: ok", flush=True)
        moves = [ready for ready in maps if ready not in RECOMPUTING]
        for pair in zip(moves, [*moves[1:], moves[0]] if len(moves) > 1 and not chosen else []):
            with tempfile.TemporaryDirectory(prefix="ckpt_names_") as name:
                check_two(programs, Path(name) / "case", family, pair, tensors, {**data["config"], "model_type": family})


if __name__ == "__main__":
    main()
