"""Whether messages are whole sentences of the form OBJECT: FOUND, expected EXPECTED; REMEDY."""
import re

MESSAGE = re.compile(r"ckpt(?:[- ][a-z]+)?: (?:error|warning|info): (.*)")
BROKEN = [
    (re.compile(r"expected expected|expected[,;:]|expected$"), "says nothing behind 'expected'"),
    (re.compile(r"expected (?:which|is|are|was|were|has|had|there|they|it is|it has|says|must|each of which)\b"), "has a sentence behind 'expected', where a thing is due"),
    (re.compile(r"^[,;]|[,;:]$|[,;:] ?[,;]| [,;]"), "has a part that is missing beside a comma, colon or semicolon"),
]


def problems(lines):
    found = []
    for message in filter(None, map(MESSAGE.fullmatch, lines)):
        found += [f"grammar: {message[0]!r} {why}" for pattern, why in BROKEN if pattern.search(message[1])]
    return found


def main():
    """Each rule finds what it is for, and leaves alone what is well."""
    broken = ["a.json: it has 3, expected", "a.json: found x, expected which HDF5 cannot hold", "a.json: , expected 4", "x: found 3, expected 4;",
              "x: found 3, expected expected 4"]
    for text in broken:
        assert problems([f"ckpt-merge: error: {text}"]), text
    for text in ["a.json: found 3, expected 4 by b.json; is it the right one?", "x: not there; copy it", "x: found 3, expected it, as b says"]:
        assert not problems([f"ckpt-merge: error: {text}"]), text


if __name__ == "__main__":
    main()
