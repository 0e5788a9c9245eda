import json


class Tensor:
    """A tensor of a checkpoint that has not been read yet: its name, dtype (as `ckpt inspect` gives it: "f32", "bf16"), shape and number
    of bytes."""

    def __init__(self, name, dtype, shape, nbytes, opener):
        self.name, self.dtype, self.shape, self.nbytes = name, dtype, shape, nbytes
        self._opener = opener

    def __repr__(self):
        return f"Tensor({self.name!r}, {self.dtype}, {list(self.shape)})"

    def bytes(self):
        """Reads the elements in row-major order, little-endian, as a bytearray."""
        return self._read()[1]

    def numpy(self):
        """Reads it as an array of numpy. A bf16 or 8-bit float has numpy's dtype from the package ml_dtypes; without that package bf16
        is widened to float32, which changes no value."""
        import numpy

        word, data = self._read()
        if word in _NUMPY:
            return numpy.frombuffer(data, _NUMPY[word]).reshape(self.shape)
        try:
            import ml_dtypes
        except ImportError:
            if word != "BF16":
                raise TypeError(f"{self.name}: numpy has no {word}: install ml_dtypes, or take .bytes()") from None
            wide = numpy.frombuffer(data, "<u2").astype("<u4") << 16
            return wide.view("<f4").reshape(self.shape)
        return numpy.frombuffer(data, getattr(ml_dtypes, _ML_DTYPES[word])).reshape(self.shape)

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def _read(self):
        stream, end = self._opener(self.name)
        with stream:
            try:
                header = json.loads(_exactly(stream, int.from_bytes(_exactly(stream, 8), "little")))
                start, stop = header[self.name]["data_offsets"]
                _exactly(stream, start)
                data = _exactly(stream, stop - start)
            except EOFError:
                end()  # tells why the program has ended early
                raise
            end()
        return header[self.name]["dtype"], data


_NUMPY = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8",
          "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?", "C64": "<c8"}
_ML_DTYPES = {"BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu"}


def _exactly(stream, count):
    data = bytearray(count)
    view = memoryview(data)
    at = 0
    while at < count:
        got = stream.readinto(view[at:])
        if not got:
            raise EOFError(f"{at} bytes, expected {count}")
        at += got
    return data
