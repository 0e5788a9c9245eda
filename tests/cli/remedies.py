"""What messages advise is tried: an option must be one of the program that is meant, a command line must be taken by its program, a path must
be there. A remedy is what follows the first "; " of an error or a warning."""
import functools
import re
import subprocess

TIMEOUT_S = 30
MESSAGE = re.compile(r"(ckpt-[a-z]+): (?:error|warning): .*?; (.*)")
# "ckpt-inspect --draft src > layout.json", up to the end of what is said of it.
COMMAND = re.compile(r"\bckpt-(?:merge|split|reshard|inspect|verify) [^;,()]*?(?=$|[;,()]| and | instead| waits)")
PATH = re.compile(r"\bgive (?:the (?:one|file) that is meant, for example )?((?:'[^']*'|[\w./-])+)(?=$|[;,]| alone)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
# Words that stand for what only the user knows.
PLACEHOLDER = re.compile(r"\b(?:[A-Z]+|SRC|DST|[AB](?:\.json)?|OUT|LAYOUT|STRATEGY)\b")
OTHERS = re.compile(r"\b(?:srun|mpirun|git|gzip|zstd) [^;,]*")


@functools.cache
def options_of(program, path):
    text = subprocess.run([program, "--help"], env={"PATH": path, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True, check=True).stdout
    return set(OPTION.findall(text)) | {"--help"}


def unknown_options(program, text, environment):
    return [f"remedy: {program} has no option {option}: {text}"
            for option in OPTION.findall(text) if option not in options_of(program, environment["PATH"])]


def command_problems(command, directory, environment):
    program = command.split()[0]
    problems = unknown_options(program, command, environment)
    if problems or PLACEHOLDER.search(command.partition(" ")[2]) or "…" in command:
        return problems
    done = subprocess.run(["bash", "-eu", "-c", command], cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=TIMEOUT_S)
    # 1: what it was to look at is not as it should be, which is what the message was about.
    return [] if done.returncode in (0, 1) else [f"remedy: {command}: exit status {done.returncode}: {done.stderr}"]


def remedy_problems(program, remedy, directory, environment):
    problems = []
    for command in COMMAND.findall(remedy):
        problems += command_problems(command.strip(), directory, environment)
    rest = OTHERS.sub("", COMMAND.sub("", remedy))
    problems += unknown_options(program, rest, environment)
    for path in PATH.findall(remedy):
        path = path.strip("'")
        if "/" in path and not (directory / path).exists():
            problems.append(f"remedy: {path} is not there: {remedy}")
    return problems


def problems(lines, directory, environment):
    found = []
    for line in lines:
        message = MESSAGE.fullmatch(line)
        if message:
            found += remedy_problems(message[1], message[2], directory, environment)
    return found
