"""Makes and checks the text of the benchmarks (a process of its own: measure.py says why).

  text_data.py make     LINES SHARDS SERVERS DIRECTORY     000/part-SERVER-SHARD: key % SHARDS in blocks
  text_data.py check    LINES SHARDS SERVERS DIRECTORY     every line is there, once, in its shard

Keys are below 2^53, so that awk's numbers hold them; what follows one depends on the key alone. A third of the lines has its embedx.
"""
import pathlib
import random
import sys

ENDINGS = 4096


def endings():
    generator = random.Random(7)
    number = lambda: "%g" % (generator.uniform(-1, 1) * 10.0 ** generator.randint(-4, 0))  # noqa: E731
    return [" " + " ".join([str(generator.randrange(300)), "0", number(), *(str(generator.randrange(1000)) for _ in "ab"), number(), number(),
                            *(number() for _ in range(9 if i % 3 == 0 else 0))]) + "\n" for i in range(ENDINGS)]


def lines(count):
    ends = endings()
    for i in range(1, count + 1):
        key = (i * 0x9e3779b97f4a7c15 & (1 << 64) - 1) >> 11
        yield key, str(key) + ends[key % ENDINGS]


def names(shards, servers):
    average = -(-shards // servers)
    return [f"000/part-{shard // average:03}-{shard:05}" for shard in range(shards)]


def make(count, shards, servers, directory):
    text = [[] for _ in range(shards)]
    for key, line in lines(count):
        text[key % shards].append(line)
    (pathlib.Path(directory) / "000").mkdir(parents=True)
    for name, of_shard in zip(names(shards, servers), text):
        (pathlib.Path(directory) / name).write_text("".join(of_shard))


def check(count, shards, servers, directory):
    expected = {}
    for key, line in lines(count):
        expected[key] = line
    for shard, name in enumerate(names(shards, servers)):
        with open(pathlib.Path(directory) / name) as file:
            for line in file:
                key = int(line.split(" ", 1)[0])
                if key % shards != shard or expected.pop(key, None) != line:
                    sys.exit(f"{name}: another line than expected: {line}")
    if expected:
        sys.exit(f"{directory}: {len(expected)} lines are missing")


def main():
    what, count, shards, servers, directory = sys.argv[1:]
    {"make": make, "check": check}[what](int(count), int(shards), int(servers), directory)


if __name__ == "__main__":
    main()
