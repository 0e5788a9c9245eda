"""The reference of quantised families against what their own libraries give (tests/golden/names/quantised), and packings against the integers."""
import json
import unittest

import numpy as np

import dequantise
import model

GOLDEN = model.ROOT / "tests" / "golden" / "names" / "quantised" / "tensors.safetensors"


class DequantiseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tensors = model.read_safetensors(GOLDEN)

    def family(self, name):
        return {key[len(name) + 1:]: value for key, value in self.tensors.items() if key.startswith(f"{name}.")}

    def same_bf16(self, values, truth):
        want = self.tensors[f"truth.{truth}"]
        self.assertEqual(values.shape, want.shape)
        self.assertTrue(np.array_equal(dequantise.to_bf16(values), want), truth)

    def test_fp8(self):
        one = self.family("fp8_block.div")
        self.same_bf16(dequantise.fp8_blocks(one["weight"], one["weight_scale_inv"]), "fp8_block.div.weight")
        one = self.family("fp8_channel")
        self.same_bf16(dequantise.fp8_channel(one["weight"], one["weight_scale"]), "fp8_channel.weight")
        one = self.family("mxfp8")
        self.same_bf16(dequantise.mxfp8(one["weight"], one["weight_scale_inv"]), "mxfp8.weight")

    def test_blocks_may_be_short_at_the_end(self):
        codes = np.full((130, 129), 0x38, np.uint8)  # 1
        scales = np.array([[1, 2], [3, 4]], np.float32)
        found = dequantise.fp8_blocks(codes, scales)
        self.assertEqual([found[0, 0], found[0, 128], found[128, 0], found[129, 128]], [1, 2, 3, 4])

    def test_mxfp4(self):
        one = self.family("mxfp4")
        self.same_bf16(dequantise.mxfp4(one["gate_up_proj_blocks"], one["gate_up_proj_scales"]), "mxfp4.gate_up_proj")

    def test_gptq(self):
        one = self.family("gptq")
        self.same_bf16(dequantise.gptq(one["qweight"], one["qzeros"], one["scales"], one["g_idx"]), "gptq.weight")

    def test_bitsandbytes(self):
        one = self.family("bnb.nf4")
        state = json.loads(one["weight.quant_state.bitsandbytes__nf4"].tobytes())
        found = dequantise.bitsandbytes_4bit(one["weight"], one["weight.absmax"], one["weight.quant_map"], state["shape"], state["blocksize"])
        self.assertTrue(np.array_equal(found, self.tensors["truth.bnb.nf4.weight"]))

    def test_awq_packs_columns_in_its_order(self):
        random = np.random.default_rng(5)
        rows, columns, group = 16, 24, 8
        codes, zeros = random.integers(0, 16, (rows, columns)), random.integers(0, 16, (rows // group, columns))
        scales = random.normal(size=(rows // group, columns)).astype(np.float16)

        def packed(values):  # as AutoAWQ's packing loop does
            words = np.zeros((len(values), columns // 8), np.uint32)
            for column in range(columns // 8):
                for nibble, at in enumerate((0, 2, 4, 6, 1, 3, 5, 7)):
                    words[:, column] |= values[:, column * 8 + at].astype(np.uint32) << np.uint32(4 * nibble)
            return words.view(np.int32)

        expected = ((codes - zeros.repeat(group, 0)).astype(np.float32) * scales.repeat(group, 0).astype(np.float32)).T
        self.assertTrue(np.array_equal(dequantise.awq(packed(codes), packed(zeros), scales, group), expected))

    def test_nvfp4_by_either_scale(self):
        weight = np.array([[0x21] * 8 + [0xA9] * 8], np.uint8)  # .5, 1, …; -.5, -1, …
        scale = np.array([[0x38, 0x40]], np.uint8)  # 1, 2
        expected = np.array([[0.5, 1.0] * 8 + [-1.0, -2.0] * 8], np.float32) * np.float32(0.25)
        self.assertTrue(np.array_equal(dequantise.nvfp4(weight, scale, 0.25), expected))
        self.assertTrue(np.array_equal(dequantise.nvfp4(weight, scale, 4.0, inverse=True), expected))

    def test_small_floats(self):
        self.assertEqual(dequantise.e4m3(np.array([0, 1, 0x08, 0x7E, 0x80, 0xFE], np.uint8)).tolist(), [0, 2.0 ** -9, 2.0 ** -6, 448, 0, -448])
        self.assertTrue(np.isnan(dequantise.e4m3(np.array([0x7F, 0xFF], np.uint8))).all())
        self.assertEqual(dequantise.e8m0(np.array([0, 127, 254], np.uint8)).tolist(), [2.0 ** -127, 1, 2.0 ** 127])
        self.assertTrue(np.isnan(dequantise.e8m0(np.array([255], np.uint8))).all())


if __name__ == "__main__":
    unittest.main()
