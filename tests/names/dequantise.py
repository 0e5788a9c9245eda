"""What quantised tensors mean, family by family, from the formats' definitions: a reference for `--dequantize`. Products in f32, rounded once to bf16."""
import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # nibble k of a word is this column of eight


def e4m3(codes):
    """f8e4m3fn: no infinity, 0x7f and 0xff are NaN."""
    codes = codes.astype(np.int64)
    exponent, mantissa = codes >> 3 & 15, codes & 7
    value = np.where(exponent == 0, mantissa / 8 * 2.0 ** -6, (1 + mantissa / 8) * 2.0 ** (exponent - 7.0))
    value = np.where(codes & 127 == 127, np.nan, value)
    return np.where(codes & 128, -value, value).astype(np.float32)


def e8m0(codes):
    """2^(code - 127); 255 is NaN, 0 is 2^-127."""
    return np.where(codes == 255, np.nan, np.ldexp(1.0, codes.astype(np.int64) - 127)).astype(np.float32)


def to_bf16(values):
    """f32 to the bits of the nearest bf16, ties to even; NaN stays one."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), bits >> 16 | 0x40, rounded).astype(np.uint16)


def spread(scales, shape, block):
    """Each scale over its block; the last block of a dimension may be short."""
    index = np.ix_(*(np.arange(extent) // size for extent, size in zip(shape, block)))
    return scales[index]


def fp8_blocks(weight, scales, block=(128, 128)):
    """f8e4m3 [o, i] with a scale (f32, or E8M0 codes) for each block, whose size the configuration says."""
    wide = e8m0(scales) if scales.dtype == np.uint8 else scales
    return e4m3(weight) * spread(wide, weight.shape, block)


def fp8_channel(weight, scale):
    """A scale for each row [o, 1], or one for all []."""
    return e4m3(weight) * scale


def mxfp8(weight, scales):
    """32 columns share an exponent."""
    return e4m3(weight) * e8m0(scales).repeat(32, -1)


def nibbles_low_first(packed):
    """u8 […, n] -> codes […, 2 n]"""
    return np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1)


def mxfp4(blocks, scales):
    """gpt-oss: blocks u8 [e, o, g, 16], scales u8 [e, o, g] -> [e, i, o]"""
    values = E2M1[nibbles_low_first(blocks)] * e8m0(scales)[..., None]
    return values.reshape(*scales.shape[:-1], -1).swapaxes(1, 2)


def nvfp4(weight, scale, scale_2, inverse=False):
    """ModelOpt multiplies by its second scale, compressed-tensors divides."""
    blocks = e4m3(scale) / np.float32(scale_2) if inverse else e4m3(scale) * np.float32(scale_2)
    return E2M1[nibbles_low_first(weight)] * blocks.astype(np.float32).repeat(16, -1)


def nibbles_of_words(words, axis):
    """i32 -> its eight nibbles along `axis`, low first."""
    words = np.moveaxis(words.view(np.uint32), axis, -1)
    codes = (words[..., None] >> (4 * np.arange(8, dtype=np.uint32)) & 15).reshape(*words.shape[:-1], -1)
    return np.moveaxis(codes, -1, axis).astype(np.int64)


def gptq(qweight, qzeros, scales, g_idx):
    """Version 1, which stores zeros less one: qweight [i/8, o], qzeros [g, o/8], scales f16 [g, o], g_idx [i] -> [o, i]"""
    codes, zeros = nibbles_of_words(qweight, 0), nibbles_of_words(qzeros, 1)[:, :qweight.shape[1]] + 1
    return ((codes - zeros[g_idx]).astype(np.float32) * scales.astype(np.float32)[g_idx]).T


def awq(qweight, qzeros, scales, group):
    """qweight [i, o/8], qzeros [g, o/8], scales f16 [g, o] -> [o, i]"""
    def unpacked(words):
        codes = nibbles_of_words(words, 1).reshape(len(words), -1, 8)
        out = np.empty_like(codes)
        out[..., AWQ_ORDER] = codes
        return out.reshape(len(words), -1)
    rows = np.arange(len(qweight)) // group
    return ((unpacked(qweight) - unpacked(qzeros)[rows]).astype(np.float32) * scales.astype(np.float32)[rows]).T


def bitsandbytes_4bit(weight, absmax, quant_map, shape, blocksize=64, nested=None):
    """u8 [n/2, 1], high nibble first. `nested`: (map, absmax, blocksize, offset) of an absmax that is itself quantised."""
    if nested is not None:
        second, largest, size, offset = nested
        absmax = second[absmax] * largest.repeat(size)[:absmax.size] + np.float32(offset)
    codes = np.stack([weight >> 4, weight & 15], -1).reshape(-1)
    values = quant_map[codes] * absmax.repeat(blocksize)[:codes.size]
    return values[:int(np.prod(shape))].reshape(shape)


def bitsandbytes_int8(weight, scb):
    return weight.astype(np.float32) * scb[:, None] / np.float32(127)
