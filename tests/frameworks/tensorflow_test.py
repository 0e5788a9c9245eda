"""What the programs write as TensorFlow's checkpoints, restored by TensorFlow; and what it saves, read by them."""
import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0")

import jobs  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1


def partitioned(pieces):
    """An embedding in pieces with Adam's slots, and a dense layer whole; gives the operation that trains."""
    embedding = v1.get_variable("emb", [50, 6], partitioner=v1.fixed_size_partitioner(pieces))
    kernel = v1.get_variable("dense/kernel", [6, 3])
    loss = tf.reduce_sum(tf.square(tf.matmul(tf.concat(list(embedding), 0), kernel)))
    return v1.train.AdamOptimizer(0.01).minimize(loss, global_step=v1.train.get_or_create_global_step())


def values(session):
    """Every variable whole, by its name."""
    found = {}
    for variable in v1.global_variables():
        info, value = variable._save_slice_info, session.run(variable)
        if info is None:
            found[variable.op.name] = value
        else:
            whole = found.setdefault(info.full_name, np.zeros(info.full_shape, value.dtype))
            whole[tuple(slice(lo, lo + size) for lo, size in zip(info.var_offset, info.var_shape))] = value
    return found


def train_and_save(pieces, place):
    with tf.Graph().as_default(), v1.Session() as session:
        train = partitioned(pieces)
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        v1.train.Saver(sharded=True).save(session, str(place / "model.ckpt"), global_step=10, write_meta_graph=False)
        return values(session)


def restored(pieces, prefix):
    with tf.Graph().as_default(), v1.Session() as session:
        partitioned(pieces)
        v1.train.Saver().restore(session, prefix)
        return values(session)


def same(found, expected, what):
    assert found.keys() == expected.keys(), (what, found.keys() ^ expected.keys())
    for name, value in expected.items():
        assert np.array_equal(found[name], value), (what, name)


def savers():
    """a job's checkpoint on 4 partitions goes to 3, 5 and 8, and Saver restores it into any number"""
    place = jobs.scratch()
    expected = train_and_save(4, place)
    for cards in (3, 5, 8):
        written = place / f"cards_{cards}"
        jobs.program("reshard", "--cards", cards, "--format", "tensorflow", place / "model.ckpt-10", "-o", written)
        latest = tf.train.latest_checkpoint(str(written))
        assert latest == str(written / "model.ckpt"), latest
        same(restored(cards, latest), expected, f"{cards} cards")
        same(restored(2, latest), expected, f"{cards} cards, on 2")
        reader = tf.train.load_checkpoint(str(written))
        same({name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}, expected, "load_checkpoint")
    jobs.program("merge", place / "model.ckpt-10", "-o", place / "merged.safetensors")
    jobs.program("merge", "--format", "tensorflow", place / "merged.safetensors", "-o", place / "back")
    same(restored(4, str(place / "back" / "model.ckpt")), expected, "from safetensors")


class Net(tf.Module):
    def __init__(self, seed):
        super().__init__()
        random = np.random.default_rng(seed)
        self.layers = [tf.Variable(random.standard_normal((40, 5)).astype("f4")) for _ in range(3)]
        self.step = tf.Variable(seed, dtype=tf.int64)
        self.half = tf.Variable(tf.cast([1.5, -2.25], tf.bfloat16))
        self.words = tf.Variable(["a", "b\0c", ""])


def objects():
    """tf.train.Checkpoint restores every object from what is written, by its graph of objects"""
    place = jobs.scratch()
    net = Net(3)
    prefix = tf.train.Checkpoint(net=net, rate=tf.Variable(0.5)).save(str(place / "ckpt"))
    jobs.program("reshard", "--cards", 2, "--format", "tensorflow", prefix, "-o", place / "two")
    fresh = Net(7)
    rate = tf.Variable(0.0)
    status = tf.train.Checkpoint(net=fresh, rate=rate).restore(tf.train.latest_checkpoint(str(place / "two")))
    status.assert_existing_objects_matched()
    assert rate.numpy() == 0.5 and fresh.step.numpy() == 3
    for theirs, ours in zip(net.layers + [net.half, net.words], fresh.layers + [fresh.half, fresh.words]):
        assert np.array_equal(theirs.numpy(), ours.numpy()), theirs.name


def damage():
    """TensorFlow refuses what we write when a byte of it is changed: the checksums are of these bytes"""
    place = jobs.scratch()
    train_and_save(3, place)
    jobs.program("reshard", "--cards", 2, "--format", "tensorflow", place / "model.ckpt-10", "-o", place / "two")
    data = place / "two" / "model.ckpt.data-00000-of-00002"
    damaged = bytearray(data.read_bytes())
    damaged[0] ^= 1
    data.write_bytes(damaged)
    try:
        restored(2, str(place / "two" / "model.ckpt"))
    except tf.errors.OpError:
        return
    raise AssertionError("no checksum was wrong")


if __name__ == "__main__":
    jobs.main({"savers": savers, "objects": objects, "damage": damage})
