"""For each ready layout the sample that its framework would have saved: whole tensors, cards, and the arrangement."""
from typing import Callable, NamedTuple

import data_parallel
import deepspeed
import fsdp
import gpipe
import gshard
import hf_tp_plan
import megatron
import megatron_optimizer
import mindspore_hybrid
import moe
import tutorial


class Sample(NamedTuple):
    logical: Callable  # () -> {name: whole tensor}
    cards: Callable  # (arrangement, source=False) -> {file name: {dataset: array}}; a source has garbage as padding
    arrangement: dict  # of the ready layout as it stands

    def source(self):
        return self.cards(**self.arrangement, source=True)


SAMPLES = {
    "tutorial": Sample(tutorial.logical, tutorial.cards, {"rows": 2, "columns": 2}),
    "data-parallel": Sample(data_parallel.logical, data_parallel.cards, {"dp": 4}),
    "mindspore-hybrid": Sample(mindspore_hybrid.logical, mindspore_hybrid.cards, {"dp": 8, "mp": 8}),
    "gpipe": Sample(gpipe.logical, gpipe.cards, {"balance": (3, 2, 2, 3)}),
    "gshard-4x8": Sample(gshard.logical, gshard.cards, {"shape": (4, 8), "physical": (4, 4, 2)}),
    "gshard-16x32": Sample(gshard.logical, gshard.cards, {"shape": (16, 32), "physical": (16, 16, 2)}),
    "megatron-gpt": Sample(megatron.logical, megatron.cards, {"pp": 4, "dp": 2, "tp": 2, "chunks": 2}),
    "megatron-distributed-optimizer": Sample(megatron_optimizer.logical, megatron_optimizer.cards,
                                             {"pp": 2, "dp": 2, "tp": 2}),
    "deepspeed-zero1": Sample(deepspeed.zero1_logical, deepspeed.zero1_cards, {"dp": 4}),
    "deepspeed-zero2": Sample(deepspeed.zero2_logical, deepspeed.zero2_cards, {"dp": 4, "tp": 2}),
    "deepspeed-zero3": Sample(deepspeed.zero3_logical, deepspeed.zero3_cards, {"dp": 4}),
    "fsdp1": Sample(fsdp.fsdp1_logical, fsdp.fsdp1_cards, {"dp": 4}),
    "fsdp2": Sample(fsdp.fsdp2_logical, fsdp.fsdp2_cards, {"dp": 8}),
    "fsdp2-tp": Sample(fsdp.fsdp2_tp_logical, fsdp.fsdp2_tp_cards, {"dp": 6, "tp": 2}),
    "moe": Sample(moe.logical, moe.cards, {"pp": 2, "edp": 1, "ep": 4, "tp": 2}),
    "hf-tp-plan": Sample(hf_tp_plan.logical, hf_tp_plan.cards, {"tp": 4}),
}
