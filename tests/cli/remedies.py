"""What messages advise is tried: an option must be one of the program that is meant, a command line must work, a path must be there. A remedy is
what follows the first "; " of an error or a warning."""
import functools
import re
import subprocess

TIMEOUT_S = 30
MESSAGE = re.compile(r"(ckpt(?:[- ][a-z]+)?): (?:error|warning): .*?; (.*)")
# "ckpt draft src > layout.json", as far as it may go; the prose behind it is left out word by word.
COMMAND = re.compile(r"\bckpt[- ](?:merge|split|reshard|inspect|draft|verify) [^;()]*")
PATH = re.compile(r"\bgive (?:(?:the (?:one|file) that is meant, for example|the weights alone:) )?((?:'[^']*'|[\w./-])+)(?=$|[;,]| alone)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
# What only the user knows: SRC, OUT, A.json.
PLACEHOLDER = re.compile(r"[A-Z]+|[AB]\.json")
# Programs of others, with options of their own.
OTHERS = re.compile(r"\b(?:srun|mpirun|git|gzip|zstd|h5clear|save it with) [^;,]*")


@functools.cache
def options_of(program, path):
    text = subprocess.run([*program.split(), "--help"], env={"PATH": path, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True, check=True).stdout
    return set(OPTION.findall(text)) | {"--help"}


def unknown_options(program, text, environment):
    return [f"remedy: {program} has no option {option}: {text}"
            for option in OPTION.findall(text) if option not in options_of(program, environment["PATH"])]


def command_words(text, directory):
    """The words of a command line, up to the first that is prose."""
    words = []  # a verb belongs to ckpt
    for word in re.findall(r"(?:'[^']*'|[^\s'])+", text):
        plain = word.rstrip(",:")
        belongs = (not words or words == ["ckpt"] or plain == ">" or plain.startswith("-") or "/" in plain or "." in plain
                   or bool(PLACEHOLDER.fullmatch(plain)) or (directory / plain.strip("'")).exists())
        if not belongs:
            break
        words.append(plain)
        if plain != word:
            break
    return words


def command_problems(words, directory, environment):
    command = " ".join(words)
    first = 2 if words[0] == "ckpt" else 1
    problems = unknown_options(" ".join(words[:first]), command, environment)
    names = [word for word in words[first:] if not word.startswith("-")]
    if problems or not names or any(PLACEHOLDER.fullmatch(name) for name in names) or "…" in command:
        return problems
    done = subprocess.run(["bash", "-eu", "-c", command], cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=TIMEOUT_S)
    # 1 without an error: ckpt-verify finds what the message was about, a draft leaves something open.
    works = done.returncode == 0 or (done.returncode == 1 and ": error: " not in done.stderr)
    return [] if works else [f"remedy: {command}: exit status {done.returncode}: {done.stderr}"]


def remedy_problems(program, remedy, directory, environment):
    problems = []
    rest = OTHERS.sub("", remedy)
    for text in COMMAND.findall(remedy):
        words = command_words(text, directory)
        problems += command_problems(words, directory, environment)
        rest = rest.replace(" ".join(words), "")
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
