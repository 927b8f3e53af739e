"""Numbers of a tensor from its name: the twin of generated_tensors.h, which tests compare with the same stored values.

Element i (row-major, from 0) of the tensor NAME, with 64-bit arithmetic modulo 2^64:

    key = FNV-1a of NAME's bytes (offset basis 0xCBF29CE484222325, prime 0x100000001B3)
    z   = key + (i + 1)·0x9E3779B97F4A7C15;  z = (z ^ z>>30)·0xBF58476D1CE4E5B9;  z = (z ^ z>>27)·0x94D049BB133111EB;  z = z ^ z>>31   (splitmix64)
    n   = (the sum of z's four 16-bit digits − 131070) / 37837      mean 0, variance 1, |n| < 3.47: nearly normal
    value = float32(offset + scale·n), computed in float64"""
import numpy


def fnv(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2 ** 64
    return numpy.uint64(value)


def bits(name, count):
    """(count), 64 bits each."""
    with numpy.errstate(over="ignore"):
        z = fnv(name) + numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    return z ^ z >> numpy.uint64(31)


def numbers(name, count):
    """(count), float64."""
    z = bits(name, count)
    digits = sum((z >> numpy.uint64(16 * n) & numpy.uint64(0xFFFF)).astype(numpy.int64) for n in range(4))
    return (digits - 131070) / 37837.0


def tensor(name, shape, offset, scale):
    """float32 of this shape."""
    count = int(numpy.prod(shape, dtype=numpy.int64))
    return (offset + scale * numbers(name, count)).astype(numpy.float32).reshape(shape)
