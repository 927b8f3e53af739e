"""Records the queries and keys of a PyTorch model as a trace, which Locus opens. One file; it needs PyTorch alone.

    import locus_trace
    with locus_trace.capture(model, "run.safetensors", tokenizer=tokenizer):
        model(**inputs)

    python3 locus_trace.py --check run.safetensors
    python3 locus_trace.py --convert cache.npz run.safetensors

A trace holds q and k of every layer as the score sees them (after rotation and norms, key heads in their groups), from which Locus
computes what it shows; a map of all pairs only where they do not give it. Letters of shapes: T tokens, S keys, H heads, D the width
of a head.
"""

import argparse
import ast
import contextlib
import ctypes
import functools
import html
import importlib.util
import inspect
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import types
import warnings
import zipfile

if __name__ == "__main__":  # --check works without PyTorch; --convert imports it
    torch, TorchFunctionMode = None, object
else:
    import torch
    from torch.overrides import TorchFunctionMode


class TraceError(RuntimeError):
    """A model, a call or a file of which no true trace can be made; the text says what was expected and found."""


# ---- safetensors: eight bytes with the length of a JSON header, the header, and the tensors one after another ----

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32"}
LARGEST_HEADER = 100_000_000


def _dtype(tensor):
    return NAMES[str(tensor.dtype).rpartition(".")[2]]


def write_safetensors(path, tensors, metadata):
    """Writes tensors on the CPU and texts, under another name first: `path` holds all of it or stays as it was."""
    tensors = {name: value.contiguous() for name, value in tensors.items()}
    order = sorted(tensors, key=lambda name: -SIZES[_dtype(tensors[name])])  # widest first, so that each lies aligned
    header, end = {"__metadata__": metadata}, 0
    for name in order:
        begin, end = end, end + tensors[name].numel() * SIZES[_dtype(tensors[name])]
        header[name] = {"dtype": _dtype(tensors[name]), "shape": list(tensors[name].shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = os.path.abspath(os.fspath(path))
    handle, temporary = tempfile.mkstemp(prefix=".locus-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for name in order:
                size = tensors[name].numel() * SIZES[_dtype(tensors[name])]
                if size > 0:
                    file.write((ctypes.c_char * size).from_address(tensors[name].data_ptr()))
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_header(path):
    """The tensors {name: {dtype, shape, data_offsets}} and the metadata of a safetensors file, checked against its size."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8).ljust(8, b"\xff"))[0]
        if length > min(size - 8, LARGEST_HEADER):
            raise TraceError(f"header: expected at most {max(0, size - 8)} bytes, found {length}")
        try:
            header = json.loads(file.read(length).decode())
        except (ValueError, RecursionError):
            raise TraceError("header: expected JSON, found other bytes") from None
    if not isinstance(header, dict):
        raise TraceError("header: expected an object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise TraceError("metadata: expected an object of texts")
    for name, info in header.items():
        _check_tensor(name, info, size - 8 - length)
    end = 0
    for name, info in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        if info["data_offsets"][0] != end:
            raise TraceError(f"tensor {name}: expected bytes from {end} on, found {info['data_offsets'][0]}")
        end = info["data_offsets"][1]
    if end != size - 8 - length:
        raise TraceError(f"expected {end} bytes behind the header, found {size - 8 - length}")
    return header, metadata


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_tensor(name, info, most):
    keys = info.keys() if isinstance(info, dict) else ()
    if set(keys) != {"dtype", "shape", "data_offsets"}:
        raise TraceError(f"tensor {name}: expected dtype, shape and data_offsets, found {', '.join(sorted(keys)) or 'none'}")
    if not isinstance(info["dtype"], str) or info["dtype"] not in SIZES:
        raise TraceError(f"tensor {name}: expected a dtype of {' '.join(SIZES)}, found {info['dtype']}")
    for key in ("shape", "data_offsets"):
        if not isinstance(info[key], list) or not all(_is_count(value) for value in info[key]):
            raise TraceError(f"tensor {name}: {key}: expected whole numbers of at least 0, found {info[key]}")
    offsets = info["data_offsets"]
    if len(offsets) != 2 or not offsets[0] <= offsets[1] <= most:
        raise TraceError(f"tensor {name}: expected two offsets up to {most}, found {offsets}")
    needed = math.prod(info["shape"]) * SIZES[info["dtype"]]
    if offsets[1] - offsets[0] != needed:
        raise TraceError(f"tensor {name}: expected {needed} bytes for {info['shape']}, found {offsets[1] - offsets[0]}")


# ---- the check of a trace ----

def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _above(low, most=math.inf):
    return lambda value: _is_number(value) and low < value <= most


def _one_of(*words):
    return lambda value: value in words


def _are_above_0(value):
    return isinstance(value, list) and all(_above(0)(each) for each in value)


def _is_flag(value):
    return isinstance(value, bool)


LISTS = {  # of the metadata, with an entry for each layer
    "layer_encodings": lambda value: value is None or isinstance(value, dict),
    "windows": _is_count,
    "chunks": _is_count,
    "soft_caps": lambda value: _is_number(value) and value >= 0,
    "sinks": _is_flag,
    "attends": _is_flag,
    "head_widths": _is_count,
    "key_heads": _is_count,
}
OTHER_LISTS = {"mixers": lambda value: isinstance(value, str), "recorded_layers": _is_count}


def _json(metadata, key, kind):
    if key not in metadata:
        return None
    try:
        value = json.loads(metadata[key])
    except (ValueError, RecursionError):
        value = ()  # of no kind
    if value is not None and not isinstance(value, kind):
        raise TraceError(f"metadata {key}: expected a JSON {'list' if kind is list else 'object'}")
    return value


def _check_shape(tensors, name, shape):
    """Raises unless the tensor is absent or has this shape; None stands for any size above 0."""
    found = tensors[name]["shape"] if name in tensors else None
    if found is not None and (len(found) != len(shape) or any(a < 1 if b is None else a != b for a, b in zip(found, shape))):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise TraceError(f"tensor {name}: expected shape [{wanted}], found {found}")


def _check_layer(tensors, n, length, heads):
    name = f"layers.{n}."
    if name + "q" in tensors or name + "attention" not in tensors:
        for part in ("q", "k"):
            if name + part not in tensors:
                raise TraceError(f"tensor {name}{part}: expected it, or {name}attention, found none")
        _check_shape(tensors, name + "q", [heads, length, None])
        _check_shape(tensors, name + "k", [None, length, tensors[name + "q"]["shape"][2]])
        if heads % tensors[name + "k"]["shape"][0]:
            raise TraceError(f"tensor {name}k: expected heads that divide {heads}, found {tensors[name + 'k']['shape'][0]}")
    _check_shape(tensors, name + "q_content", [heads, length, None])
    _check_shape(tensors, name + "k_content", [None, length, None])
    if name + "k_content" in tensors and heads % tensors[name + "k_content"]["shape"][0]:
        raise TraceError(f"tensor {name}k_content: expected heads that divide {heads}, found {tensors[name + 'k_content']['shape'][0]}")
    _check_shape(tensors, name + "log_sum_exp", [heads, length])
    _check_shape(tensors, name + "hidden", [length, None])
    _check_shape(tensors, name + "blocks", [length])
    _check_shape(tensors, name + "attention", [heads, length, length])
    _check_shape(tensors, name + "sinks", [heads])


def check(path):
    """Raises TraceError unless `path` is a trace that Locus can open; what it holds, in a few words."""
    tensors, metadata = read_header(path)
    if metadata.get("locus.format") != "trace/1":
        raise TraceError(f"metadata locus.format: expected trace/1, found {metadata.get('locus.format', 'none')}")
    if any(".cross_" in name for name in tensors) and "tokens" not in metadata and not any(
            name in tensors for name in ("input_ids", "position_ids", "encoder.layers.0.q", "encoder.layers.0.attention")):
        raise TraceError("tensor input_ids: expected it, or metadata tokens, of what cross-attention looks at, found neither")
    sides = [prefix for prefix in ("encoder.", "decoder.", "") if any(name.startswith(prefix + "layers.") for name in tensors)]
    said = [_check_side(prefix, tensors, metadata) for prefix in sides or [""]]
    return "; ".join(f"{prefix[:-1]}: {each}" if prefix else each for prefix, each in zip(sides or [""], said))


def _check_side(prefix, tensors, metadata):
    """What a side holds, in a few words; its names without the side's prefix."""
    keys = next((tensors[name]["shape"][axis] for name, axis in (("input_ids", 0), ("encoder.layers.0.q", 1), ("encoder.layers.0.attention", 1))
                 if name in tensors and len(tensors[name]["shape"]) > axis), None)
    keys = len(_json(metadata, "tokens", list)) if keys is None and metadata.get("tokens") else keys
    named = {"decoder.": "decoder_", "encoder.": ""}.get(prefix, "")
    own = {name[len(prefix):]: info for name, info in tensors.items() if name.startswith(prefix)}
    own.update({name: tensors[named + name] for name in ("input_ids", "position_ids") if named + name in tensors})
    texts = {name[len(prefix):]: value for name, value in metadata.items() if name.startswith(prefix)}
    if named + "tokens" in metadata:
        texts["tokens"] = metadata[named + "tokens"]
    tensors, metadata = own, texts
    numbers = {int(m.group(1)) for m in (re.match(r"layers\.(\d{1,4})\.", name) for name in tensors) if m}
    shard, attends = _json(metadata, "shard", dict), _json(metadata, "attends", list)
    layers = sorted(numbers)
    if shard is not None:
        if not (_is_count(shard.get("rank")) and _is_count(shard.get("ranks")) and shard["rank"] < shard["ranks"]):
            raise TraceError("metadata shard: expected a rank below the number of ranks")
        if shard.get("layers") != layers:
            raise TraceError(f"metadata shard: layers: expected those of the tensors, {layers}, found {shard.get('layers')}")
    count = len(attends) if attends is not None else len(layers)
    wanted = [n for n in range(count) if attends is None or attends[n] is True]
    if not layers or (shard is None and (max(layers) >= count or not set(wanted) <= set(layers))):
        raise TraceError(f"expected the layers from 0 on, found {layers or 'none'}")
    shapes = [tensors[name]["shape"] for name in (f"layers.{layers[0]}.q", f"layers.{layers[0]}.attention") if name in tensors]
    if not shapes or len(shapes[0]) != 3 or 0 in shapes[0]:
        found = shapes[0] if shapes else "none"
        raise TraceError(f"tensor layers.{layers[0]}.q: expected [H, T, D] or an attention [H, T, T], found {found}")
    heads, length = shapes[0][:2]
    for n in layers:
        _check_layer(tensors, n, length, heads)
        _check_crossing(tensors, f"layers.{n}.cross_", length, heads, keys)
    _check_shape(tensors, "input_ids", [length])
    _check_shape(tensors, "token_bytes", [length, 2])
    places = tensors.get("position_ids", {"shape": []})["shape"]
    _check_shape(tensors, "position_ids", [length, 2] if len(places) == 2 and places[1] == 2 else [3, length] if len(places) == 2 else [length])
    if tensors.get("input_ids", {"dtype": "I64"})["dtype"] not in ("I64", "I32"):
        raise TraceError(f"tensor input_ids: expected I64, found {tensors['input_ids']['dtype']}")
    widths = {n: tensors[f"layers.{n}.q"]["shape"][2] for n in layers if f"layers.{n}.q" in tensors}
    key_heads = {n: tensors[f"layers.{n}.k"]["shape"][0] for n in widths if f"layers.{n}.k" in tensors}
    _check_metadata(metadata, length, count, widths if shard is None else {}, key_heads)
    for n, said in enumerate(_json(metadata, "key_heads", list) or ()) if shard is None else ():
        found = tensors[f"layers.{n}.k"]["shape"][0] if f"layers.{n}.k" in tensors else said
        if said not in (0, found):
            raise TraceError(f"tensor layers.{n}.k: expected {said} heads, as metadata key_heads says, found {found}")
    part = [f"rank {shard['rank']} of {shard['ranks']}"] if shard else []
    counts = (count, "layer"), (heads, "head"), (length, "token")
    return ", ".join(part + [f"{count} {name}{'s' if count != 1 else ''}" for count, name in counts])


def _check_crossing(tensors, name, length, heads, keys):
    if name + "q" in tensors or name + "k" in tensors:
        for part in ("q", "k"):
            if name + part not in tensors:
                raise TraceError(f"tensor {name}{part}: expected it, found none")
        _check_shape(tensors, name + "q", [heads, length, None])
        _check_shape(tensors, name + "k", [None, keys, tensors[name + "q"]["shape"][2]])
    _check_shape(tensors, name + "attention", [heads, length, keys])


def _check_metadata(metadata, length, layers, widths, key_heads):
    tokens = _json(metadata, "tokens", list)
    if tokens is not None and (len(tokens) != length or not all(isinstance(token, str) for token in tokens)):
        raise TraceError(f"metadata tokens: expected {length} texts, found {len(tokens)} entries")
    if metadata.get("causal", "") not in ("true", "false", ""):
        raise TraceError(f"metadata causal: expected true or false, found {metadata['causal']}")
    if not re.fullmatch(r"\d{1,18}", metadata.get("window", "0")):
        raise TraceError(f"metadata window: expected a whole number, found {metadata['window']}")
    for key, fits in {**LISTS, **OTHER_LISTS}.items():
        values = _json(metadata, key, list)
        if values is not None and (len(values) != layers or not all(fits(value) for value in values)):
            raise TraceError(f"metadata {key}: expected a list of {layers} entries, one per layer, found {metadata[key][:80]}")
    if not all(isinstance(note, str) for note in _json(metadata, "notes", list) or ()):
        raise TraceError(f"metadata notes: expected a list of texts, found {metadata['notes'][:80]}")
    _json(metadata, "images", list)
    shape = _json(metadata, "shape", dict) or {}
    for key, value in shape.items():
        if not _is_count(value):
            raise TraceError(f"metadata shape: {key}: expected a whole number of at least 0, found {str(value)[:80]}")
    said = _json(metadata, "head_widths", list)
    for n, width in widths.items():
        if said is not None and said[n] not in (0, width):
            raise TraceError(f"tensor layers.{n}.q: expected {said[n]} channels, as metadata head_widths says, found {width}")
    encoding, each = _json(metadata, "encoding", dict), _json(metadata, "layer_encodings", list)
    for n, own in enumerate(each) if each is not None else [(n, encoding) for n in widths]:
        if own is not None and (not isinstance(own, dict) or not isinstance(own.get("name"), str)):
            raise TraceError("metadata encoding: name: expected a text")
        if own is not None and n in widths:
            _check_encoding(own, widths[n], shape.get("trained_length", 0), key_heads.get(n, 0), shape.get("kv_heads"))
    grid = _json(metadata, "image_grid", dict)
    if grid is not None:
        sizes = [grid.get(key, 0) for key in ("rows", "columns", "cls", "registers", "detections")]
        if not all(_is_count(size) for size in sizes) or sizes[0] * sizes[1] + sum(sizes[2:]) != length:
            raise TraceError(f"metadata image_grid: expected rows × columns + cls + registers + detections = {length}, found {sizes}")


ENCODINGS = ("none learned sinusoidal relative relative-capped relative-state t5 alibi kerple-log kerple-power fire fox path selective "
             "stick-breaking dape repo rope xpos pope grape randpe cope tapa tape seqpe rope-axial rope-mixed relative-grid disentangled").split()
SCALINGS = ("none", "linear", "ntk", "dynamic", "yarn", "yarn-turns", "llama3", "longrope", "proportional", "clipped")
OF_LENGTH = ("dynamic", "yarn", "yarn-turns", "llama3", "longrope")  # those that need the length before the scaling


OPTIONS = {  # of the encodings that a recording has: what fits each, and how a message says it
    "none": {},
    "alibi": {"before_scaling": (_is_flag, "true or false")},
    "rope": {
        "layout": (_one_of("half", "interleaved", "swapped"), "half, interleaved or swapped"),
        "fraction": (_above(0, 1), "a number in (0, 1]"),
        "base": (_above(1), "a number above 1"),
        "scaling": (_one_of(*SCALINGS), f"one of {', '.join(SCALINGS)}"),
        "proportion": (_above(0, 1), "a number in (0, 1]"),
        "clip_pairs": (lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number"),
        "clip": (_one_of("soft", "hard"), "soft or hard"),
        "truncate": (_is_flag, "true or false"),
        "norm": (_is_flag, "true or false"),
        "section_layout": (_one_of("chunked", "interleaved", "alternating", "distributed", "heads"), "chunked, interleaved, alternating, distributed or heads"),
        "sections": (lambda value: isinstance(value, list) and len(value) == 3 and all(map(_is_number, value)), "three numbers"),
        "attention_factor": (lambda value: _is_number(value) and value >= 0, "a number of at least 0"),
        **{key: (_above(0), "a number above 0") for key in ("factor", "beta_fast", "beta_slow", "low_freq_factor", "high_freq_factor", "norm_eps")},
        **{key: (_is_count, "a length") for key in ("original_max_position_embeddings", "max_position_embeddings")},
        **{key: (_are_above_0, "a list of numbers above 0") for key in ("short_factor", "long_factor")},
    },
}


def _check_encoding(encoding, width, trained, key_heads, said):
    """Raises for an encoding of a head of this width that Locus does not know, or cannot use so; `said` is the number of key heads
    that the metadata have, or None. Options of encodings that no recording has are not looked at."""
    def expect(fits, option, expected, found):
        if not fits:
            raise TraceError(f"metadata encoding: {option}: expected {expected}, found {str(found)[:80]}")

    name = encoding["name"]
    expect(name in ENCODINGS, "name", f"one of {', '.join(ENCODINGS)}", name)
    known = OPTIONS.get(name)
    for option, value in encoding.items() if known is not None else ():
        if option not in ("name", "scale"):
            expect(option in known, option, "no such option", value)
            expect(known[option][0](value), option, known[option][1], value)
    if name == "learned":
        expect(trained or encoding.get("length") or encoding.get("grid_rows"), "length", "it, or a trained length", "neither")
    if name != "rope":
        return
    turned, scaling = int(width * encoding.get("fraction", 1.0) + 1e-6), encoding.get("scaling", "none")
    expect(turned >= 2 and turned % 2 == 0, "fraction", "an even number of rotated channels", f"{turned} of a head of {width}")
    sections, dealt = encoding.get("sections"), encoding.get("section_layout", "chunked")
    if sections is not None:
        whole, wanted = all(each >= 0 and float(each).is_integer() for each in sections), turned // 2
        expect(whole, "sections", "whole numbers", sections)
        if dealt == "heads":  # of key heads, whose number an edit changes
            expect(said in (None, 0, key_heads), "section_layout", f"{said} key heads", key_heads)
            expect(1 <= sum(sections) <= key_heads, "sections", f"a sum from 1 to the {key_heads} key heads", sections)
        else:
            expect(sum(sections) == wanted, "sections", f"numbers of the sum {wanted}", sections)
        own = [sum(each == "00121212"[m % 8] for m in range(wanted)) for each in "012"]
        expect(dealt != "distributed" or sections == own, "sections", f"{own} for section_layout distributed", sections)
    original = encoding.get("original_max_position_embeddings") or encoding.get("max_position_embeddings") or trained
    expect(original or scaling not in OF_LENGTH, "original_max_position_embeddings", f"a length for scaling {scaling}", "none")
    for option in ("short_factor", "long_factor") if scaling == "longrope" else ():
        expect(len(encoding.get(option, ())) == turned // 2, option, f"{turned // 2} numbers", len(encoding.get(option, ())))
    expect(turned >= 4 or scaling not in ("ntk", "dynamic"), "scaling", "4 or more rotated channels", turned)
    pairs = int(encoding.get("proportion", 1.0) * (turned // 2) + 1e-6)
    expect(pairs >= 1 or scaling != "proportional", "proportion", "at least one pair", pairs)
    least = 1 if encoding.get("clip") == "hard" else 2
    expect(scaling != "clipped" or encoding.get("clip_pairs", 20) >= least, "clip_pairs", f"at least {least}", encoding.get("clip_pairs"))
    for lower, higher in (("beta_slow", "beta_fast"),) * (scaling == "yarn-turns") + (("low_freq_factor", "high_freq_factor"),) * (scaling == "llama3"):
        usual = {"beta_slow": 1, "beta_fast": 32, "low_freq_factor": 1, "high_freq_factor": 4}
        expect(encoding.get(higher, usual[higher]) > encoding.get(lower, usual[lower]), higher, f"more than {lower}", encoding.get(higher))


# ---- what a configuration says of positions and masks ----

SCALING_OPTIONS = ("factor", "attention_factor", "beta_fast", "beta_slow", "truncate", "low_freq_factor", "high_freq_factor",
                   "original_max_position_embeddings", "short_factor", "long_factor")


def _field(source, *names, default=None):
    """The first of these attributes (or entries) that is there and not None."""
    for name in names:
        try:
            value = source.get(name) if isinstance(source, dict) else getattr(source, name, None)
        except Exception:  # a configuration that has the field for each layer
            value = None
        if value is not None:
            return value
    return default


def _of_layer(config, layer):
    """The configuration of one layer, where layers have their own."""
    own = _field(config, "per_layer_config")
    return own[layer] if isinstance(own, (list, tuple)) and layer < len(own) else config


def _heads(config):
    return _field(config, "num_attention_heads", "n_head", "num_heads")


def _head_width(config):
    heads, width = _heads(config), _field(config, "hidden_size", "n_embd")
    return _field(config, "head_dim", default=width // heads if heads and width else None)


def _layer_type(config, layer):
    kinds, period = _field(config, "layer_types", "attention_layers", default=()), _field(config, "sliding_window_pattern")
    if not kinds and isinstance(period, int) and period > 0:
        return "full_attention" if (layer + 1) % period == 0 else "sliding_attention"
    return kinds[layer] if layer < len(kinds) else None


def encoding_of(config, layer):
    """The position encoding of a layer under Locus's names, as a Hugging Face configuration has it; None where they have no name
    for it. It does not tell which channels pair, and not always which layers have none: a recording compares both."""
    kind = _field(config, "model_type", default="")
    if kind == "bloom" or _field(config, "alibi"):
        return {"name": "alibi", "before_scaling": True} if kind == "falcon" else {"name": "alibi"}
    rope = _field(config, "rope_parameters", "rope_scaling", default={})
    if rope or _field(config, "rope_theta", "rotary_emb_base", "rotary_pct", "rotary_dim") is not None:
        return _rope_of(config, layer, rope)
    image, patch = _pair(_field(config, "image_size")), _pair(_field(config, "patch_size"))
    if image and patch:
        behind = _field(config, "num_detection_tokens", default=0)
        return {"name": "learned", "grid_rows": image[0] // patch[0], "grid_columns": image[1] // patch[1], "beyond": "interpolate",
                **({"after_rows": behind} if behind else {})}
    return {"name": "none" if _field(config, "n_positions", "max_position_embeddings") is None else "learned"}


def _pair(value):
    return tuple(value) if isinstance(value, (list, tuple)) else (value, value) if value else None


def _rope_of(config, layer, rope):
    own = _layer_type(config, layer)
    rope = rope.get(own) or {} if any(isinstance(value, dict) for value in rope.values()) else rope
    base = _field(rope, "rope_theta", default=_field(config, "rope_theta", "rotary_emb_base", default=10000.0))
    if own == "sliding_attention" and _field(config, "rope_local_base_freq") is not None:
        base, rope = config.rope_local_base_freq, {}
    scaling = _field(rope, "rope_type", "type", default="default")
    if scaling == "mrope" or "mrope_section" in rope or _field(config, "qk_rope_head_dim", "patch_size"):
        return None  # positions are vectors, or other channels turn
    width, turned = _head_width(config), _field(config, "rotary_dim")
    fraction = _field(rope, "partial_rotary_factor", default=_field(config, "partial_rotary_factor", "rotary_pct"))
    encoding = {"name": "rope", "base": float(base), "layout": "half",
                "fraction": float(fraction if fraction is not None else turned / width if turned and width else 1.0)}
    if scaling == "proportional":
        encoding.update(proportion=encoding["fraction"], fraction=1.0)
    if scaling != "default":
        encoding["scaling"] = {"su": "longrope"}.get(scaling, scaling)
        encoding.update({key: rope[key] for key in SCALING_OPTIONS if rope.get(key) is not None})
        original = _field(config, "original_max_position_embeddings")
        if original is not None:
            encoding["original_max_position_embeddings"] = original
        longest, original = _field(config, "max_position_embeddings"), encoding.get("original_max_position_embeddings")
        if encoding["scaling"] == "longrope" and longest is not None and original is not None:
            encoding.setdefault("factor", longest / original)
    return encoding


def window_of(config, layer):
    """How many keys a query of this layer sees; 0: all."""
    kind, own = _field(config, "model_type", default=""), _layer_type(config, layer)
    width = _field(config, "sliding_window", default=0)
    if own is not None:
        local = _field(config, "window_size", default=0)
        return {"sliding_attention": width, "local": local if isinstance(local, int) else 0}.get(own, 0)
    if _field(config, "use_sliding_window") is False:
        return 0
    if kind == "gemma2":
        return width if layer % 2 == 0 else 0
    return width if layer >= _field(config, "max_window_layers", default=0) or kind not in ("qwen2", "qwen2_moe", "qwen3") else 0


def chunk_of(config, layer):
    chunked = _layer_type(config, layer) == "chunked_attention"
    return _field(config, "attention_chunk_size", default=0) if chunked else 0


# ---- a trace in the making ----

class Layer:
    """What is stored of a layer: the tensors q, k, q_content, k_content [heads, T, D] or the map, and what masks the score."""

    def __init__(self, encoding, window=0, chunk=0, soft_cap=0.0, attends=True):
        self.encoding, self.window, self.chunk, self.soft_cap, self.attends = encoding, window, chunk, soft_cap, attends
        self.sinks = self.attention = self.causal = None
        self.tensors, self.cross = {}, {}  # cross: q and k, or attention, over the other side

    def lists(self):
        key = self.tensors.get("k", self.attention)
        return {"layer_encodings": self.encoding, "windows": self.window, "chunks": self.chunk,
                "soft_caps": self.soft_cap, "sinks": self.sinks is not None, "attends": self.attends,
                "head_widths": self.tensors["q"].shape[2] if "q" in self.tensors else 0,
                "key_heads": key.shape[0] if key is not None else 0}


def rank_path(path, rank, ranks):
    root, ending = os.path.splitext(os.fspath(path))
    return f"{root}.rank{rank}of{ranks}{ending}"


def _labels(tokenizer, ids):
    """How tokens are shown: their text, or the tokenizer's own name where they are no whole character."""
    if tokenizer is None or ids is None:
        return None
    texts = [tokenizer.decode([token]) for token in ids]
    named = getattr(tokenizer, "convert_ids_to_tokens", None)
    return [str(named([token])[0]) if named and (not text or "\ufffd" in text) else text for token, text in zip(ids, texts)]


def _places(tokenizer, ids):
    """The text of the tokens, and the bytes of it [T, 2] that each stands for; None where their pieces do not make it up."""
    if tokenizer is None or not ids or not all(isinstance(token, int) for token in ids):
        return None
    special = set(getattr(tokenizer, "all_special_ids", ()))
    plain = [token for token in ids if token not in special]
    text = tokenizer.decode(plain) if plain else ""
    at, before, part, places = 0, [], [], []
    for token in ids:
        if token not in special:
            part.append(token)
            known, whole = tokenizer.decode(before) if before else "", tokenizer.decode(before + part)
            piece = whole[len(known):]
            if not whole.startswith(known) or len(part) > 8 or not (text.startswith(piece, at) or piece.endswith("\ufffd")):
                return None
            if text.startswith(piece, at):  # else a part of a character
                places += [[at, at + len(piece)]] * len(part)
                at, before, part = at + len(piece), part, []
        elif part:
            return None
        else:
            places.append([at, at])
    if part or at != len(text):
        return None
    begins = [0]
    for letter in text:
        begins.append(begins[-1] + len(letter.encode(errors="replace")))
    return text, torch.tensor([[begins[begin], begins[end]] for begin, end in places], dtype=torch.int64)


def _put_tokens(tokenizer, ids, tensors, about, prefix=""):
    """Ids of a side (or texts instead of them), their labels, and the text with the place of each; what begins their names."""
    named, whole = "decoder_" if prefix == "decoder." else "", ids is not None and all(isinstance(each, int) for each in ids)
    if ids is not None:
        about[named + "tokens"] = json.dumps(_labels(tokenizer if whole else None, ids) or [str(each) for each in ids])
    if whole:
        tensors[named + "input_ids"] = torch.tensor(ids, dtype=torch.int64)
    places = _places(tokenizer, ids)
    if places is not None:
        about[prefix + "text"], tensors[prefix + "token_bytes"] = places
    return named


def _scaled(tensors, scale):
    """Queries by which the logit is q·k/√D, of those by which it is q·k·scale."""
    factor = scale * tensors["q"].shape[-1] ** 0.5
    return {name: value.float() * factor if name[0] == "q" and abs(factor - 1) > 1e-6 else value for name, value in tensors.items()}


def write_trace(path, sides, about, tensors, dtype=None, shard=None):
    """Writes {prefix of a side: {number: Layer}}, the texts of `about` and further tensors; lists of the metadata have an
    entry per layer."""
    tensors, metadata = dict(tensors), {"locus.format": "trace/1", **about}
    for prefix, layers in sides.items():
        for n, layer in layers.items():
            for name, value in layer.tensors.items():
                tensors[f"{prefix}layers.{n}.{name}"] = value if dtype is None else value.to(dtype)
            for name, value in layer.cross.items():
                tensors[f"{prefix}layers.{n}.cross_{name}"] = value if dtype is None or name == "attention" else value.to(dtype)
            if layer.attention is not None:
                tensors[f"{prefix}layers.{n}.attention"] = layer.attention
            if layer.sinks is not None:
                tensors[f"{prefix}layers.{n}.sinks"] = layer.sinks
        known = [layers[n] for n in sorted(layers)]
        lists = {key: [layer.lists()[key] for layer in known] for key in LISTS}
        first = next(layer for layer in known if layer.attends)
        metadata[prefix + "encoding"] = json.dumps(next((each.encoding for each in known if each.encoding is not None), {"name": "none"}))
        metadata[prefix + "window"] = str(known[0].window)
        if prefix == "" and shard is not None:
            metadata["shard"] = json.dumps(shard)
        for key, values in lists.items():
            plain = {"layer_encodings": first.encoding, "windows": known[0].window, "attends": True, "sinks": False,
                     "head_widths": first.lists()["head_widths"], "key_heads": first.lists()["key_heads"]}.get(key, 0)
            ranked = shard is not None and key not in ("attends", "head_widths", "key_heads")
            own = [value for value, layer in zip(values, known) if layer.attends or key == "attends"]
            if ranked or (key == "layer_encodings" and plain is None) or any(value != plain for value in own):
                metadata[prefix + key] = json.dumps(values)
    write_safetensors(path, {name: value.cpu() for name, value in tensors.items()}, metadata)
    return path


def write_checked(path, *given):
    """The same, of what Locus can open: an error, and no file, of anything else."""
    unchecked = f"{os.fspath(path)}.unchecked"
    try:
        write_trace(unchecked, *given)
        check(unchecked)
        os.replace(unchecked, path)
    finally:
        if os.path.exists(unchecked):
            os.unlink(unchecked)
    return path


# ---- what is heard of a score, and the judge of what a trace says of it ----

SHORT, SAMPLED, LONGEST_MAP = 128, 64, 4096  # rows compared: all up to SHORT tokens, else SAMPLED; tokens of a stored map
HIDDEN = -5000.0  # what is added to a score that is masked lies below, whichever number a model masks with
TABLE = re.compile(r"(^|\.)(wpe|pos_embed|pos_encoding|positions_embed|embed_positions|position_embeddings?)(\.weights?)?$")
SHIFTED = ("camembert", "mpnet", "opt", "roberta", "xlm-roberta")  # whose tables begin with rows that are no positions


class Masks:
    """What a trace says of a layer's scores: soft-max of q·k·scale, capped, over the keys that the masks leave."""

    def __init__(self, causal=True, window=0, chunk=0, cap=0.0, sinks=None, alibi=None, scale=None):
        self.causal, self.window, self.chunk, self.cap, self.sinks, self.alibi, self.scale = causal, window, chunk, cap, sinks, alibi, scale

    def like(self, other):
        """Whether one trace can say both of a layer."""
        mine, own = ({name: value for name, value in vars(each).items() if name not in ("sinks", "scale")} for each in (self, other))
        return mine == own

    def visible(self, queries, keys):
        """[T, S] of the numbers of queries and keys."""
        i, j = queries[:, None], keys[None]
        seen = j <= i if self.causal else (j >= 0).expand(len(queries), -1)
        if self.window:
            seen = seen & (j > i - self.window) & (j < i + self.window)
        return seen & (j // self.chunk == i // self.chunk) if self.chunk else seen

    def map_of(self, products, queries, keys, real):
        """[H, T, S] of products q·k [H, T, S]; keys that are not `real` are padding, or room of a cache."""
        logits = products * self.scale
        if self.alibi is not None:
            heads = len(products)
            bias = _slopes(heads).to(products)[:, None, None] * (keys[None] - queries[:, None]).to(products)
            logits = logits + (bias * self.scale if self.alibi == "before" else bias)
        logits = self.cap * torch.tanh(logits / self.cap) if self.cap else logits
        return _soft_max(logits.masked_fill(~(self.visible(queries, keys) & real), -math.inf), self.sinks)


def _soft_max(logits, sinks=None):
    if sinks is not None:
        logits = torch.cat((logits, sinks.to(logits)[:, None, None].expand(*logits.shape[:2], 1)), -1)
    found = torch.softmax(logits, -1)
    return found if sinks is None else found[..., :-1]


def _slopes(heads):
    """ALiBi's, of any number of heads."""
    whole = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (n + 1) / whole) for n in range(whole)]
    return torch.tensor(first + [2 ** (-4 * (2 * n + 1) / whole) for n in range(heads - whole)])


class Heard:
    """A score of one element of the batch: q [H, T, D], k [H_kv, S, D], and either its map [H, T, S] or what makes it.

    `mask` [1 or H, T, S] is bool, or added. `windows`, `chunk`, `alibi` and `named` scales are guesses, which the judge tries.
    """

    def __init__(self, query, key, map=None, mask=None, causal=False, scale=None, cap=0.0, sinks=None):
        self.query, self.key, self.map, self.mask, self.causal, self.scale = query, key, map, mask, causal, scale
        self.cap, self.sinks, self.windows, self.chunk, self.alibi, self.named = cap, sinks, None, 0, None, []

    def guess(self, masks):
        """Takes what fitted the calls before as the guesses."""
        self.windows, self.chunk, self.alibi, self.named = [masks.window], masks.chunk, masks.alibi, [masks.scale]
        self.cap = self.cap or masks.cap

    def products(self, rows):
        query, key = self.query[:, rows].float(), self.key.float()
        groups = query.shape[0] // key.shape[0]
        grouped = query.reshape(key.shape[0], groups * len(rows), -1) @ key.transpose(1, 2)
        return grouped.view(query.shape[0], len(rows), -1)

    def rows_of_map(self, rows, products=None):
        """What the model computed, [H, rows, S], float32."""
        if self.map is not None:
            return self.map[:, rows].float()
        logits = (self.products(rows) if products is None else products) * self.scale
        logits = self.cap * torch.tanh(logits / self.cap) if self.cap else logits
        if self.causal:
            later = torch.arange(logits.shape[-1], device=logits.device)[None] > torch.tensor(rows, device=logits.device)[:, None]
            logits = logits.masked_fill(later, -math.inf)
        if self.mask is not None:
            mask = self.mask[:, rows if self.mask.shape[1] > 1 else [0]]
            logits = logits.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else logits + mask.float()
        return torch.nan_to_num(_soft_max(logits, self.sinks))

    def seen(self, rows):
        """The keys [rows, S] that the causal order and a mask of all heads leave to these queries; None where a mask has biases."""
        keys, device = torch.arange(self.key.shape[1], device=self.query.device), self.query.device
        seen = keys[None] <= torch.tensor(rows, device=device)[:, None] if self.causal else (keys >= 0).expand(len(rows), -1)
        if self.mask is None:
            return seen
        mask = self.mask[0, rows if self.mask.shape[1] > 1 else [0]]
        left = mask if mask.dtype == torch.bool else mask > HIDDEN
        plain = self.mask.shape[0] == 1 and (mask.dtype == torch.bool or not bool((left & (mask != 0)).any()))
        return seen & left if plain else None


def judge(heard, begin, first, real_rows, real_keys, before=None, cross=False):
    """Masks under which q and k give the map that was heard; None where no masks of a trace do.

    Queries are tokens from `begin` on, keys from `first` on; `before`: what fitted the calls before, which goes first;
    `cross`: keys are another text's. Where scale and masks were given, they are compared, in every row of a mask; else maps.
    """
    device = heard.query.device
    every = [row for row, is_real in enumerate(real_rows) if is_real]
    if not every:
        return before or Masks(not cross, scale=heard.scale or heard.query.shape[-1] ** -0.5)
    keys = torch.arange(heard.key.shape[1], device=device) + first
    real = torch.as_tensor(real_keys, device=device)

    def leaves(masks, rows, seen):
        return bool(((masks.visible(torch.tensor(rows, device=device) + begin, keys) == seen) | ~real).all())

    rows = _sampled(every) if heard.mask is None or heard.map is not None else every
    wanted = heard.seen(rows) if heard.map is None else None
    if wanted is not None:
        def fits(masks):
            same = (masks.scale, masks.cap, masks.sinks is None, masks.alibi) == (heard.scale, heard.cap, heard.sinks is None, None)
            return same and leaves(masks, rows, wanted)
        scales, tolerance = [heard.scale], 0
    else:
        rows = _sampled(every)
        products = heard.products(rows)
        wanted = heard.rows_of_map(rows, products)
        tolerance = _tolerance_of_maps(heard, products)
        unseen = heard.seen(every) if heard.mask is not None and heard.mask.shape[1] > 1 and len(rows) < len(every) else None

        def fits(masks):  # and a mask that was given beside the map, in the rows that are not compared too
            own = masks.map_of(products, torch.tensor(rows, device=device) + begin, keys, real)
            return bool(((own - wanted).abs() <= tolerance).all()) and (unseen is None or leaves(masks, every, unseen))
        scales = _scales(heard, products, wanted)
    if before is not None and fits(before):
        return before
    weights = wanted if wanted.dim() == 3 else wanted[None].float()
    apart = torch.tensor(rows, device=device)[:, None] + begin - keys[None]
    causal = not cross and not bool((weights * (real & (apart < 0))).max() > tolerance)
    seen = real & (weights > 0).any(0)
    widest = int(apart.abs()[seen].max()) + 1 if bool(seen.any()) else 0
    windows = [0] if cross else [*heard.windows, 0, *([widest] if 0 < widest < begin + heard.query.shape[1] else [])]
    for scale in scales:
        for window, chunk, cap, sinks, alibi in _choices(windows, heard):
            masks = Masks(causal, window, chunk, cap, sinks, alibi, scale)
            if fits(masks):
                return masks
    return None


def _sampled(rows):
    """All of these rows of a short text; of a long one the first, the last and some between."""
    return rows if len(rows) <= SHORT else sorted({rows[0], rows[-1], *random.Random(len(rows)).sample(rows, SAMPLED)})


def _choices(windows, heard):
    """Windows, chunks, caps, sinks and ALiBi to try, the likeliest first."""
    windows = list(dict.fromkeys(windows))
    chunks, caps, biases = (list(dict.fromkeys((each, none))) for each, none in ((heard.chunk, 0), (heard.cap, 0.0), (heard.alibi, None)))
    for alibi in biases:
        for sinks in [heard.sinks, None][:1 if heard.sinks is None else 2]:
            yield from ((window, chunk, cap, sinks, alibi) for cap in caps for chunk in chunks for window in windows)


def _scales(heard, products, wanted):
    """The numbers between products and logits to try: those with a name, and the slope of the map's logarithm."""
    usual = [heard.query.shape[-1] ** -0.5, *heard.named, 1.0]
    if heard.scale is not None:
        yield heard.scale
    if heard.map is None:
        return
    weights = (wanted > 1e-6).float()
    known = weights.sum(-1, keepdim=True).clamp_min(1)
    x, y = products, torch.log(wanted.clamp_min(1e-30))
    x, y = (x - (x * weights).sum(-1, keepdim=True) / known) * weights, (y - (y * weights).sum(-1, keepdim=True) / known) * weights
    slope = float((x.double() * y.double()).sum() / (x.double() ** 2).sum().clamp_min(1e-300))
    yield from (value for value in usual if abs(slope - value) <= 1e-3 * value)
    if slope > 0:
        yield slope
    yield from usual


def _tolerance_of_maps(heard, products):
    """How far two ways of rounding the same scores put a map apart."""
    scale = heard.scale if heard.scale is not None else heard.query.shape[-1] ** -0.5
    largest = float(products.abs().max()) * scale if products.numel() else 0.0
    fine = heard.query.dtype in (torch.float32, torch.float64) and (heard.map is None or heard.map.dtype == heard.query.dtype)
    return min(0.02, max(1e-4, 2e-6 * largest)) if fine else min(0.1, max(3e-2, 4e-3 * largest))


def _tolerance(tensor):
    return 1e-3 if tensor.dtype in (torch.float32, torch.float64) else 3e-2


# ---- the encoding, checked by turning q before its rotation ----

def _turned(content, encoding, positions, length):
    """`content` [H, T, D] turned by a rotary encoding under Locus's names at positions [T]; None of one that is not known."""
    width = int(content.shape[-1] * encoding.get("fraction", 1.0) + 1e-6)
    if width < 2 or width % 2 or width > content.shape[-1]:
        return None
    known = _frequencies(encoding, width, length)
    if known is None:
        return None
    angles = positions.double()[:, None] * known[0]
    cos, sin = angles.cos() * known[1], angles.sin() * known[1]
    x, rest = content[..., :width].double(), content[..., width:].double()
    if encoding.get("layout") == "interleaved":
        a, b = x[..., ::2], x[..., 1::2]
        return torch.cat((torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2), rest), -1)
    a, b = x[..., :width // 2], x[..., width // 2:]
    sin = -sin if encoding.get("layout") == "swapped" else sin
    return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), -1)


def _frequencies(encoding, width, length):
    """Radians that each pair turns from one token to the next, and what multiplies cos and sin."""
    kind, base, factor = encoding.get("scaling", "none"), encoding["base"], encoding.get("factor", 1.0)
    pairs = torch.arange(width // 2, dtype=torch.float64)
    inverse, original = base ** (-2 * pairs / width), encoding.get("original_max_position_embeddings")
    if kind == "none":
        return inverse, 1.0
    if kind == "linear":
        return inverse / factor, 1.0
    if kind == "proportional":
        return inverse / factor * (pairs < math.floor(encoding["proportion"] * len(pairs) + 1e-6)), 1.0
    if not original:
        return None
    if kind == "dynamic":
        stretch = factor * length / original - (factor - 1) if length > original else 1.0
        return (base * stretch ** (width / (width - 2))) ** (-2 * pairs / width), 1.0
    if kind == "llama3":
        wave, low, high = 2 * math.pi / inverse, encoding["low_freq_factor"], encoding["high_freq_factor"]
        smooth = ((original / wave - low) / (high - low)).clamp(0, 1)
        return inverse * smooth + inverse / factor * (1 - smooth), 1.0
    if kind == "longrope":
        magnitude = encoding.get("attention_factor") or (math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0)
        stretch = torch.tensor(encoding["long_factor" if length > original else "short_factor"], dtype=torch.float64)
        return (inverse / stretch, magnitude) if len(stretch) == len(pairs) else None
    if kind != "yarn":
        return None
    first, last = (width * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))
                   for turns in (encoding.get("beta_fast") or 32, encoding.get("beta_slow") or 1))
    whole = encoding.get("truncate", True)
    low, high = max(math.floor(first) if whole else first, 0), min(math.ceil(last) if whole else last, width - 1)
    ramp = ((pairs - low) / (high - low if high != low else 0.001)).clamp(0, 1)
    return inverse * (1 - ramp) + inverse / factor * ramp, encoding.get("attention_factor") or (0.1 * math.log(factor) + 1 if factor > 1 else 1.0)


def _sinusoids(table):
    """The encoding of a table [rows, C] of sines and cosines, None of any other; its rows begin behind one of zeros (padding)."""
    rows, width = table.shape
    first = int((table == 0).all(1).nonzero().max()) + 1 if bool((table == 0).all(1).any()) else 0
    pairs = torch.arange(width // 2, dtype=torch.float64)
    for spacing, exponent in (("open", 2 * pairs / width), ("closed", pairs / max(1, width // 2 - 1))):
        angles = torch.arange(first, rows)[:, None] * 10000.0 ** -exponent
        for layout, each in (("interleaved", torch.stack((angles.sin(), angles.cos()), -1).flatten(1)), ("half", torch.cat((angles.sin(), angles.cos()), 1))):
            if width % 2 == 0 and first < rows and torch.allclose(each, table[first:].double(), rtol=0, atol=1e-4):
                return {"name": "sinusoidal", "base": 10000.0, "layout": layout, "spacing": spacing, "first": first}
    return None


def _content(outputs, turned, before):
    """Parts of what a module's children gave, [heads, T, D] with a factor, that may be `turned` before a rotation, which keeps
    the length of every vector. `before`: the heads that lie in front of them where q and k are one output."""
    heads, rows, width = turned.shape
    want, found = turned.float().norm(dim=-1), []
    for value in reversed(outputs):
        count = value.numel() // (rows * width)
        if value.numel() != count * rows * width or count < heads:
            continue
        views = []
        if value.dim() == 3 and value.shape[:2] == (heads, rows):
            views.append(value)
        if value.shape[0] == rows:
            by_row = value.reshape(rows, count, width)
            views += [by_row[:, at:at + heads].transpose(0, 1) for at in dict.fromkeys((0, before)) if at + heads <= count]
            if count == 3 * heads:
                views += [by_row.view(rows, heads, 3, width)[:, :, n].transpose(0, 1) for n in range(2)]
            elif count > heads and count % heads == 0:
                views.append(by_row.view(rows, heads, -1, width)[:, :, 0].transpose(0, 1))
        for each in views:
            ratio = want / each.float().norm(dim=-1).clamp_min(1e-30)
            middle = ratio.median()
            if bool(((ratio - middle).abs() <= _tolerance(turned) * middle).all()):
                found.append((each, float(middle)))
    return found


def _turns_by_length(encoding):
    return encoding is not None and encoding.get("scaling") in ("dynamic", "longrope")


def _rows_of(value, rows, count):
    """Some of the `count` rows of a module's output, [T, …] or [heads, T, D]."""
    return value[rows] if value.shape[0] == count else value[:, rows] if value.dim() == 3 and value.shape[1] == count else value


def _layouts(own):
    """A rotary encoding as it is, and with channels paired in the other ways."""
    own = {"name": "rope", "base": 10000.0, "layout": "half", "fraction": 1.0, **own}
    return [own] + [{**own, "layout": layout} for layout in ("half", "interleaved", "swapped") if layout != own["layout"]]


def _fitting(encoding, views, turned, places, length):
    """The view that the encoding (None: no positions) turns into what the score sees; None where there is none."""
    tolerance = 4 * _tolerance(turned)
    wanted = turned.double().cpu()
    size = wanted.norm(dim=-1, keepdim=True).clamp_min(1e-30)
    for view, ratio in views:
        own = view.double().cpu()
        try:
            own = own if encoding is None else _turned(own, encoding, places, length)
        except (KeyError, TypeError, ValueError, ArithmeticError):  # options that are missing, or no numbers
            own = None
        if own is None:
            return None
        factor = ratio * float(view.double().norm() / own.norm().clamp_min(1e-30))
        if bool(((own * factor - wanted) / size).abs().le(tolerance).all()):
            return view if abs(factor - 1) <= tolerance else view.float() * factor
    return None


# ---- arguments of the functions that are heard ----

def _of_product(args, kwargs):
    """q and k of a product of q with k turned over, [..., T, D] and [..., S, D]; None of any other."""
    operands = [*args, *(kwargs[key] for key in ("input", "other", "mat2", "batch1", "batch2") if key in kwargs)][-2:]
    if len(operands) < 2 or not all(isinstance(each, torch.Tensor) and each.dim() in (3, 4, 5) for each in operands):
        return None
    query, key = operands[0], operands[1].transpose(-1, -2)
    if query.dim() != key.dim() or query.shape[-1] != key.shape[-1]:
        return None
    if query.shape[:-2] != key.shape[:-2]:
        key = key.expand(*query.shape[:-2], *key.shape[-2:]) if key.shape[:-2].numel() == 1 or query.dim() > 3 else None
    return None if key is None else (query, key)


def _of_einsum(args):
    """The same of torch.einsum, whose letters tell which axis is which."""
    operands = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
    if not isinstance(args[0], str) or len(operands) != 2 or "->" not in args[0]:
        return None
    inputs, out = args[0].replace(" ", "").split("->")
    inputs = inputs.split(",")
    if "." in args[0] or len(inputs) != 2 or len(out) < 3:
        return None
    summed = [letter for letter in inputs[0] if letter in inputs[1] and letter not in out]
    if len(summed) != 1 or out[-2] not in inputs[0] + inputs[1] or out[-1] not in inputs[0] + inputs[1]:
        return None
    first = 0 if out[-2] in inputs[0] else 1
    found = []
    for place, own in ((first, out[-2]), (1 - first, out[-1])):
        letters, value = inputs[place], operands[place]
        if own not in letters or any(letter not in out[:-2] + own + summed[0] for letter in letters):
            return None
        value = value.permute([letters.index(letter) for letter in out[:-2] + own + summed[0] if letter in letters])
        for at, letter in enumerate(out[:-2]):
            value = value.unsqueeze(at) if letter not in letters else value
        found.append(value)
    shape = torch.broadcast_shapes(*(each.shape[:-2] for each in found))
    return tuple(each.expand(*shape, *each.shape[-2:]) for each in found)


def _mask_of(mask, element, keys=None):
    """[1 or H, T, S] of a mask that broadcasts to [B, H, T, S]; None of none."""
    if not isinstance(mask, torch.Tensor):
        return None
    mask = mask.detach()
    while mask.dim() < 4:
        mask = mask.unsqueeze(0)
    mask = mask[element if mask.shape[0] > 1 else 0]
    return mask if keys is None or mask.shape[-1] == 1 else mask[..., :keys]


def _ungrouped(key):
    """Key heads in their groups again, where a module repeated them for each of the query's."""
    heads = key.shape[0]
    for groups in (n for n in range(heads, 1, -1) if heads % n == 0):
        own = key.unflatten(0, (heads // groups, groups))
        ends = own[:, :, [0, -1]]
        if torch.equal(ends, ends[:, :1].expand_as(ends)) and torch.equal(own, own[:, :1].expand_as(own)):
            return key[::groups]
    return key


# ---- ears: calls of modules, the attention interface of transformers, and PyTorch's functions ----

PRODUCTS = ("matmul", "__matmul__", "bmm", "baddbmm", "einsum")
FUSED = ("scaled_dot_product_attention", "_scaled_dot_product_attention")
HEARD = {*PRODUCTS, *FUSED, "softmax", "embedding", "multi_head_attention_forward"}


class _Ears:
    """What is put around modules and attention functions while any recording runs, once for all of them."""

    def __init__(self):
        self.lock, self.recordings, self.undo, self.inside = threading.RLock(), [], [], threading.local()

    def add(self, recording):
        with self.lock:
            if not self.recordings:
                try:
                    self._install()
                except BaseException:
                    self._remove()
                    raise
            self.recordings = [*self.recordings, recording]

    def drop(self, recording):
        with self.lock:
            self.recordings = [each for each in self.recordings if each is not recording]
            if not self.recordings:
                self._remove()

    def _remove(self):
        while self.undo:
            self.undo.pop()()

    def _install(self):
        before = torch.nn.Module.__call__

        def called(module, *args, **kwargs):
            run = functools.partial(before, module)
            for recording in self.recordings:
                run = functools.partial(recording.module_call, run, module)
            return run(*args, **kwargs)

        torch.nn.Module.__call__ = called
        self.undo.append(lambda: setattr(torch.nn.Module, "__call__", before))
        stance = getattr(getattr(torch, "compiler", None), "set_stance", None)
        if stance is not None:  # what is compiled runs as it is written
            eager = stance("force_eager")
            eager.__enter__()
            self.undo.append(lambda: eager.__exit__(None, None, None))
        tables = {}
        for file in [vars(each) for each in list(sys.modules.values()) if isinstance(each, types.ModuleType)]:
            registry = file.get("ALL_ATTENTION_FUNCTIONS")
            for table in (getattr(registry, "_global_mapping", None), getattr(registry, "_local_mapping", None)):
                if isinstance(table, dict):
                    tables[id(table)] = table, list(table)
            if registry is not None and callable(file.get("eager_attention_forward")):  # the one that is in no table
                tables[id(file)] = file, ["eager_attention_forward"]
        for table, names in tables.values():
            for name in names:
                if callable(table[name]):
                    self._replace(table, name, table[name])

    def _replace(self, table, name, before):
        @functools.wraps(before)
        def recording(module, query, key, value, attention_mask=None, *args, **kwargs):
            if getattr(self.inside, "heard", None) is not None:  # called by one that records
                return before(module, query, key, value, attention_mask, *args, **kwargs)
            heard = self.inside.heard = {}
            try:
                with torch._C.DisableTorchFunction() if "flex" in name else contextlib.nullcontext():
                    output = before(module, query, key, value, attention_mask, *args, **kwargs)
            finally:
                self.inside.heard = None
            for each in self.recordings:
                each.guarded(each.interface, name, module, query, key, value, attention_mask, kwargs, output, heard.get("map"))
            return output

        self.undo.append(functools.partial(table.__setitem__, name, before))
        table[name] = recording


EARS = _Ears()


class _Listener(TorchFunctionMode):
    """Hears the functions of PyTorch that a run calls; what they call themselves is not heard."""

    def __init__(self, recording):
        super().__init__()
        self.recording = recording

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, getattr(function, "__name__", "")
        output = function(*args, **kwargs)
        if name in HEARD:
            inside = getattr(EARS.inside, "heard", None)
            if inside is None:
                self.recording.guarded(self.recording.function, function, name, args, kwargs, output)
            elif name == "softmax":
                inside["map"] = output
        return output


class Frame:
    """A module that runs: what the modules in it gave, the products of its functions, and how many scores were heard."""

    __slots__ = ("module", "outputs", "products", "scores", "turn", "last")

    def __init__(self, module, turn):
        self.module, self.outputs, self.products, self.scores, self.turn, self.last = module, [], [], 0, turn, None


class Call:
    """A call of the model: the tokens that it brings, and how many the cache holds before them."""

    def __init__(self, given, element):
        self.given, self.element, self.looked_up, self.turns, self.scores = given, element, [], {}, 0
        self.ids, self.mask = self._row("input_ids"), self._row("attention_mask")
        self.decoder_ids, self.decoder_mask = self._row("decoder_input_ids"), self._row("decoder_attention_mask")
        self.sides = any(given.get(name) is not None for name in (
            "decoder_input_ids", "decoder_inputs_embeds", "encoder_outputs", "encoder_hidden_states"))
        self.positions = None
        self.pixels = next((each for each in given.values() if isinstance(each, torch.Tensor) and each.dim() == 4 and each.is_floating_point()), None)
        self.see_positions(given.get("position_ids"))
        tensors = [each for each in given.values() if isinstance(each, torch.Tensor) and each.dim() > 0]
        self.batch = tensors[0].shape[0] if tensors else None
        self.cached, self.past = False, 0
        for name, value in given.items():
            if hasattr(value, "get_seq_length"):
                self.cached, self.past = True, int(value.get_seq_length())
            elif name in ("past_key_values", "layer_past", "past", "cache") and isinstance(value, (tuple, list)) and value:
                self.cached, self.past = True, value[0][0].shape[-2] if value[0] is not None else 0

    def _row(self, name):
        value = self.given.get(name)
        fits = isinstance(value, torch.Tensor) and value.dim() == 2 and value.shape[0] > self.element
        return value[self.element].tolist() if fits else None

    def see_positions(self, positions):
        """Numbers of tokens [B, T], or vectors of them [3, B, T]."""
        if isinstance(positions, torch.Tensor) and positions.dim() in (2, 3) and not positions.is_floating_point():
            row = positions.select(-2, self.element if positions.shape[-2] > self.element else 0).detach().cpu()
            self.positions = row if row.dim() == 1 else row[-3:] if row.shape[0] >= 3 else row[0]

    def tokens(self, count, decoder):
        """The ids of so many tokens, of one side."""
        named = self.decoder_ids if decoder else self.ids
        if named is not None and len(named) == count:
            return named
        fits = [(rows, ids) for rows, ids in self.looked_up if len(ids) == count]
        if not fits and self.given.get("inputs_embeds") is None:  # a model that looks them up without torch's functions
            fits = [(0, value[self.element].tolist()) for name, value in self.given.items() if _are_ids(name, value)
                    and value.shape[0] > self.element and value.shape[1] == count]
        largest = max((rows for rows, _ in fits), default=0)
        fits = [ids for rows, ids in fits if rows == largest]
        return (fits[-1] if decoder else fits[0]) if fits else None


def _are_ids(name, value):
    """Whether an argument of this name may be the ids of tokens [B, T]."""
    whole = isinstance(value, torch.Tensor) and value.dim() == 2 and value.dtype in (torch.int64, torch.int32)
    return whole and not re.search("mask|position|type|label", name)


class Site:
    """A module that attends, and what was heard of it: chunks of q and k, or of rows of a map, each from a token on."""

    def __init__(self, module, key, name, number, layer):
        self.module, self.key, self.name, self.number, self.layer = module, key, name, number, layer
        self.chunks, self.masks, self.mapped = [], None, False
        self.checked, self.encoding = None, None  # whether the encoding turns q and k (None: not compared), and which does
        self.cross, self.decoder, self.refused, self.keys = False, False, None, None
        self.unknown, self.over = False, None  # over: ids of the tokens that cross-attention looks at, or how many they are
        self.real, self.tokens, self.positions = [], [], []  # of all tokens: no padding, ids (None: not known), places

    def length(self):
        return self.chunks[-1][0] + next(iter(self.chunks[-1][1].values())).shape[1] if self.chunks else 0

    def keep(self, length):
        """Forgets what lies from this token on."""
        while self.chunks and self.chunks[-1][0] >= length:
            self.chunks.pop()
        if self.length() > length:
            begin, parts = self.chunks[-1]
            self.chunks[-1] = (begin, {name: value[:, :length - begin] for name, value in parts.items()})
        if not self.chunks:
            self.masks, self.mapped, self.refused, self.checked, self.encoding = None, False, None, None, None
        for each in (self.real, self.tokens, self.positions):
            del each[length:]

    def joined(self, name):
        return torch.cat([parts[name] for _, parts in self.chunks], 1)

    def use_map(self):
        """Turns what is kept of q and k into rows of the map that they make."""
        if self.mapped or not self.chunks:
            self.mapped = True
            return
        query, key = self.joined("q"), self.keys if self.cross else self.joined("k")
        rows, columns = query.shape[1], key.shape[1]
        if max(rows, columns) > LONGEST_MAP:
            self.refused = f"expected at most {LONGEST_MAP} tokens, since a map must be stored, found {max(rows, columns)}"
            return
        masks = Masks(**{**vars(self.masks), "scale": query.shape[-1] ** -0.5})
        real = torch.ones(columns, dtype=torch.bool) if self.cross else torch.tensor(self.real[:columns])
        made = masks.map_of(Heard(query, key).products(list(range(rows))), torch.arange(rows), torch.arange(columns), real)
        self.chunks, self.mapped = [(0, {"attention": torch.nan_to_num(made)})], True

    def map(self):
        """[H, T, S], keys that a query could not see yet at 0."""
        last = max(parts["attention"].shape[2] for _, parts in self.chunks)
        return torch.cat([torch.nn.functional.pad(parts["attention"], (0, last - parts["attention"].shape[2]))
                          for _, parts in self.chunks], 1)


def _in_backward():
    """Whether gradients are computed: what runs then has run before."""
    task = getattr(torch._C, "_current_graph_task_id", None)
    return task is not None and task() != -1


class record:
    """with record("run.safetensors", tokenizer=tokenizer) as trace: model.generate(**inputs)

    Records one element of the batch of whichever model runs in the block. A call whose cache holds P tokens replaces everything
    from token P on: steps of a generation append, and a new text replaces the one before. `layers`: numbers of those to record,
    which count from 0 in the trace; `dtype`: of the stored q and k; `encoding`: an object under Locus's names, or a list with
    one (or None) per layer, instead of what the configuration says; `rank`, `ranks`: instead of those of torch.distributed.
    The file is written when the block ends without an error; `written` is its name, `notes` what there is to know of it.
    """

    def __init__(self, path, tokenizer=None, layers=None, dtype=None, *, encoding=None, batch=0, rank=None, ranks=None):
        self.path, self.tokenizer, self.dtype, self.encoding, self.batch = path, tokenizer, dtype, encoding, batch
        self.layers = None if layers is None else sorted(set(layers))
        self.rank, self.ranks = _place(rank, ranks)
        self.model, self.root, self.config, self.names, self.called = None, None, None, {}, set()
        self.sites, self.call = {}, None
        self.grid = self.logits = self.error = self.written = self.listener = None
        self.notes, self.told, self.local = [], "nothing recorded yet", threading.local()

    def __str__(self):
        return self.told

    __repr__ = __str__  # what a notebook shows

    def __enter__(self):
        EARS.add(self)
        self.listener = _Listener(self)
        self.listener.__enter__()
        return self

    def __exit__(self, kind, error, trace):
        self.listener.__exit__(None, None, None)
        EARS.drop(self)
        if kind is None:
            if self.error is not None:
                raise self.error
            with torch.no_grad():
                self.written = self._finish()

    def guarded(self, heard, *args):
        """Runs what listens. Its first error is told when the block ends, never in the user's run."""
        if self.error is not None:
            return
        before, EARS.inside.heard = getattr(EARS.inside, "heard", None), {}  # its own functions are not heard
        try:
            with torch.no_grad(), torch._C.DisableTorchFunction():
                heard(*args)
        except TraceError as error:
            self.error = error
        except Exception as error:
            frames = self._frames()
            where = self._name(frames[-1].module) if frames else "the run"
            self.error = TraceError(f"{where}: cannot be recorded: {type(error).__name__}: {str(error)[:200]}")
            self.error.__cause__ = error
        finally:
            EARS.inside.heard = before

    # -- calls of modules --

    def _frames(self):
        if not hasattr(self.local, "frames"):
            self.local.frames = []
        return self.local.frames

    def _name(self, module):
        return self.names.get(id(module)) or type(module).__name__

    def module_call(self, run, module, *args, **kwargs):
        frames = self._frames()
        root = self.call is None and not _in_backward() and (not frames if self.model is None else module is self.model or (
            not frames and _inner(module) is self.model))
        if root:
            self.guarded(self._begin_call, module, args, kwargs)
        call = self.call
        if call is None:
            return run(*args, **kwargs)
        if not root and "position_ids" in kwargs:
            self.guarded(call.see_positions, kwargs["position_ids"])
        self.called.add(id(module))
        turn = call.turns[id(module)] = call.turns.get(id(module), -1) + 1
        own = Frame(module, turn)
        frames.append(own)
        try:
            output = run(*args, **kwargs)
        finally:
            frames.pop()
            self.call = None if root else self.call
        if frames and own.products:  # a product may be a module too
            frames[-1].products = [*frames[-1].products, *own.products][-4:]
        if frames and isinstance(output, torch.Tensor) and output.dim() > 1:
            frames[-1].outputs = [*frames[-1].outputs[-11:], output]
        if root and call.scores > 0:
            self.guarded(self._end_call, call, module, output)
        return output

    def _begin_call(self, module, args, kwargs):
        inner = _inner(module)
        try:
            given = inspect.signature(inner.forward).bind_partial(*args, **kwargs).arguments
        except (TypeError, ValueError):
            given = {**{str(n): value for n, value in enumerate(args)}, **kwargs}
        for name in ("kwargs", "_", "model_kwargs"):
            given.update(given[name] if isinstance(given.get(name), dict) else {})
        if isinstance(given.get("args"), tuple):  # a wrapper that hands everything on
            given.update({str(n): value for n, value in enumerate(given["args"])})
        if id(inner) not in self.names:
            self.names.update({id(each): name for name, each in inner.named_modules()})
        self.call = Call(given, self.batch)

    def _end_call(self, call, module, output):
        module = _inner(module)
        if self.root is None or any(each is self.root for each in module.modules()):
            self.root = module
            config = getattr(module, "config", None)
            self.config = _field(config, "text_config", default=config)
        elif not any(each is module for each in self.root.modules()):
            raise TraceError(f"expected one model, found {type(self.root).__name__} and {type(module).__name__}: "
                             "give the one to record to capture()")
        if call.pixels is not None:
            self._see_grid(call, module)
        logits = getattr(output, "logits", None)
        if isinstance(logits, torch.Tensor) and logits.dim() in (2, 3) and logits.shape[0] > self.batch:
            last = logits[self.batch] if logits.dim() == 2 else logits[self.batch, -1:]
            self.logits = last.detach().float().cpu() if type(last) is torch.Tensor and torch.isfinite(last).all() else None

    def _see_grid(self, call, module):
        """Rows and columns of the patches of a picture, from the module that makes them (timm) or the configuration."""
        own = getattr(module, "patch_embed", None)
        grid = _pair(getattr(own, "grid_size", None))
        patch = _pair(_field(self.config, "patch_size"))
        if grid is None and patch is not None:
            grid = tuple(size // side for size, side in zip(call.pixels.shape[2:], patch))
        length = max((site.length() for site in self.sites.values()), default=0)
        rest = length - grid[0] * grid[1] if grid else -1
        if rest >= 0 and grid[0] * grid[1] > 0:
            registers = _field(self.config, "num_register_tokens", default=_field(module, "num_reg_tokens", default=0))
            behind = min(rest, _field(self.config, "num_detection_tokens", default=0))
            rest -= behind
            self.grid = {"rows": grid[0], "columns": grid[1], "cls": max(0, rest - registers), "registers": min(rest, registers),
                         **({"detections": behind} if behind else {})}

    # -- the ways to a score --

    def function(self, function, name, args, kwargs, output):
        """One of PyTorch's functions."""
        frames, call = self._frames(), self.call
        if call is None or not frames:
            return
        frame = frames[-1]
        if name == "embedding":
            ids, table = (*args, *(kwargs[key] for key in ("input", "weight") if key in kwargs))[:2]
            if ids.dim() == 2 and ids.shape[0] > self.batch:
                call.looked_up.append((table.shape[0], ids[self.batch].tolist()))
        elif name in PRODUCTS:
            pair = _of_einsum(args) if name == "einsum" else _of_product(args, kwargs)
            if pair is not None:
                frame.products = [*frame.products[-3:], (pair, output.shape)]
        elif name == "softmax" and isinstance(output, torch.Tensor) and output.dim() in (3, 4, 5) and output.shape[-1] > 1:
            self._soft_max(frame, output)
        elif name in FUSED:
            self._fused(frame, *args, **kwargs)
        elif name == "multi_head_attention_forward":
            self._multi_head(frame, function, args, kwargs)

    def _soft_max(self, frame, output):
        """A soft-max over keys, and q and k of the last product before it that has its shape."""
        rows, keys = output.shape[-2:]
        pair = None
        for outer in reversed(self._frames()[-3:]):  # the soft-max may be a module in the one that attends
            for both, product in reversed(outer.products):
                if product[-2] == rows and keys - product[-1] in (0, 1) and product[:-2].numel() == output.shape[:-2].numel():
                    pair, frame = both, outer
                    break
            outer.products = []
            if pair is not None:
                break
        if pair is None and (output.dim() == 3 or rows == 1):
            return
        batch = output.shape[0] if output.dim() > 3 else self.call.batch or 1
        if output.shape[:-2].numel() % batch:
            return
        if pair is not None:
            keys = pair[1].shape[-2]
            pair = [each.reshape(batch, -1, *each.shape[-2:]) for each in pair]
        found = output.reshape(batch, -1, *output.shape[-2:])
        element = self._element(frame, batch)
        if element is None:
            return
        sinks = None
        if pair is not None and output.shape[-1] == keys + 1:
            sinks = False  # in the sum of every row, and not told
        query, key = (each[element].detach() for each in pair) if pair is not None else (None, None)
        self._score(frame, Heard(query, key, map=found[element, :, :, :keys].detach(), sinks=sinks))

    def _fused(self, frame, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, **_):
        if query.dim() < 3 or query.shape[-2] == 0:
            return
        if query.dim() == 3:
            query, key = (each.unflatten(0, (self.call.batch or 1, -1)) for each in (query, key))
            attn_mask = attn_mask.unflatten(0, (self.call.batch or 1, -1)) if attn_mask is not None and attn_mask.dim() == 3 else attn_mask
        if query.dim() == 5:
            query, key = query.flatten(1, 2), key.flatten(1, 2)
        element = self._element(frame, query.shape[0])
        if element is None:
            return
        self._score(frame, Heard(query[element].detach(), key[element].detach(), mask=_mask_of(attn_mask, element), causal=bool(is_causal),
                                 scale=query.shape[-1] ** -0.5 if scale is None else float(scale)))

    def _multi_head(self, frame, function, args, kwargs):
        """torch.nn.MultiheadAttention: q and k by its weights, the map by asking it for one."""
        given = inspect.signature(function).bind(*args, **kwargs)
        given.apply_defaults()
        given = given.arguments
        query, key, heads = given["query"], given["key"], given["num_heads"]
        query, key = (each.unsqueeze(1) if each.dim() == 2 else each for each in (query, key))
        width = query.shape[2]
        bias = given["in_proj_bias"]
        biases = (None, None) if bias is None else (bias[:width], bias[width:2 * width])
        separate = given.get("use_separate_proj_weight")
        weights = (given["q_proj_weight"], given["k_proj_weight"]) if separate else given["in_proj_weight"].chunk(3)[:2]
        asked = {**given, "need_weights": True, "average_attn_weights": False, "dropout_p": 0.0}
        found = function(**asked)[1]
        found = found.unsqueeze(0) if found.dim() == 3 else found
        if found.shape[0] <= self.batch:
            raise TraceError(f"batch: expected an element below {found.shape[0]}, found {self.batch}")
        turned = [torch.nn.functional.linear(each[:, self.batch], weight, own).unflatten(-1, (heads, -1)).transpose(0, 1)
                  for each, weight, own in zip((query, key), weights, biases)]
        if turned[1].shape[1] != found.shape[-1]:  # keys that the module adds
            turned = [None, None]
        self._score(frame, Heard(*turned, map=found[self.batch]))

    def interface(self, name, module, query, key, value, mask, kwargs, output, found):
        """A function of the attention interface: q and k turned and normed, key heads in their groups."""
        frames = self._frames()
        frame = next((each for each in reversed(frames) if each.module is module), frames[-1] if frames else None)
        if self.call is None or frame is None:
            return
        element = self._element(frame, query.shape[0])
        if element is None:
            return
        if kwargs.get("cu_seq_lens_q") is not None or name.startswith("paged"):
            raise TraceError(f"{self._name(module)}: expected one text, found several that are packed into one call")
        sinks = kwargs.get("s_aux") if kwargs.get("s_aux") is not None else getattr(module, "sinks", None)
        sinks = sinks.detach().flatten().float() if isinstance(sinks, torch.Tensor) and sinks.numel() == query.shape[1] else None
        scale = kwargs.get("scaling")
        if scale is None:  # GPT-2's own fields
            scale = query.shape[3] ** -0.5 if getattr(module, "scale_attn_weights", True) else 1.0
            scale /= module.layer_idx + 1 if getattr(module, "scale_attn_by_inverse_layer_idx", False) else 1
        heard = Heard(query[element].detach(), key[element].detach(), scale=float(scale), cap=float(kwargs.get("softcap") or 0.0), sinks=sinks)
        heard.windows = [kwargs["sliding_window"] or 0] if "sliding_window" in kwargs else None
        rows, keys = query.shape[2], key.shape[2]
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if found is None and isinstance(weights, torch.Tensor) and weights.dim() == 4 and weights.shape[-2] == rows:
            found = weights
        if found is not None and sinks is not None and found.shape[-1] == keys and name == "eager_attention_forward":
            sums = found[element].float().sum(-1)  # 1 where the sinks' share is taken off the output alone (Granite)
            found = None if bool(((sums - 1).abs() < 1e-3).all()) else found
        if found is not None and found.dim() == 4 and found.shape[-2] == rows and found.shape[-1] in (keys, keys + 1):
            heard.map, heard.mask = found[element, :, :, :keys].detach(), _mask_of(mask, element, keys)
        else:
            causal = kwargs.get("is_causal")
            causal = getattr(module, "is_causal", True) if causal is None else causal
            modifier = getattr(mask, "mask_mod", None)
            if modifier is not None:
                places = [torch.arange(count, device=query.device) for count in (rows, keys)]
                seen = modifier(torch.tensor(element), torch.tensor(0), places[0][:, None], places[1][None])
                heard.mask = seen.expand(rows, keys).unsqueeze(0)
            else:
                heard.mask = _mask_of(mask, element, keys)
                if mask is None and rows > 1 and causal and name != "eager_attention_forward":
                    heard.causal = True
            bias = kwargs.get("position_bias")
            if bias is not None:
                bias = bias[element if bias.shape[0] > 1 else 0].detach().float()
                heard.mask = bias if heard.mask is None else bias.masked_fill(~heard.mask, -math.inf) if heard.mask.dtype == torch.bool else bias + heard.mask
            if "flash" in name:
                self._expect_output(module, heard, value[element], output, element)
        self._score(frame, heard)

    def _expect_output(self, module, heard, value, output, element):
        """Raises unless a kernel that hides its scores gives what q, k and its masks make of the values."""
        output = output[0] if isinstance(output, tuple) else output
        rows = list(range(heard.query.shape[1]))[-SAMPLED:]
        heads = heard.query.shape[0]
        own = torch.einsum("hts,hsd->thd", heard.rows_of_map(rows), value.float().repeat_interleave(heads // value.shape[0], 0))
        if bool(((own - output[element, rows].float()).abs() > 3e-2 * (1 + own.abs().max())).any()):
            raise TraceError(f"{self._name(module)}: expected the output of q and k over the keys that its masks leave, found another; "
                             "load the model with attn_implementation=\"eager\" or \"sdpa\"")

    def _element(self, frame, batch):
        """The element of a score's batch that is recorded; None where its batch is another than the call's."""
        if batch == 1:
            return 0
        if self.call.batch not in (None, batch):
            return self._refuse(frame, f"expected scores of a batch of {self.call.batch}, found {batch}: windows or parts of a text")
        if batch <= self.batch:
            raise TraceError(f"batch: expected an element below {batch}, found {self.batch}")
        return self.batch

    def _refuse(self, frame, said):
        self.call.scores += 1
        self._site(frame).refused = said

    # -- what is kept --

    def _site(self, frame):
        module, nth = frame.module, frame.scores
        frame.scores += 1
        key = id(module), frame.turn, nth
        site = self.sites.get(key)
        if site is None:
            name = self._name(module)
            number = getattr(module, "layer_idx", None)
            digits = [int(part) for part in name.split(".") if part.isdigit()]
            number = number if isinstance(number, int) and not isinstance(number, bool) else digits[0] if digits else 0
            config = _field(module, "config", default=self._config_of_root())
            site = self.sites[key] = Site(module, key, name, number, _of_layer(config, number))
        return site

    def _config_of_root(self):
        config = self.config
        if config is None:
            frames = self._frames()
            config = getattr(_inner(frames[0].module), "config", None) if frames else None
        return _field(config, "text_config", default=config)

    def _score(self, frame, heard):
        """Keeps q and k, or the map, of the new tokens, whichever gives what was heard."""
        call = self.call
        call.scores += 1
        site = self._site(frame)
        if self.layers is not None and frame.turn == 0 and site.number not in self.layers and site.name.count(f".{site.number}."):
            return
        rows = (heard.query if heard.query is not None else heard.map).shape[1]
        keys = heard.key.shape[1] if heard.key is not None else heard.map.shape[2]
        site.decoder = call.sides and any(getattr(each.module, "is_decoder", False) is True or "Decoder" in type(each.module).__name__
                                          for each in self._frames()[1:])
        site.cross = bool(getattr(site.module, "is_cross_attention", False) is True or re.search(r"cross|encoder_attn|EncDec|multihead_attn", site.name)) \
            or (call.sides and not call.cached and keys != rows)
        if frame.last is not None and heard.query is not None and all(
                a.shape == b.shape and torch.equal(a, b) for a, b in zip(frame.last, (heard.query, heard.key))):
            del self.sites[site.key]  # one score, with two parts of the values
            return
        frame.last = heard.query, heard.key
        begin = self._begin(site, rows, keys)
        if begin is None:
            return
        end = begin + rows
        mask = call.decoder_mask if site.decoder else call.mask
        padding = mask if mask is not None and len(mask) == end and not site.cross else [True] * end
        padding = [bool(each) for each in padding]
        if site.cross:
            site.over = call.tokens(keys, False) or keys
            first, real = 0, [bool(each) for each in call.mask] if call.mask is not None and len(call.mask) == keys else [True] * keys
        else:
            first = max(0, end - keys)
            real = (padding[first:] + [False] * keys)[:keys]
        self._expect_same_cache(site, heard, begin, first)
        ids = call.tokens(rows, site.decoder)
        places = call.positions
        places = places.t().tolist() if places is not None and places.shape[-1] == rows else list(range(begin, end))
        site.keep(begin)
        site.real[:] = padding
        site.tokens.extend(ids if ids is not None else [None] * rows)
        site.positions.extend(places)
        parts = self._judged(site, heard, begin, first, padding[begin:], real, places)
        site.chunks.append((begin, {name: _kept(value) for name, value in parts.items()}))

    def _begin(self, site, rows, keys):
        call, kept = self.call, site.length()
        begin = call.past
        if keys > rows and begin == 0 and not call.cached and not site.cross:
            if keys - rows != kept:
                site.refused = (f"expected as many keys as queries, {rows}, found {keys}, and no cache in the call: it attends to other "
                                "states than its own, or the recording began after the cache was filled")
                return None
            begin = keys - rows
        if begin > kept and not site.cross:
            raise TraceError(f"{site.name}: expected a cache of {kept} tokens, found {begin}: "
                             "begin the recording before the first call that fills it")
        return begin

    def _expect_same_cache(self, site, heard, begin, first):
        """Raises where the keys before the new tokens are others than those recorded, as beams reorder them."""
        if site.cross or heard.key is None or site.mapped or begin == 0 or "k" not in site.chunks[-1][1]:
            return
        for at, parts in (site.chunks[len(site.chunks) // 2], site.chunks[-1]):
            last = min(at + parts["k"].shape[1], begin) - 1
            if first <= last and last >= at and site.real[last]:
                own = parts["k"][:, last - at].float()
                found = _ungrouped(heard.key[:, last - first:last - first + 1])[:, 0].float().cpu()
                if found.shape != own.shape:
                    own, found = (each.repeat_interleave(heard.key.shape[0] // each.shape[0], 0) for each in (own, found))
                if not torch.allclose(own, found, rtol=1e-3, atol=1e-3):
                    raise TraceError(f"{site.name}: expected the keys of token {last} in the cache as they were, found others: beams, or "
                                     "another cache than that of the calls before")

    def _judged(self, site, heard, begin, first, real_rows, real_keys, places):
        """q and k of the new tokens where they give the map that was heard, else rows of the map, [H, rows, S]."""
        rows, count = len(real_rows), len(real_keys)
        fits = None
        if heard.query is not None and heard.sinks is not False:
            if site.masks is None:
                self._hint(site, heard)
            else:
                heard.guess(site.masks)
            fits = judge(heard, begin, first, real_rows, real_keys, site.masks, site.cross)
        if fits is not None and site.masks is not None and not fits.like(site.masks):
            fits = None
        if fits is None or site.mapped:
            if not site.mapped:
                site.use_map()
            if max(rows, count) > LONGEST_MAP:
                site.refused = site.refused or f"expected at most {LONGEST_MAP} tokens, since a map must be stored, found {max(rows, count)}"
                return {"attention": torch.zeros(1, rows, 0)}
            found = torch.nan_to_num(heard.rows_of_map(list(range(rows))))
            return {"attention": torch.nn.functional.pad(found, (first, 0))[..., :count + first if site.cross else begin + rows]}
        site.masks = fits
        query, key = heard.query, _ungrouped(heard.key)
        new = key if site.cross else key[:, begin - first:begin - first + rows]
        site.keys = _kept(key) if site.cross else None
        content = {} if site.cross or fits.alibi else self._check_encoding(site, query, new, torch.as_tensor(places), begin + rows)
        return _scaled({"q": query, **({} if site.cross else {"k": new}), **content}, fits.scale)

    def _hint(self, site, heard):
        """What the module and the configuration name: scale, windows, caps and ALiBi, each of which is then compared."""
        config, kind = site.layer, _field(site.layer, "model_type", default="")
        if heard.windows is None or heard.windows == (0,):
            own = _field(site.module, "sliding_window", "window_size", default=0)
            heard.windows = [window_of(config, site.number), own if _is_count(own) else 0]
        heard.windows = [each for each in heard.windows if _is_count(each)]
        heard.chunk = chunk_of(config, site.number)
        if heard.scale is None:
            heard.cap = heard.cap or float(_field(config, "attn_logit_softcapping", default=0.0))
            heard.named = [value for value in (_field(site.module, name) for name in ("scaling", "scale", "inv_norm_factor", "softmax_scale"))
                           if isinstance(value, float) and value > 0]
        if kind == "bloom" or _field(config, "alibi") or kind == "mpt":
            heard.alibi = "before" if kind == "falcon" else "after"

    def _check_encoding(self, site, query, key, places, length):
        """Compares the encoding with q and k before they turn, where the module's parts gave them: site.checked and site.encoding.
        What it returns is stored: the content where the encoding does not give it back, since it turns by the number of tokens."""
        some = site.checked and len(places) == 1 and length % 16 > 0 and not _turns_by_length(site.encoding)
        if site.checked is False or some:  # of the steps of a generation one in 16
            return {}
        frame = next((each for each in reversed(self._frames()) if each.module is site.module), None)
        outputs = [] if frame is None or places.dim() != 1 else [
            each[self.batch if each.shape[0] > self.batch else 0].detach() for each in frame.outputs if each.dim() > 2]
        candidates = [site.encoding] if site.checked else self._candidates(site)
        by_length = any(_turns_by_length(each) for each in candidates)
        rows = None if by_length else _sampled(list(range(len(places))))
        if rows is not None and len(rows) < len(places):
            outputs, places = [_rows_of(each, rows, len(places)) for each in outputs], places[rows]
            query, key = query[:, rows], key[:, rows]
        found = _content(outputs, query, 0), _content(outputs, key, query.shape[0])
        if site.checked is None and not (found[0] and found[1]):
            return {}
        for encoding in candidates:
            own = [_fitting(encoding, views, turned, places, length) for views, turned in zip(found, (query, key))]
            if own[0] is not None and own[1] is not None:
                site.checked, site.encoding = True, encoding
                return dict(zip(("q_content", "k_content"), own)) if by_length else {}
        site.checked, site.encoding = False, None
        return {}

    def _candidates(self, site):
        if self.encoding is not None:
            return [self.encoding[site.number] if isinstance(self.encoding, (list, tuple)) else self.encoding]
        own = encoding_of(site.layer, site.number) if site.layer is not None else {"name": "rope"}
        return [] if own is None else _layouts(own) + [None] if own["name"] == "rope" else [None] + _layouts({})

    # -- the file --

    def _groups(self):
        """{(stack, cross): {number: site}}: layers of one stack differ in a number of their names, or in the order of calls."""
        stacks, inside = {}, {id(each) for each in self.root.modules()} if self.root is not None else set()
        for site in self.sites.values():
            if (site.chunks or site.refused) and id(site.module) in inside:
                parts = site.name.split(".")
                places = tuple(int(part) for part in parts if part.isdigit())
                name = ".".join("#" if part.isdigit() else part for part in parts)
                stacks.setdefault((name, site.cross, site.key[2]), []).append((places, site))
        found = {}
        for (name, cross, nth), members in stacks.items():
            columns = list(zip(*(places for places, _ in members)))
            varying = [n for n, column in enumerate(columns) if len(set(column)) > 1]
            at = varying[0] if varying else 0
            stack = "#".join(name.split("#")[:at + 1]) if columns else name
            own = found.setdefault((stack, cross), [])
            own += [(places[at] if columns else 0, site) for places, site in members]
        layers = {}
        for key, members in found.items():
            whole = {number for number, site in members if not site.refused}
            for number, site in members:
                if site.refused and number in whole:
                    self.notes.append(f"{site.name}: not recorded: {site.refused}")
            members = [(number, site) for number, site in members if not (site.refused and number in whole)]
            numbers = [number for number, _ in members]
            if len(set(numbers)) < len(numbers):  # several in a layer, or one layer that is called again
                order = list(self.sites.values())
                members = list(enumerate(sorted((site for _, site in members), key=order.index)))
            layers[key] = dict(sorted(members, key=lambda each: each[0]))
        return layers

    def _expect_all(self, group):
        """Raises where a module like those of the group ran, and no score was heard in it."""
        kinds = {(type(site.module), re.sub(r"\d+", "#", site.name)) for site in group.values()}
        heard = {id(site.module) for site in self.sites.values()}
        for name, module in self.root.named_modules():
            if (type(module), re.sub(r"\d+", "#", name)) in kinds and id(module) in self.called and id(module) not in heard:
                raise TraceError(f"{name}: expected a score of q and k, found none that PyTorch's functions take; "
                                 "load the model with attn_implementation=\"eager\" or \"sdpa\"")

    def _finish(self):
        groups = self._groups()
        if not groups or self.root is None:
            raise TraceError("expected one stack of layers with q and k, found none")
        sides = self._sides(groups)
        written, tensors, about = {}, {}, {}
        for prefix, (stack, group, crossing) in sides.items():
            self._expect_all(group)
            written[prefix] = self._side(prefix, stack, group, crossing, tensors, about)
        main = "decoder." if "decoder." in sides else "encoder." if "encoder." in sides else ""
        for prefix in sides:
            about[prefix + "shape"] = self._shape(written[prefix])
        about.update(self._about())
        if "decoder." in sides and "encoder." not in sides:
            self.notes.append("the encoder's layers were not recorded")
            over = next(iter(sides["decoder."][2].values())).over
            _put_tokens(self.tokenizer, [str(n) for n in range(over)] if isinstance(over, int) else over, tensors, about)
        shard = self._shard(written[main]) if main == "" else None
        if self.logits is not None and (shard is None or self.rank == 0):
            tensors["logits"] = self.logits
        if self.notes:
            about["notes"] = json.dumps(self.notes)
        path = self.path if self.ranks == 1 else rank_path(self.path, self.rank, self.ranks)
        write_checked(path, written, about, tensors, self.dtype, shard)
        self.told = self._told(written[main], sides[main][1])
        return path

    def _sides(self, groups):
        """{prefix: (stack, {number: site}, {number: site of the cross-attention})} of what a trace can hold."""
        whole = {key: group for key, group in groups.items() if not any(site.refused for site in group.values())} or groups
        for stack, cross in groups:
            if (stack, cross) not in whole:
                refused = next(site for site in groups[stack, cross].values() if site.refused)
                self.notes.append(f"{refused.name}: not recorded: {refused.refused}")
        own = {stack: group for (stack, cross), group in whole.items() if not cross}
        crossing = {stack: group for (stack, cross), group in whole.items() if cross}
        if not own:
            raise TraceError(f"expected layers that attend to their own tokens, found those of cross-attention alone, {', '.join(crossing)}")
        if crossing:
            decoder = max(own, key=lambda stack: (len(os.path.commonprefix([stack, next(iter(crossing))])), stack in crossing))
            keys = next(iter(next(iter(crossing.values())).values())).keys
            sides = {"decoder.": (decoder, own[decoder], crossing.get(decoder, next(iter(crossing.values()))))}
            for stack, group in own.items():
                if stack != decoder and "encoder." not in sides and (keys is None or next(iter(group.values())).length() == keys.shape[1]):
                    sides["encoder."] = stack, group, {}
            return sides
        if len(own) > 1:
            known = {stack: group for stack, group in own.items() if next(iter(group.values())).tokens[:1] not in ([], [None])}
            language = {stack: group for stack, group in own.items() if "language_model" in stack} or known
            if len(language) != 1:
                raise TraceError(f"expected one stack of layers with q and k, found {', '.join(own)}; "
                                 "give the part to record instead of the whole model")
            left = [stack for stack in own if stack not in language]
            self.notes.append(f"{', '.join(left)}: not recorded, only the layers of {next(iter(language))}")
            own = language
        (stack, group), = own.items()
        return {"": (stack, group, {})}

    def _depth(self, stack, group):
        """How many layers the stack has, those without attention too."""
        name = stack[:-2] if stack.endswith(".#") else None
        parts = next(iter(group.values())).name.split(".")
        if name is None or "#" not in stack:
            return max(group) + 1
        path = []
        for part, like in zip(parts, stack.split(".")):
            path.append(part)
        owner = self.root
        for part in path[:-1]:
            owner = getattr(owner, part, None)
        return max(len(owner), max(group) + 1) if isinstance(owner, (torch.nn.ModuleList, torch.nn.Sequential)) else max(group) + 1

    def _side(self, prefix, stack, group, crossing, tensors, about):
        """The layers of a side, {number: Layer}, and its tokens among tensors and texts."""
        if self.layers is not None and prefix == "":
            if not set(self.layers) <= set(group):
                raise TraceError(f"layers: expected some of {list(group)}, found {self.layers}")
            group = {number: site for number, site in group.items() if number in self.layers}
        for number, site in [*group.items(), *crossing.items()]:
            if site.refused:
                raise TraceError(f"{site.name}: {site.refused}")
        first = next(iter(group.values()))
        length = first.length()
        for site in group.values():
            if site.length() != length or length == 0:
                raise TraceError(f"{site.name}: expected {length or 'some'} tokens, found {site.length()}")
        causal = all(site.mapped or site.masks.causal for site in group.values()) and not any(site.mapped and _looks_ahead(site) for site in group.values())
        for site in group.values():
            if not site.mapped and site.masks.causal != causal:
                site.use_map()
                if site.refused:
                    raise TraceError(f"{site.name}: {site.refused}")
        kept = [n for n in range(length) if first.real[n]]
        whole = self.ranks > 1 and self.layers is None  # a rank's layers keep their numbers
        depth = None if self.layers is not None or whole else self._depth(stack, group)
        if not any(site.encoding is not None for site in group.values()):
            for site in group.values():  # that nothing turns is known beside layers that turn: it may have turned before
                site.checked = site.checked and None
        layers = {}
        for place, (number, site) in enumerate(group.items()):
            layers[place if self.layers is not None else number] = self._layer(site, kept, crossing.get(number))
        if depth is not None:
            layers.update({number: Layer(None, attends=False) for number in range(depth) if number not in layers})
        if self.layers is not None and self.layers != list(range(len(self.layers))):
            about["recorded_layers"] = json.dumps(self.layers)
        about[prefix + "causal"] = str(causal).lower()
        self._tokens(prefix, first, kept, tensors, about)
        if prefix == "":
            tensors.update(self._table(layers))  # it completes the encoding
        mapped = [number for number, site in group.items() if site.mapped]
        if mapped:
            self.notes.append(f"{prefix}layers {_ranges(mapped)}: the map is stored, since it is not the soft-max of q·k over the keys of a "
                              "trace's masks (a bias, or other masks)")
        unknown = [number for number, site in group.items() if not site.mapped and site.unknown]
        if unknown:
            self.notes.append(f"{prefix}layers {_ranges(unknown)}: positions are in q and k; the encoding could not be checked and is stored as none")
        return dict(sorted(layers.items()))

    def _layer(self, site, kept, crossing):
        layer = Layer({"name": "none"})
        if site.mapped:
            layer.attention = site.map()[:, kept][:, :, kept]
        else:
            masks = site.masks
            names = set.intersection(*(set(parts) for _, parts in site.chunks))
            layer.tensors = {name: site.joined(name)[:, kept] for name in names}
            layer.window, layer.chunk, layer.soft_cap = masks.window, masks.chunk, masks.cap
            layer.sinks = None if masks.sinks is None else masks.sinks.float().cpu()
            layer.encoding, site.unknown = self._encoding(site)
            if site.unknown or (layer.encoding or {"name": ""})["name"] == "none":
                layer.tensors = {name: layer.tensors[name] for name in ("q", "k")}
        if crossing is not None:
            if crossing.mapped:
                layer.cross = {"attention": crossing.map()[:, kept]}
            else:
                layer.cross = {"q": crossing.joined("q")[:, kept], "k": crossing.keys}
        return layer

    def _encoding(self, site):
        """The encoding to store, and whether one is there that could not be checked."""
        if site.masks.alibi is not None:
            return ({"name": "alibi", "before_scaling": True} if site.masks.alibi == "before" else {"name": "alibi"}), False
        if self.encoding is not None:
            return self._candidates(site)[0], False
        if site.checked:
            return site.encoding, False
        own = encoding_of(site.layer, site.number) if site.layer is not None else {"name": "none"}
        if own is None or own["name"] == "rope" or site.checked is False:
            return {"name": "none"}, True
        return self._added(site, own), False

    def _added(self, site, own):
        """What is added to the states of the tokens: nothing, sinusoids, or a table that was learned, with the grid that it has."""
        tables = [(name, each) for name, each in [*self.root.named_parameters(), *self.root.named_buffers()]
                  if TABLE.search(name) and each.is_floating_point() and each.dim() > 1]
        if not tables:
            return {"name": "none"}
        _, table = max(tables, key=lambda named: len(os.path.commonprefix([named[0], site.name])))
        grid = {"grid_rows": self.grid["rows"], "grid_columns": self.grid["columns"], "beyond": "interpolate"} if self.grid else {}
        grid.update({"after_rows": self.grid["detections"]} if grid and "detections" in self.grid else {})
        return _sinusoids(table.detach().flatten(0, -2).float().cpu()) or ({"name": "learned", **grid} if own["name"] == "none" else own)

    def _tokens(self, prefix, site, kept, tensors, about):
        """Ids, texts, positions and the text of a side's tokens."""
        ids = [site.tokens[n] for n in kept]
        ids = ids if ids and all(each is not None for each in ids) else None
        named = _put_tokens(self.tokenizer, ids, tensors, about, prefix)
        if self.grid is None:
            positions = [site.positions[n] for n in kept]
            if all(isinstance(each, list) for each in positions):
                tensors[named + "position_ids"] = torch.tensor(positions, dtype=torch.int64).t()
            elif not any(isinstance(each, list) for each in positions):
                tensors[named + "position_ids"] = torch.tensor(positions, dtype=torch.int64)

    def _shape(self, layers):
        """Sizes of a side, as JSON."""
        shown = next(layer for layer in layers.values() if layer.attends)
        heads, length = (shown.attention if shown.attention is not None else shown.tensors["q"]).shape[:2]
        tensors = next((layer.tensors for layer in layers.values() if layer.tensors), None)
        shape = {"layers": len(layers), "heads": heads, "kv_heads": tensors["k"].shape[0] if tensors else heads,
                 "head_width": tensors["q"].shape[2] if tensors else _head_width(self.config),
                 "width": _field(self.config, "hidden_size", "n_embd", "d_model"), "trained_length": self._trained_length(layers, length),
                 "vocabulary": _field(self.config, "vocab_size"),
                 "parameters": sum(each.numel() for each in self.root.parameters()) if self.ranks == 1 else None}
        return json.dumps({key: value for key, value in shape.items() if _is_count(value)})

    def _about(self):
        """What is said of the whole model."""
        name = str(_field(self.config, "_name_or_path", default="")).rstrip("/").rpartition("/")[2]
        about = {"model": name or type(self.root).__name__, "family": str(_field(self.config, "model_type", default=""))}
        return about if self.grid is None else {**about, "image_grid": json.dumps(self.grid)}

    def _told(self, layers, group):
        """What was recorded, in a line."""
        attending = [layer for layer in layers.values() if layer.attends]
        counts = f"{len(attending)} of {len(layers)} layers (others have no soft-max)" if len(attending) < len(layers) else f"{len(layers)} layers"
        encodings = [layer.encoding for layer in attending if layer.encoding is not None] or [{"name": "none"}]
        base = encodings[0].get("base")
        checked = encodings[0]["name"] == "rope" and any(site.checked and site.encoding is not None for site in group.values())
        parts = [counts, f"{len([1 for each in next(iter(group.values())).real if each])} tokens",
                 encodings[0]["name"] + (f" {base:g}" if base else "") + (" checked" if checked else "")]
        notes = f"{len(self.notes)} note{'s' if len(self.notes) != 1 else ''}: {'; '.join(self.notes)}" if self.notes else None
        return ", ".join(parts + ([notes] if notes else []))

    def _trained_length(self, layers, tokens):
        encoding = next((layer.encoding for layer in layers.values() if layer.attends), None) or {}
        if self.grid is not None and "grid_rows" in encoding:
            return encoding["grid_rows"] * encoding["grid_columns"] + encoding.get("class_rows", 0) + encoding.get("after_rows", 0)
        said = _field(self.config, "max_position_embeddings", "n_positions")
        return said if _is_count(said) and said > 0 else tokens

    def _table(self, layers):
        """The table of learned positions, [rows, C], where the model has one under a usual name."""
        encoding = next((layer.encoding for layer in layers.values() if layer.attends), None) or {}
        if encoding.get("name") != "learned" or _field(self.config, "model_type") in SHIFTED:
            return {}
        tables = [each.detach() for name, each in self.root.named_parameters() if TABLE.search(name)]
        rows = self._trained_length(layers, 0)
        if self.grid is not None and tables and "grid_rows" in encoding:
            rows = tables[0].shape[-2]
            for layer in layers.values():
                patches = encoding["grid_rows"] * encoding["grid_columns"]
                layer.encoding = {**encoding, "class_rows": rows - patches - encoding.get("after_rows", 0)}
        if len(tables) != 1 or tables[0].shape[-2] != rows or tables[0].numel() != rows * tables[0].shape[-1]:
            return {}
        return {"encoding.position_embedding": tables[0].reshape(rows, -1).float().cpu()}

    def _shard(self, layers):
        """What of the model this rank holds; its heads lie in the order of the ranks."""
        if self.ranks == 1:
            return None
        own = next(iter(layers.values())).tensors["q"].shape[0]
        of = _heads(self.config) or own
        groups = max(1, of // own)
        begin = self.rank % groups * own
        return {"rank": self.rank, "ranks": self.ranks, "layers": sorted(layers), "heads": [begin, begin + own], "of": of}


class capture(record):
    """with capture(model, "run.safetensors", tokenizer=tokenizer): model(**inputs)

    The same of one model, or of a part of one: what others do in the block is not recorded.
    """

    def __init__(self, model, path, tokenizer=None, layers=None, dtype=None, *, encoding=None, batch=0, rank=None, ranks=None):
        super().__init__(path, tokenizer, layers, dtype, encoding=encoding, batch=batch, rank=rank, ranks=ranks)
        self.model = _inner(model)
        numbers = range(max((len(each) for each in self.model.modules() if isinstance(each, (torch.nn.ModuleList, torch.nn.Sequential))), default=0))
        if self.layers is not None and not (self.layers and (not numbers or set(self.layers) <= set(numbers))):
            raise TraceError(f"layers: expected some of {list(numbers)}, found {self.layers}")


def _looks_ahead(site):
    found = site.map()
    return bool((found.triu(1) > 1e-4).any())


def _ranges(numbers):
    """0–3, 5"""
    runs = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def from_cache(cache, path, model=None, tokens=None, tokenizer=None, layers=None, dtype=None, *, encoding=None, causal=None,
               scale=None, batch=0):
    """Writes the trace of a TransformerLens ActivationCache, or of a dict with its names ("blocks.0.attn.hook_q", …).

    q and k are hook_rot_q and hook_rot_k where the model turns them (then hook_q and hook_k are the content), else hook_q and
    hook_k. Where the cache has hook_pattern too, it is compared: scale and masks are those that give it, and a layer where none do
    keeps the map. `model`: the HookedTransformer or TransformerBridge, whose cfg tells scale and masks of a cache without patterns,
    and the encoding; or give `encoding` (an object under Locus's names), `scale` (1/√D) and `causal` (true). `tokens`: the ids, or texts.
    """
    found = {}
    for name in cache.keys():
        match = re.fullmatch(r"blocks\.(\d+)\.attn\.hook_(rot_q|rot_k|q|k|pattern)", name)
        if match:
            value = cache[name].detach()
            value = value[batch] if value.dim() == 4 else value
            found.setdefault(int(match.group(1)), {})[match.group(2)] = value
    numbers = sorted(found if layers is None else set(layers))
    if not numbers or not set(numbers) <= set(found):
        raise TraceError(f"expected blocks.N.attn.hook_q and hook_k, or hook_pattern, found layers {sorted(found) or 'none'}")
    config = getattr(model, "cfg", None)
    known = {place: _cached_layer(f"blocks.{n}.attn", found[n], model, config, n, encoding, scale, causal) for place, n in enumerate(numbers)}
    said = {layer.causal for layer in known.values()}
    if len(said) > 1:
        raise TraceError("expected layers that all see the keys behind them, or none, found both")
    causal, = said
    length = (known[0].tensors["q"] if known[0].tensors else known[0].attention).shape[1]
    ids = _ids_of(tokens, batch)
    if ids is not None and len(ids) != length:
        raise TraceError(f"tokens: expected {length}, found {len(ids)}")
    shape = {"width": _field(config, "d_model"), "trained_length": _field(config, "n_ctx", default=length), "vocabulary": _field(config, "d_vocab")}
    about = {"model": str(_field(config, "model_name", default="")), "family": "transformer_lens", "causal": str(causal).lower(),
             "shape": json.dumps({key: value for key, value in shape.items() if isinstance(value, int)})}
    if numbers != list(range(len(numbers))):
        about["recorded_layers"] = json.dumps(numbers)
    further = {}
    _put_tokens(tokenizer, ids, further, about)
    return write_checked(path, {"": known}, about, further, dtype)


def _ids_of(tokens, batch):
    if isinstance(tokens, torch.Tensor):
        return (tokens[batch] if tokens.dim() == 2 else tokens).tolist()
    return None if tokens is None else list(tokens)


def _cached_layer(name, parts, model, config, number, encoding, scale, causal):
    """A layer of a cache: q and k where they give its hook_pattern (or without one), else that map."""
    kind, turns = _field(config, "positional_embedding_type", default=None), "rot_q" in parts and "rot_k" in parts
    query, key = (parts.get("rot_q"), parts.get("rot_k")) if turns else (parts.get("q"), parts.get("k"))
    pattern = parts.get("pattern")
    if query is None or key is None:
        if pattern is None:
            raise TraceError(f"{name}: expected hook_q and hook_k, or hook_pattern, found {', '.join(sorted(parts))}")
        masks = None
    else:
        query, key = query.transpose(0, 1), key.transpose(0, 1)  # [heads, T, D]
        masks = _cached_masks(name, query, key, pattern, model, config, number, scale, causal)
        if pattern is None and kind in ("rotary", "relative_positional_bias", "alibi") and not turns:
            raise TraceError(f"{name}: expected hook_rot_q and hook_rot_k, or hook_pattern, beside hook_q, since positions are no part of it "
                             f"({kind}), found none")
    layer = Layer(encoding or {"name": {"standard": "learned"}.get(kind, "none")})
    if masks is None:
        layer.attention, layer.causal = _kept(pattern.float()), not bool((pattern.triu(1) > 1e-4).any())
        return layer
    layer.window, layer.chunk, layer.soft_cap, layer.causal = masks.window, masks.chunk, masks.cap, masks.causal
    tensors = {"q": query, "k": key}
    if masks.alibi:
        layer.encoding = {"name": "alibi"}
    elif turns and "q" in parts and "k" in parts and parts["q"] is not parts["rot_q"]:
        content = {"q_content": parts["q"].transpose(0, 1), "k_content": parts["k"].transpose(0, 1)}
        places = torch.arange(query.shape[1])
        candidates = [encoding] if encoding else _cached_encodings(model, config, number)
        fits = [each for each in candidates if all(_fitting(each, [(content[f"{part}_content"], 1.0)], tensors[part], places, len(places))
                                                   is not None for part in "qk")]
        if encoding and not fits:
            raise TraceError(f"{name}: expected an encoding that turns hook_q and hook_k into hook_rot_q and hook_rot_k, found {json.dumps(encoding)}")
        layer.encoding = fits[0] if fits else {"name": "none"}
        tensors.update(content if fits else {})
    layer.tensors = {part: _kept(value) for part, value in _scaled(tensors, masks.scale).items()}
    return layer


def _cached_masks(name, query, key, pattern, model, config, number, scale, causal):
    """The masks under which q and k give the map of a cache; without one, those of the model's cfg. None where none do."""
    local = _field(config, "attn_types", default=[])[number:number + 1] == ["local"]
    blocks = getattr(model, "blocks", None)
    divisor = _field(blocks[number].attn if blocks is not None else config, "attn_scale")
    named = 1 / float(divisor) if divisor else query.shape[-1] ** -0.5
    masks = Masks(causal is not False and _field(config, "attention_dir", default="causal") == "causal",
                  _field(config, "window_size", default=0) if local else 0, cap=max(0.0, _field(config, "attn_scores_soft_cap", default=0.0)),
                  scale=named if scale is None else scale)
    if pattern is None:
        return masks
    heard = Heard(query, key, map=pattern, cap=masks.cap)
    heard.windows, heard.named, heard.alibi = [masks.window], [masks.scale], "after"
    tokens = [True] * query.shape[1]
    found = judge(heard, 0, 0, tokens, tokens)
    other = found is None or (scale is not None and abs(found.scale - scale) > 1e-3 * scale) or (causal is not None and found.causal != causal)
    if (scale is not None or causal is not None) and other:
        raise TraceError(f"{name}: expected hook_pattern to be the soft-max of q·k under the given scale and masks, found another; "
                         "leave them out, or cache hook_pattern alone")
    return found


def _cached_encodings(model, config, number):
    """What may turn hook_q into hook_rot_q: what the model's own configuration says, or its cfg's, with any pairing of channels."""
    own = getattr(getattr(model, "original_model", None), "config", None)
    found = [encoding_of(_field(own, "text_config", default=own), number)] if own is not None else []
    width, turned = _field(config, "d_head"), _field(config, "rotary_dim")
    rope = {"name": "rope", "base": float(_field(config, "rotary_base", default=10000)),
            "layout": "interleaved" if _field(config, "rotary_adjacent_pairs") else "half",
            "fraction": turned / width if turned and width else 1.0}
    if _field(config, "use_NTK_by_parts_rope"):
        rope.update(scaling="llama3", factor=float(config.NTK_by_parts_factor),
                    low_freq_factor=float(config.NTK_by_parts_low_freq_factor),
                    high_freq_factor=float(config.NTK_by_parts_high_freq_factor),
                    original_max_position_embeddings=int(_field(config, "NTK_original_ctx_len", default=8192)))
    return [each for own in [*found, rope] if own is not None and own["name"] == "rope" for each in _layouts(own)]


def _inner(model):
    """The model itself, within what wraps it: nnsight (by version), compiled and parallel modules."""
    for name in ("_model", "_module", "_orig_mod", "module"):
        inner = getattr(model, name, None)
        if isinstance(inner, torch.nn.Module):
            return _inner(inner)
    if not isinstance(model, torch.nn.Module):
        raise TraceError(f"expected a torch.nn.Module, found {type(model).__name__}")
    return model


def _place(rank, ranks):
    if ranks is None:
        parallel = getattr(torch, "distributed", None)
        running = parallel is not None and parallel.is_available() and parallel.is_initialized()
        rank, ranks = (parallel.get_rank(), parallel.get_world_size()) if running else (0, 1)
    if rank is None or not 0 <= rank < ranks:
        raise TraceError(f"rank: expected a number below {ranks}, found {rank}")
    return rank, ranks


def _kept(tensor):
    tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return tensor.to("cpu", copy=True).contiguous()


# ---- arrays that other programs stored ----

ARRAYS = {"<f8": "float64", "<f4": "float32", "<f2": "float16", "<i8": "int64", "<i4": "int32"}
LARGEST_NPY_HEADER = 65_536


def _npy(file, size):
    """The array of a .npy file of `size` bytes: the magic, a version, the length of a header, the header, the numbers."""
    magic = file.read(8)
    if magic[:6] != b"\x93NUMPY" or magic[6:7] not in (b"\1", b"\2", b"\3"):
        raise TraceError("expected an array of numpy (versions 1 to 3), found other bytes")
    form = "<H" if magic[6] == 1 else "<I"
    length = struct.unpack(form, file.read(struct.calcsize(form)).ljust(struct.calcsize(form), b"\xff"))[0]
    if length > min(size, LARGEST_NPY_HEADER):
        raise TraceError(f"header: expected at most {min(size, LARGEST_NPY_HEADER)} bytes, found {length}")
    try:
        header = ast.literal_eval(file.read(length).decode("latin-1"))
        dtype, shape, columns_first = header["descr"], header["shape"], header["fortran_order"]
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError):
        raise TraceError("header: expected descr, shape and fortran_order, found other text") from None
    if not isinstance(dtype, str) or dtype not in ARRAYS:
        raise TraceError(f"expected numbers of {' '.join(ARRAYS)}, found {str(dtype)[:40]}")
    if not isinstance(shape, tuple) or not all(_is_count(each) for each in shape):
        raise TraceError(f"shape: expected whole numbers, found {str(shape)[:80]}")
    needed, found = math.prod(shape) * int(dtype[2]), size - len(magic) - struct.calcsize(form) - length
    if needed != found:
        raise TraceError(f"expected {needed} bytes for {list(shape)}, found {found}")
    kind = getattr(torch, ARRAYS[dtype])
    if needed == 0:
        return torch.empty(shape, dtype=kind)
    value = torch.frombuffer(bytearray(file.read(needed)), dtype=kind)
    return value.view(shape[::-1]).permute(*reversed(range(len(shape)))) if columns_first else value.view(shape)


def read_arrays(path):
    """The arrays {name: tensor} of a .npz, or of a dict that torch.save() stored. Nothing in the file is executed."""
    if os.path.splitext(os.fspath(path))[1] != ".npz":
        try:
            with warnings.catch_warnings():  # PyTorch 2.6 remarks on other protocols before it reads or refuses them
                warnings.filterwarnings("ignore", "Detected pickle protocol")
                found = torch.load(path, map_location="cpu", weights_only=True)
        except OSError:
            raise
        except Exception as error:  # whatever the reader of pickles meets
            raise TraceError("expected a dict of tensors, such as torch.save(dict(cache.cache_dict), …) stores, found what "
                             f"cannot be read without running it: {str(error).splitlines()[0][:120]}") from None
        if not isinstance(found, dict):
            raise TraceError(f"expected a dict of tensors, found {type(found).__name__}")
        return {name: value for name, value in found.items() if isinstance(name, str) and isinstance(value, torch.Tensor)}
    arrays = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = info.filename[:-4] if info.filename.endswith(".npy") else info.filename
                with archive.open(info) as file:
                    try:
                        arrays[name] = _npy(file, info.file_size)
                    except TraceError as error:
                        raise TraceError(f"array {name}: {error}") from None
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"expected an archive of numpy's, found other bytes: {error}") from None
    return arrays


def convert(source, path, encoding=None, causal=None, scale=None, tokenizer=None, batch=0, dtype=None):
    """Writes the trace of stored arrays: those of a TransformerLens cache (see from_cache), or "layers.N.q" and "layers.N.k"
    [H, T, D], "layers.N.attention" [H, T, T] under a trace's own names, q and k as the score sees them.

    Ids are those named "tokens" or "input_ids". A batch in front is left out but for its element `batch`.
    """
    arrays = read_arrays(source)
    ids = next((arrays[name] for name in ("tokens", "input_ids") if name in arrays), None)
    if any(re.fullmatch(r"blocks\.\d+\.attn\.hook_\w+", name) for name in arrays):
        return from_cache(arrays, path, tokens=ids, tokenizer=tokenizer, encoding=encoding, causal=causal, scale=scale,
                          batch=batch, dtype=dtype)
    layers = {}
    for name, value in arrays.items():
        match = re.fullmatch(r"layers\.(\d{1,4})\.(q|k|q_content|k_content|attention)", name)
        if match is None:
            continue
        value = value[batch] if value.dim() == 4 else value
        if value.dim() != 3:
            raise TraceError(f"array {name}: expected 3 sizes, or a batch in front of them, found {list(value.shape)}")
        layer = layers.setdefault(int(match.group(1)), Layer(encoding or {"name": "none"}))
        if match.group(2) == "attention":
            layer.attention = _kept(value.float())
            continue
        layer.tensors[match.group(2)] = value
    for layer in layers.values():
        if "q" in layer.tensors:
            own = _scaled(layer.tensors, scale or layer.tensors["q"].shape[-1] ** -0.5)
            layer.tensors = {name: _kept(value) for name, value in own.items()}
    if sorted(layers) != list(range(len(layers))) or not layers:
        raise TraceError(f"expected blocks.N.attn.hook_q and hook_k, or layers.N.q and layers.N.k from 0 on, found "
                         f"{', '.join(sorted(arrays)[:6]) or 'no array'}")
    ids = _ids_of(ids, batch)
    about = {"model": "", "family": "arrays", "causal": str(causal is not False).lower()}
    further = {}
    _put_tokens(tokenizer, ids, further, about)
    return write_checked(path, {"": layers}, about, further, dtype)


# ---- figures in a notebook ----


class Figure:
    """A page of the program, as a notebook shows it: in a frame of its own, whose script sees nothing of the notebook. `page` is its HTML."""

    def __init__(self, page, height):
        self.page, self.height = page, height

    def _repr_html_(self):
        return (f'<iframe sandbox="allow-scripts" width="100%" height="{int(self.height)}" style="border: 0" '
                f'srcdoc="{html.escape(self.page)}"></iframe>')

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.page)


def show(*traces, view="attention", height=640, program=None, **options):
    """The program's figure of one or more traces, as a cell of a notebook shows it: show(trace, view="attention", layer=3, head=1).

    A trace is a recording that has ended, or the name of a file; checkpoints go too, with text="…". `options` are those of
    `locus figure`, _ for -. `program`: the program's file, else that of the package locus-scope, else `locus` of the PATH.
    """
    if not traces:
        raise TraceError("expected a trace to show, found none")
    paths = []
    for trace in traces:
        path = getattr(trace, "written", None) if isinstance(trace, record) else trace
        if path is None:
            raise TraceError("expected a recording that has been written, found one whose block has not ended")
        paths.append(os.path.abspath(os.fspath(path)))
    command = [*_program(program), "figure", view, *paths]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            command.append(flag)
        elif value is not None and value is not False:
            command.append(f"{flag}={','.join(map(str, value)) if isinstance(value, (list, tuple)) else value}")
    with tempfile.TemporaryDirectory(prefix="locus-") as folder:
        out = os.path.join(folder, "figure.html")
        done = subprocess.run([*command, "--out", out], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = done.stderr.decode(errors="replace").strip()
        if done.returncode != 0:
            raise TraceError(said.split("locus: error: ", 1)[-1] or f"locus figure ended with status {done.returncode}")
        if said:
            print(said, file=sys.stderr)
        with open(out, encoding="utf-8") as file:
            return Figure(file.read(), height)


def _program(given):
    if given is not None:
        return [os.fspath(given)]
    if importlib.util.find_spec("locus_scope") is not None:
        return [sys.executable, "-m", "locus_scope"]
    found = shutil.which("locus")
    if found is None:
        raise TraceError("expected the program locus, found neither the package locus-scope nor a `locus` in the PATH")
    return [found]


def _converted(source, path, options):
    global torch
    try:
        import torch
    except ImportError:
        raise TraceError("--convert needs PyTorch, found none") from None
    if os.path.exists(path) and os.path.samefile(source, path):
        raise TraceError("expected another file to write than the one that is read")
    encoding = options.encoding and _json({"--encoding": options.encoding}, "--encoding", dict)
    if encoding and not isinstance(encoding.get("name"), str):
        raise TraceError("--encoding: name: expected a text")
    return check(convert(source, path, encoding or None, False if options.bidirectional else None, options.scale))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="locus_trace.py", description="Checks traces of Locus, and makes them of stored arrays.")
    work = parser.add_mutually_exclusive_group(required=True)
    work.add_argument("--check", nargs="+", metavar="FILE", help="a trace; one line each, status 1 on an error")
    work.add_argument("--convert", nargs=2, metavar=("ARRAYS", "FILE"),
                      help="a .npz, or a dict of torch.save, of a TransformerLens cache or with a trace's names, as a trace")
    parser.add_argument("--encoding", metavar="JSON", help='with --convert: such as \'{"name": "rope", "base": 10000.0}\'')
    parser.add_argument("--scale", type=float, help="with --convert: of the score; default 1/√D")
    parser.add_argument("--bidirectional", action="store_true", help="with --convert: queries see the keys behind them too")
    options = parser.parse_args(arguments)
    for path in options.check or options.convert[:1]:
        try:
            out = path if options.check else options.convert[1]
            print(f"{out}: {check(path) if options.check else _converted(path, out, options)}")
        except (TraceError, OSError) as error:
            said = str(getattr(error, "strerror", None) or error)[:400]  # names of a file may be anything
            said = "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in said)
            print(f"locus_trace: error: {path}: {said}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
