"""Writes the files that a job's ranks save each by itself, without torch: tensors that say which piece of a whole they are, as DTensor (verl,
accelerate) and FSDP1's ShardedTensor pickle."""
import torch_file
from dcp_directory import Size, made

FROM_TYPE = torch_file.function("torch._tensor", "_rebuild_from_type_v2")
WRAPPER = torch_file.function("torch._utils", "_rebuild_wrapper_subclass")
DTENSOR = torch_file.of_class("torch.distributed.tensor", "DTensor")
SPEC = torch_file.of_class("torch.distributed.tensor._dtensor_spec", "DTensorSpec")
MESH = torch_file.of_class("torch.distributed.device_mesh", "DeviceMesh")
KINDS = {name: torch_file.of_class("torch.distributed.tensor.placement_types", name) for name in ("Shard", "_StridedShard", "Replicate", "Partial")}
SHARDED = torch_file.of_class("torch.distributed._shard.sharded_tensor.api", "ShardedTensor")
SHARD = torch_file.of_class("torch.distributed._shard.sharded_tensor.shard", "Shard")
SHARD_METADATA = torch_file.of_class("torch.distributed._shard.metadata", "ShardMetadata")
SHARDED_METADATA = torch_file.of_class("torch.distributed._shard.sharded_tensor.metadata", "ShardedTensorMetadata")
PROPERTIES = torch_file.of_class("torch.distributed._shard.sharded_tensor.metadata", "TensorProperties")


def piece(count, ways, at):
    """What of so many torch.chunk gives."""
    each = -(-count // ways)
    return slice(min(count, at * each), min(count, (at + 1) * each))


class Wrapped:
    """Pickles as a tensor of a class of its own."""

    def __init__(self, kind, dtype, shape, state):
        self.arguments = (WRAPPER, kind, (kind, torch_file.function("torch", dtype), tuple(shape), None), state)

    def __reduce__(self):
        return FROM_TYPE, self.arguments


class Mesh:
    """Axes by name, with their sizes; the last counts fastest."""

    def __init__(self, **axes):
        self.names, self.sizes = tuple(axes), tuple(axes.values())

    def coordinate(self, rank):
        found = []
        for size in reversed(self.sizes):
            rank, at = divmod(rank, size)
            found.insert(0, at)
        return tuple(found)


def placement(kind, **attributes):
    return made(KINDS[kind], **attributes)


def cut_of(shape, mesh, coordinate, placements):
    """The slices of a rank's piece: cut axis by axis, those that are strided after all others, from the right."""
    cut = [slice(0, extent) for extent in shape]
    axes = list(enumerate(placements))
    for kind, order in (("Shard", axes), ("_StridedShard", axes[::-1])):
        for axis, each in order:
            if type(each).__name__ == kind:
                whole = cut[each.dim]
                part = piece(whole.stop - whole.start, mesh.sizes[axis], coordinate[axis])
                cut[each.dim] = slice(whole.start + part.start, whole.start + part.stop)
    return tuple(cut)


def tensor_of(local, dtype):
    return torch_file.OfBits(dtype, local) if dtype in torch_file.TYPES_OF_BITS else local


def local_state(local, mesh, rank, placements):
    where = made(MESH, _coordinate_on_dim=mesh.coordinate(rank), mesh_dim_names=mesh.names)
    return None, {"_local_tensor": local, "_spec": made(SPEC, mesh=where, placements=placements)}


def dtensor(whole, mesh, rank, placements, dtype="float32"):
    """`dtype`: as torch calls it; the array has the bits of those that NumPy has not."""
    local = tensor_of(whole[cut_of(whole.shape, mesh, mesh.coordinate(rank), placements)].copy(), dtype)
    return Wrapped(DTENSOR, dtype, whole.shape, local_state(local, mesh, rank, placements))


def sharded(whole, rank, ranks, dtype="float32"):
    """Cut into rows; a rank without any has no shard."""
    rows = piece(len(whole), ranks, rank)
    metadata = made(SHARDED_METADATA, shards_metadata=[], size=Size(whole.shape), tensor_properties=made(PROPERTIES, dtype=torch_file.function("torch", dtype)))
    rest = whole.shape[1:]
    place = made(SHARD_METADATA, shard_offsets=[rows.start] + [0] * len(rest), shard_sizes=[rows.stop - rows.start, *rest])
    shards = [made(SHARD, tensor=tensor_of(whole[rows].copy(), dtype), metadata=place)] if rows.start < rows.stop else []
    return Wrapped(SHARDED, dtype, whole.shape, (shards, metadata, None))
