#!/usr/bin/env python3
"""make_block_formats.py: remakes block_formats.json, which has a line for each block format of GGUF files: the SHA-256 of the float32 numbers that the
package gguf (0.19 made what is here) expands its blocks to.

The blocks are not stored: byte after byte they are the SHA-256 of "NAME 0", "NAME 1", … but that the bytes in `cleared` of every block lose their bit
of 64, without which no scale is infinite. Formats that the package does not expand are expanded here, in float64, by the definition in llama.cpp."""
import hashlib, json, os
import gguf.quants, numpy as np

BLOCKS = 1024
# Upper bytes of binary16 scales; a byte of MXFP4 is an exponent, of which the highest stands for no number.
CLEARED = {"Q4_0": [1], "Q4_1": [1, 3], "Q5_0": [1], "Q5_1": [1, 3], "Q8_0": [1], "Q2_K": [81, 83], "Q3_K": [109], "Q4_K": [1, 3], "Q5_K": [1, 3], "Q6_K": [209],
           "IQ2_XXS": [1], "IQ2_XS": [1], "IQ3_XXS": [1], "IQ1_S": [1], "IQ4_NL": [1], "IQ3_S": [1], "IQ2_S": [1], "IQ4_XS": [1], "IQ1_M": [55], "BF16": [1],
           "TQ1_0": [53], "TQ2_0": [65], "MXFP4": [0], "NVFP4": [], "Q1_0": [1], "Q2_0": [1]}


def bytes_of(name, count):
    return b"".join(hashlib.sha256(f"{name} {n}".encode()).digest() for n in range(-(-count // 32)))[:count]


def bits_of(blocks, bits, numbers):
    """Numbers of `bits` bits behind a binary16 scale, the first in the lowest, as `numbers` says; by Q1_0 and Q2_0 of ggml-quants.c."""
    scales = blocks[:, :2].copy().view(np.float16).astype(np.float64)
    places = blocks[:, 2:, None] >> np.arange(0, 8, bits) & (1 << bits) - 1
    return (scales * np.array(numbers, np.float64)[places].reshape(len(blocks), -1)).astype(np.float32)


OWN = {"Q1_0": (18, lambda blocks: bits_of(blocks, 1, [-1, 1])), "Q2_0": (18, lambda blocks: bits_of(blocks, 2, [-1, 0, 1, 2]))}

formats = {}
for name, cleared in CLEARED.items():
    kind = None if name in OWN else gguf.quants._type_traits[gguf.GGMLQuantizationType[name]]
    size = OWN[name][0] if kind is None else kind.type_size
    blocks = np.frombuffer(bytes_of(name, size * BLOCKS), np.uint8).reshape(BLOCKS, size).copy()
    for place in cleared:
        blocks[:, place] &= 0xBF
    values = OWN[name][1](blocks) if kind is None else kind.dequantize(blocks).astype(np.float32)
    formats[name] = {"cleared": cleared, "values": hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()}
rows = ",\n ".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in formats.items())
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "block_formats.json"), "w") as file:
    file.write(f'{{"blocks": {BLOCKS}, "formats": {{\n {rows}}}}}\n')
