"""What the tests use of torch, by the names of the newest one: torch 2.4 has some of it elsewhere, and some not. Imported before all else of
torch."""
import torch
import torch.distributed.fsdp
import torch.distributed.tensor
import torch.distributed.tensor.parallel  # which imports that of 2.4 by its own name

IS_2_4 = torch.__version__.startswith("2.4.")

if IS_2_4:
    import sys

    import torch.distributed._tensor as older
    import torch.distributed._tensor.placement_types
    from torch.distributed._composable.fsdp import fully_shard

    for name in ("DTensor", "Partial", "Replicate", "Shard", "distribute_tensor", "placement_types"):
        setattr(torch.distributed.tensor, name, getattr(older, name))
    older.placement_types._StridedShard = None
    sys.modules["torch.distributed.tensor.placement_types"] = older.placement_types
    torch.distributed.fsdp.fully_shard = fully_shard
