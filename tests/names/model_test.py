"""The naive model and the ready maps: the golden cases both ways, rules that must be refused, and each model family there and back.

That a family comes back says that its map is complete and a bijection, and no more: a wrong map comes back as well. Whether elements are in
their places is shown by the golden cases here, and by the forward passes of both systems in tests/frameworks/names_*_test.py.
"""
import copy
import unittest
from pathlib import Path

import numpy as np

import model

GOLDEN = model.ROOT / "tests" / "golden" / "names"
FAMILIES = Path(__file__).resolve().parent / "families"
CASES = {"llama": "llama", "qwen3_moe": "qwen3_moe", "gpt2": "gpt2", "maxtext_llama": "maxtext"}  # and its ready map
# A family's configuration and the names that transformers 5.23 saves; the maps that take it.
MAPS_OF = {"llama": ["llama"], "mistral": ["llama", "maxtext", "maxtext_scaled", "maxtext_halves", "meta"], "qwen2": ["qwen2"], "qwen3": ["qwen3"],
           "qwen3_moe": ["qwen3_moe", "hf_memory"], "mixtral": ["mixtral", "hf_memory_mixtral"], "deepseek_v3": ["deepseek_v3", "hf_memory"],
           "gpt2": ["gpt2"], "gpt_neox": ["gpt_neox"], "bloom": ["bloom"], "gpt_oss": ["gpt_oss"], "qwen3_next": ["qwen3_next", "hf_memory"]}


def case_of(name, suffix=""):
    place = GOLDEN / name
    trainer = model.read_json(place / "case.json")["from"]
    sides = {side: model.read_safetensors(place / f"{side}{suffix}.safetensors") for side in (trainer, "hf")}
    return model.read_json(place / "config.json"), model.read_json(place / "names.json"), sides


def numbered(shapes):
    """Tensors whose elements all differ."""
    found, at = {}, 1
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        found[name] = np.arange(at, at + size, dtype=np.float64).reshape(shape)
        at += size
    return found


class ModelTest(unittest.TestCase):
    def same(self, found, expected):
        self.assertEqual(sorted(found), sorted(expected))
        for name, want in expected.items():
            self.assertEqual((name, found[name].shape), (name, want.shape))
            self.assertTrue(np.array_equal(found[name], want), name)

    def both_ways(self, data, config, sides):
        for one, other in (sides, reversed(sides)):
            self.same(model.convert(data, config, one, sides[one], model.shapes_of(sides[other])), sides[other])

    def test_golden_cases(self):
        for name, ready in CASES.items():
            config, own, sides = case_of(name)
            for data in (own, model.ready_map(ready)):
                with self.subTest(name=name, own=data is own):
                    self.both_ways(data, config, sides)

    def test_moments_follow_their_tensors(self):
        config, _, sides = case_of("llama", "-with-state")
        self.both_ways(model.ready_map("llama"), config, sides)

    def test_bad_rules_are_refused(self):
        for case in model.read_json(GOLDEN / "bad-rules.json"):
            data = {"ckpt_names": 1, "sides": ["a", "b"], "sizes": case["sizes"], "tensors": [case["rule"]]}
            with self.subTest(why=case["why"]), self.assertRaises(model.MapError):
                model.Map(data, {})

    def test_families_there_and_back(self):
        for name, maps in MAPS_OF.items():
            family = model.read_json(FAMILIES / f"{name}.json")
            tensors = numbered(family["tensors"])
            for ready in maps:
                with self.subTest(family=name, map=ready):
                    data = model.ready_map(ready)
                    config = {**family["config"], "model_type": name}
                    there = model.convert(data, config, "hf", tensors, arithmetic=True)
                    back = model.convert(data, config, data["sides"][0], there, model.shapes_of(tensors), arithmetic=True)
                    self.assertEqual(sorted(back), sorted(tensors))
                    for tensor, want in tensors.items():
                        self.assertTrue(np.allclose(back[tensor], want, rtol=1e-6), tensor)

    def test_each_ready_map_has_a_family(self):
        self.assertEqual(sorted(path.stem for path in model.READY.glob("*.json") if path.stem != "schema"),
                         sorted({each for maps in MAPS_OF.values() for each in maps}))

    def test_spellings_of_a_trainer(self):
        """Names of module state dicts and of singleton_local_shards are taken in place of torch_dist's, and written where they are wanted."""
        family = model.read_json(FAMILIES / "qwen3_moe.json")
        tensors, data = numbered(family["tensors"]), model.ready_map("qwen3_moe")
        dist = model.convert(data, family["config"], "hf", tensors)

        def spelled(change):
            found = {}
            for name, value in dist.items():
                found.update(change(name, value) or {name: value})
            return found

        def by_module(name, value):
            if ".experts.experts." in name:
                return {name.replace(".experts.experts.", f".experts.local_experts.{e}."): one for e, one in enumerate(value)}
            return {name.replace("self_attention.linear_qkv.layer_norm_", "input_layernorm.").replace("mlp.linear_fc1.layer_norm_", "pre_mlp_layernorm."): value}

        def by_grouped_module(name, value):
            return {f"{name.replace('.experts.experts.', '.experts.')}{e}": one for e, one in enumerate(value)} if ".experts.experts." in name else None

        def by_singletons(name, value):
            if name.endswith("linear_fc1.weight") and ".experts.experts." not in name:
                return {f"{name}_w": value[:len(value) // 2], f"{name}_v": value[len(value) // 2:]}
            if ".experts.experts." not in name:
                return None
            names = [name.replace(".experts.experts.", f".experts.experts.{e}.") for e in range(len(value))]
            if "linear_fc2" in name:
                return dict(zip(names, value))
            half = value.shape[1] // 2
            return {f"{one}_{word}": value[e, at:at + half] for e, one in enumerate(names) for word, at in (("w", 0), ("v", half))}

        for change in (by_module, by_grouped_module, by_singletons):
            with self.subTest(change=change.__name__):
                other = spelled(change)
                self.assertNotEqual(sorted(other), sorted(dist))
                self.both_ways(data, family["config"], {"megatron": other, "hf": tensors})

    def test_layers_may_be_stacked(self):
        family = model.read_json(FAMILIES / "qwen3.json")
        tensors, data = numbered(family["tensors"]), model.ready_map("qwen3")
        flat = model.convert(data, family["config"], "hf", tensors)
        stacked = {}
        for name, value in flat.items():
            head, _, rest = name.partition("decoder.layers.0.")
            if rest:
                stacked[f"decoder.layers.{rest}"] = np.stack([flat[f"decoder.layers.{l}.{rest}"] for l in range(3)])
            elif not name.startswith("decoder.layers."):
                stacked[name] = value
        self.both_ways(data, family["config"], {"megatron": stacked, "hf": tensors})

    def test_mtp_layers_and_their_copies(self):
        family = model.read_json(FAMILIES / "deepseek_v3.json")
        tensors = numbered(family["tensors"])
        layers, hidden = family["config"]["num_hidden_layers"], family["config"]["hidden_size"]
        last, mtp = f"model.layers.{layers - 1}.", f"model.layers.{layers}."
        more = {f"{mtp}{name[len(last):]}": value + 1e6 for name, value in tensors.items() if name.startswith(last)}
        more.update({f"{mtp}{name}.weight": np.full(hidden, at) for at, name in enumerate(("enorm", "hnorm", "shared_head.norm"), 1)})
        more[f"{mtp}eh_proj.weight"] = np.arange(2.0 * hidden * hidden).reshape(hidden, 2 * hidden)
        more[f"{mtp}embed_tokens.weight"] = tensors["model.embed_tokens.weight"]
        more[f"{mtp}shared_head.head.weight"] = tensors["lm_head.weight"]
        tensors.update(more)
        data = model.ready_map("deepseek_v3")
        there = model.convert(data, family["config"], "hf", tensors)
        self.assertTrue(np.array_equal(there["mtp.layers.0.eh_proj.weight"], tensors[f"{mtp}eh_proj.weight"]))
        self.assertIn("mtp.layers.0.transformer_layer.mlp.experts.experts.linear_fc1.weight", there)
        self.same(model.convert(data, family["config"], "megatron", there, model.shapes_of(tensors)), tensors)
        tensors[f"{mtp}embed_tokens.weight"] = tensors[f"{mtp}embed_tokens.weight"] + 1
        with self.assertRaisesRegex(model.MapError, "differs from model.embed_tokens.weight"):
            model.convert(data, family["config"], "hf", tensors)

    def test_what_is_refused(self):
        config, _, sides = case_of("llama")
        good, ready = sides["megatron"], model.ready_map("llama")
        less = {name: value for name, value in sides["hf"].items() if name != "model.layers.1.self_attn.k_proj.weight"}
        turned = dict(good, **{"decoder.layers.self_attention.linear_qkv.weight": np.swapaxes(good["decoder.layers.self_attention.linear_qkv.weight"], 1, 2)})
        unknown_key = dict(ready, colour=1)
        scaled = model.ready_map("maxtext_scaled")
        for what, run in {
                "no rule takes": lambda: model.convert(ready, config, "megatron", dict(good, extra=good["output_layer.weight"])),
                "is there": lambda: model.convert(ready, config, "hf", less),
                "the rule gives": lambda: model.convert(ready, config, "megatron", turned),
                "leaves a remainder": lambda: model.convert(ready, dict(config, num_attention_heads=5), "megatron", good),
                "unknown key": lambda: model.convert(unknown_key, config, "megatron", good),
                "its own": lambda: model.inherited({"ckpt_names": 1, "base": "llama"}, model.READY, ("llama",)),
                "is no move": lambda: model.convert(scaled, config, "hf", sides["hf"])}.items():
            with self.subTest(what=what), self.assertRaisesRegex(model.MapError, what):
                run()

    def test_sizes_may_be_given(self):
        config, _, sides = case_of("llama")
        wrong = dict(config, num_key_value_heads=1)
        with self.assertRaises(model.MapError):
            model.convert(model.ready_map("llama"), wrong, "megatron", sides["megatron"])
        found = model.convert(model.ready_map("llama"), wrong, "megatron", sides["megatron"], model.shapes_of(sides["hf"]), {"g": 2})
        self.same(found, sides["hf"])

    def test_a_map_is_not_changed_by_its_use(self):
        data = model.ready_map("qwen3_next")
        before = copy.deepcopy(data)
        model.Map(data, model.read_json(FAMILIES / "qwen3_next.json")["config"])
        self.assertEqual(data, before)


if __name__ == "__main__":
    unittest.main()
