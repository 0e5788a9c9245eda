"""An independent model of the fingerprint (lib/tensor/README.md), in plain integers: prints the vectors that fingerprint_test.cpp checks.

  python3 fingerprint_model.py > fingerprint_vectors.inc
"""
M = 2**64


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % M
    x = (x ^ x >> 27) * 0x94D049BB133111EB % M
    return x ^ x >> 31


def text_hash(text):
    h = 0xCBF29CE484222325
    for c in text.encode():
        h = (h ^ c) * 0x100000001B3 % M
    return h


SEEDS = ((0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0),
         (0xB7E151628AED2A6A, 0xBF7158809CF4F3C7, 0x62E7160F38B4DA56))


def half(data, offset, text, seeds):
    """Byte i of a tensor counts as its value · 256^(i mod 4) · key of word (i / 4) mod 1024 · key of block i / 4096."""
    word, block, of_text = seeds
    total = 0
    for i, byte in enumerate(data, offset):
        word_key = mix((word + i // 4 % 1024) % M) >> 32 | 1
        total += byte * 256**(i % 4) * word_key * (mix((block + i // 4096) % M) | 1)
    return mix((total + mix(of_text ^ text_hash(text))) % M)


def fingerprint(data, offset, text):
    return "".join(f"{half(data, offset, text, seeds):016x}" for seeds in reversed(SEEDS))


if __name__ == "__main__":
    content = bytes((i * 131 + (i >> 8) * 17 + 5) % 256 for i in range(10000))
    for size, offset, text in ((0, 0, ""), (1, 0, ""), (4, 0, "w f32 [1]"), (3, 2, "a"), (64, 0, "blocks/0/wq f32 [4, 4]"),
                               (4096, 0, "x"), (4097, 4095, "größe"), (10000, 0, "w bf16 [5000]"), (10000, 2**40 + 3, "w"),
                               (9999, 4099, "file")):
        print(f'  CHECK(of({size}, {offset}ULL, "{text}") == "{fingerprint(content[:size], offset, text)}");')
