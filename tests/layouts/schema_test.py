#!/usr/bin/env python3
"""Holds layouts/schema.json to the ready layouts and to the good and wrong ones of the tests.

The wrong ones are told apart by their names: see wrong/README.md.
"""

import json
import pathlib
import unittest

import jsonschema

TESTS = pathlib.Path(__file__).resolve().parent
LAYOUTS = TESTS.parent.parent / "layouts"
SCHEMA = json.loads((LAYOUTS / "schema.json").read_text())


def parse(path):
    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    def once(pairs):
        keys = [key for key, _ in pairs]
        if len(keys) != len(set(keys)):
            raise ValueError(f"a key stands twice among {keys}")
        return dict(pairs)

    return json.loads(path.read_text(), object_pairs_hook=once, parse_constant=refuse)


def objects(schema, place=""):
    """Every schema that describes the keys of an object, with its place; conditions only narrow one that stands beside."""
    if isinstance(schema, dict):
        if "properties" in schema or "patternProperties" in schema:
            yield place, schema
        for key, value in schema.items():
            if key not in ("if", "then", "else"):
                yield from objects(value, f"{place}/{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from objects(value, f"{place}/{index}")


class SchemaTest(unittest.TestCase):
    def setUp(self):
        self.validator = jsonschema.Draft202012Validator(SCHEMA)

    def errors(self, path):
        return [f"/{'/'.join(map(str, e.path))}: {e.message}" for e in self.validator.iter_errors(parse(path))]

    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_allows_no_unknown_key_anywhere(self):
        for place, schema in objects(SCHEMA):
            with self.subTest(place):
                self.assertIs(schema.get("additionalProperties"), False)

    def test_accepts_the_ready_and_the_good(self):
        ready = [path for path in sorted(LAYOUTS.glob("*.json")) if path.name != "schema.json"]
        good = sorted((TESTS / "good").glob("*.json"))
        self.assertTrue(ready and good)
        for path in ready + good:
            with self.subTest(path.name):
                self.assertEqual(self.errors(path), [])

    def test_refuses_the_wrong(self):
        wrong = sorted((TESTS / "wrong").glob("*.json"))
        self.assertGreater(len(wrong), 30)
        for path in wrong:
            with self.subTest(path.name):
                if path.name == "syntax-deep.json":
                    self.assertNotEqual(self.errors(path), [])  # well-formed for other readers
                elif path.name.startswith("syntax-"):
                    with self.assertRaises(ValueError):
                        parse(path)
                elif path.name.startswith("semantic-"):
                    self.assertEqual(self.errors(path), [])
                else:
                    self.assertNotEqual(self.errors(path), [])


if __name__ == "__main__":
    unittest.main()
