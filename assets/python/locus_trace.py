"""Records the queries and keys of a PyTorch model as a trace, which Locus opens. One file; it needs PyTorch alone.

    import locus_trace
    with locus_trace.capture(model, "run.safetensors", tokenizer=tokenizer):
        model(**inputs)

    python3 locus_trace.py --check run.safetensors
    python3 locus_trace.py --convert cache.npz run.safetensors

A trace holds q and k of every layer as the score sees them (after rotation and norms, key heads in their groups), and never
a map of all pairs: Locus computes what it shows. Letters of shapes: T tokens, H heads, D the width of a head.
"""

import argparse
import ast
import ctypes
import functools
import inspect
import json
import math
import os
import re
import struct
import sys
import tempfile
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

LISTS = {
    "layer_encodings": lambda value: value is None or (isinstance(value, dict) and isinstance(value.get("name"), str)),
    "windows": _is_count,
    "chunks": _is_count,
    "soft_caps": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0,
    "sinks": lambda value: isinstance(value, bool),
}


def _json(metadata, key, kind):
    if key not in metadata:
        return None
    try:
        value = json.loads(metadata[key])
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
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
    _check_shape(tensors, name + "attention", [heads, length, length])
    _check_shape(tensors, name + "sinks", [heads])


def check(path):
    """Raises TraceError unless `path` is a trace that Locus can open; what it holds, in a few words."""
    tensors, metadata = read_header(path)
    if metadata.get("locus.format") != "trace/1":
        raise TraceError(f"metadata locus.format: expected trace/1, found {metadata.get('locus.format', 'none')}")
    if any(name.startswith("decoder.layers.") for name in tensors):
        raise TraceError("decoder.layers: expected layers.N, found an encoder–decoder's trace, which is not checked here")
    numbers = {int(m.group(1)) for m in (re.match(r"layers\.(\d{1,4})\.", name) for name in tensors) if m}
    shard = _json(metadata, "shard", dict)
    layers = sorted(numbers)
    if shard is not None:
        if not (_is_count(shard.get("rank")) and _is_count(shard.get("ranks")) and shard["rank"] < shard["ranks"]):
            raise TraceError("metadata shard: expected a rank below the number of ranks")
        if shard.get("layers") != layers:
            raise TraceError(f"metadata shard: layers: expected those of the tensors, {layers}, found {shard.get('layers')}")
    if not layers or (shard is None and layers != list(range(len(layers)))):
        raise TraceError(f"expected the layers from 0 on, found {layers or 'none'}")
    shapes = [tensors[name]["shape"] for name in (f"layers.{layers[0]}.q", f"layers.{layers[0]}.attention") if name in tensors]
    if not shapes or len(shapes[0]) != 3 or 0 in shapes[0]:
        found = shapes[0] if shapes else "none"
        raise TraceError(f"tensor layers.{layers[0]}.q: expected [H, T, D] or an attention [H, T, T], found {found}")
    heads, length = shapes[0][:2]
    for n in layers:
        _check_layer(tensors, n, length, heads)
    _check_shape(tensors, "input_ids", [length])
    _check_shape(tensors, "token_bytes", [length, 2])
    _check_shape(tensors, "position_ids", [length, 2] if len(tensors.get("position_ids", {"shape": []})["shape"]) == 2 else [length])
    if tensors.get("input_ids", {"dtype": "I64"})["dtype"] not in ("I64", "I32"):
        raise TraceError(f"tensor input_ids: expected I64, found {tensors['input_ids']['dtype']}")
    _check_metadata(metadata, length, len(layers))
    part = [f"rank {shard['rank']} of {shard['ranks']}"] if shard else []
    counts = (len(layers), "layer"), (heads, "head"), (length, "token")
    return ", ".join(part + [f"{count} {name}{'s' if count != 1 else ''}" for count, name in counts])


def _check_metadata(metadata, length, layers):
    tokens = _json(metadata, "tokens", list)
    if tokens is not None and (len(tokens) != length or not all(isinstance(token, str) for token in tokens)):
        raise TraceError(f"metadata tokens: expected {length} texts, found {len(tokens)} entries")
    encoding = _json(metadata, "encoding", dict)
    if encoding is not None and not isinstance(encoding.get("name"), str):
        raise TraceError("metadata encoding: name: expected a text")
    if metadata.get("causal", "true") not in ("true", "false"):
        raise TraceError(f"metadata causal: expected true or false, found {metadata['causal']}")
    if not re.fullmatch(r"\d+", metadata.get("window", "0")):
        raise TraceError(f"metadata window: expected a whole number, found {metadata['window']}")
    for key, fits in LISTS.items():
        values = _json(metadata, key, list)
        if values is not None and (len(values) != layers or not all(fits(value) for value in values)):
            raise TraceError(f"metadata {key}: expected a list of {layers} entries, one per layer, found {metadata[key][:80]}")
    grid = _json(metadata, "image_grid", dict)
    if grid is not None:
        sizes = [grid.get(key, 0) for key in ("rows", "columns", "cls", "registers")]
        if not all(_is_count(size) for size in sizes) or sizes[0] * sizes[1] + sizes[2] + sizes[3] != length:
            raise TraceError(f"metadata image_grid: expected rows × columns + cls + registers = {length}, found {sizes}")


# ---- what a configuration says of positions and masks ----

INTERLEAVED = ("codegen", "cohere", "cohere2", "ernie4_5", "glm", "glm4", "gptj", "helium", "llama4_text")
SCALING_OPTIONS = ("factor", "attention_factor", "beta_fast", "beta_slow", "truncate", "low_freq_factor", "high_freq_factor",
                   "original_max_position_embeddings", "short_factor", "long_factor")


def _field(source, *names, default=None):
    """The first of these attributes (or entries) that is there and not None."""
    for name in names:
        value = source.get(name) if isinstance(source, dict) else getattr(source, name, None)
        if value is not None:
            return value
    return default


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
    """The position encoding of a layer under Locus's names, None where it has none, from a Hugging Face configuration."""
    kind = _field(config, "model_type", default="")
    if kind == "bloom" or _field(config, "alibi"):
        return {"name": "alibi", "before_scaling": True} if kind == "falcon" else {"name": "alibi"}
    rope = _field(config, "rope_parameters", "rope_scaling", default={})
    if rope or _field(config, "rope_theta", "rotary_emb_base", "rotary_pct", "rotary_dim") is not None:
        return _rope_of(config, layer, kind, rope)
    image, patch = _pair(_field(config, "image_size")), _pair(_field(config, "patch_size"))
    if image and patch:
        return {"name": "learned", "grid_rows": image[0] // patch[0], "grid_columns": image[1] // patch[1], "beyond": "interpolate"}
    return {"name": "none" if _field(config, "n_positions", "max_position_embeddings") is None else "learned"}


def _pair(value):
    return tuple(value) if isinstance(value, (list, tuple)) else (value, value) if value else None


def _rope_of(config, layer, kind, rope):
    own, everywhere = _layer_type(config, layer), _field(config, "no_rope_layers", default=())
    if layer < len(everywhere) and not everywhere[layer]:
        return None
    if own == "full_attention" and (kind == "cohere2" or (kind == "exaone4" and _field(config, "sliding_window"))):
        return None
    rope = rope.get(own, {}) if any(isinstance(value, dict) for value in rope.values()) else rope
    base = _field(rope, "rope_theta", default=_field(config, "rope_theta", "rotary_emb_base", default=10000.0))
    if own == "sliding_attention" and _field(config, "rope_local_base_freq") is not None:
        base, rope = config.rope_local_base_freq, {}
    scaling = _field(rope, "rope_type", "type", default="default")
    if scaling == "mrope" or "mrope_section" in rope or _field(config, "qk_rope_head_dim", "patch_size"):
        return {"name": "none"}  # positions are vectors, or other channels turn: q and k hold it already
    width, turned = _head_width(config), _field(config, "rotary_dim")
    fraction = _field(rope, "partial_rotary_factor", default=_field(config, "partial_rotary_factor", "rotary_pct"))
    encoding = {"name": "rope", "base": float(base), "layout": "interleaved" if kind in INTERLEAVED else "half",
                "fraction": float(fraction if fraction is not None else turned / width if turned and width else 1.0)}
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
    """What is known of a layer's scores: soft-max of q·k·scale, capped, over the keys that the masks leave."""

    def __init__(self, encoding, window=0, chunk=0, soft_cap=0.0):
        self.encoding, self.window, self.chunk, self.soft_cap = encoding, window, chunk, soft_cap
        self.sinks = self.causal = self.attention = None
        self.tensors = {}  # q, k, q_content, k_content: [heads, T, D]

    def lists(self):
        return {"layer_encodings": self.encoding, "windows": self.window, "chunks": self.chunk,
                "soft_caps": self.soft_cap, "sinks": self.sinks is not None}


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


def write_trace(path, layers, about, tensors, dtype=None, shard=None):
    """Writes {number: Layer}, the texts of `about` and further tensors; lists of the metadata have an entry per layer."""
    tensors, known = dict(tensors), [layers[n] for n in sorted(layers)]
    for n, layer in layers.items():
        for name, value in layer.tensors.items():
            tensors[f"layers.{n}.{name}"] = value if dtype is None else value.to(dtype)
        if layer.attention is not None:
            tensors[f"layers.{n}.attention"] = layer.attention
        if layer.sinks is not None:
            tensors[f"layers.{n}.sinks"] = layer.sinks
    lists = {key: [layer.lists()[key] for layer in known] for key in LISTS}
    metadata = {"locus.format": "trace/1", **about,
                "encoding": json.dumps(next((each for each in lists["layer_encodings"] if each is not None), {"name": "none"})),
                "window": str(known[0].window)}
    if shard is not None:
        metadata["shard"] = json.dumps(shard)
    for key, values in lists.items():
        plain = {"layer_encodings": values[0], "windows": values[0], "chunks": 0, "soft_caps": 0, "sinks": False}[key]
        if shard is not None or values[0] is None or any(value != plain for value in values):
            metadata[key] = json.dumps(values)
    write_safetensors(path, {name: value.cpu() for name, value in tensors.items()}, metadata)
    return path


# ---- modules that attend, and the score that they take ----

PROJECTIONS = (("q_proj", "k_proj"), ("query", "key"), ("q_lin", "k_lin"), ("c_attn",), ("query_key_value",), ("qkv_proj",),
               ("qkv",), ("q_a_proj", "kv_b_proj"), ("q_proj", "kv_b_proj"))
PRODUCTS = ("matmul", "__matmul__", "bmm", "baddbmm")
HIDDEN = -5000.0  # scores below this are masked, whichever number a model masks with
TABLE = re.compile(r"(^|\.)(wpe\.weight|position_embeddings(\.weight)?|position_embedding\.weight|pos_embed)$")
SHIFTED = ("camembert", "mpnet", "opt", "roberta", "xlm-roberta")  # whose tables begin with rows that are no positions
NUMBER = re.compile(r"(?<![^.])\d+(?=\.)")


def find_attention(model):
    """[(layer, name, module)] of the modules that attend to themselves, by their projections."""
    stacks = {}
    for name, module in model.named_modules():
        children = dict(module.named_children())
        if not any(all(part in children for part in parts) for parts in PROJECTIONS):
            continue
        if re.search(r"cross|encoder_attn|EncDec", name) or getattr(module, "is_cross_attention", False):
            raise TraceError(f"{name}: encoder–decoders are not recorded")
        places = list(NUMBER.finditer(name))
        if places:
            begin, end = places[-1].span()
            number = getattr(module, "layer_idx", None)
            number = number if isinstance(number, int) else int(name[begin:end])
            stacks.setdefault(name[:begin] + "#" + name[end:], []).append((number, name, module))
    if len(stacks) > 1:
        language = [stack for stack in stacks if "language_model" in stack]
        stacks = {language[0]: stacks[language[0]]} if len(language) == 1 else stacks
    if len(stacks) != 1:
        raise TraceError(f"expected one stack of layers with q and k, found {', '.join(stacks) or 'none'}"
                         + ("; give the part to record instead of the whole model" if stacks else ""))
    return sorted(next(iter(stacks.values())), key=lambda each: each[0])


def _globals_of(module):
    """The files that define the module's class and what it extends."""
    return [vars(sys.modules[each.__module__]) for each in type(module).__mro__ if each.__module__ in sys.modules
            and "ALL_ATTENTION_FUNCTIONS" in vars(sys.modules[each.__module__])]


class _Listener(TorchFunctionMode):
    """Sees the functions that a module of its own kind calls: the product of q and k, and the soft-max of it."""

    def __init__(self, recording, site, rows):
        super().__init__()
        self.recording, self.site, self.rows, self.pair = recording, site, rows, None

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        if not self.site.seen and torch.is_grad_enabled():
            with torch.no_grad():
                self.listen(name, args, kwargs)
        elif not self.site.seen:
            self.listen(name, args, kwargs)
        return function(*args, **kwargs)

    def listen(self, name, args, kwargs):
        if name in PRODUCTS and self.pair is None:
            operands = [*args, *(kwargs[key] for key in ("input", "other", "mat2", "batch1", "batch2") if key in kwargs)]
            self.pair = self.heads_of(*operands[-2:]) if len(operands) > 1 else None
        elif name.endswith("scaled_dot_product_attention"):
            self.fused(*args, **kwargs)
        elif name == "softmax" and self.pair is not None:
            self.recording.eager(self.site, *self.pair, args[0] if args else kwargs["input"])

    def heads_of(self, query, key):
        """q and k [B, H, T, D] of a product of q with k turned over; None of any other product."""
        width, heads = self.site.head_width, self.site.heads
        if not (isinstance(query, torch.Tensor) and isinstance(key, torch.Tensor) and query.dim() == key.dim() in (3, 4)):
            return None
        if query.shape[-2] != self.rows or query.shape[-1] != key.shape[-2] or width not in (None, query.shape[-1]):
            return None
        key = key.transpose(-1, -2)
        if query.dim() == 4:
            return query, key
        if heads is None or query.shape[0] % heads:
            return None
        return tuple(each.reshape(query.shape[0] // heads, heads, *each.shape[1:]) for each in (query, key))

    def fused(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, **_):
        if query.dim() != 4:
            raise TraceError(f"{self.site.name}: expected q [B, H, T, D], found {list(query.shape)}")
        self.recording.fused(self.site, query, key, attn_mask, is_causal, scale)


class Site:
    """A module that attends, and what was seen of it: chunks of q and k, each from a token on."""

    def __init__(self, number, name, module, config, layer):
        self.number, self.name, self.module, self.layer = number, name, module, layer
        self.heads = _field(module, "num_heads", "num_attention_heads", "n_heads", default=_heads(config))
        self.head_width = _field(module, "head_dim", "attention_head_size", "head_size", default=_head_width(config))
        self.chunks, self.parts, self.seen = [], {}, False

    def length(self):
        return self.chunks[-1][0] + self.chunks[-1][1]["q"].shape[1] if self.chunks else 0

    def keep(self, length):
        """Forgets what lies from this token on."""
        while self.chunks and self.chunks[-1][0] >= length:
            self.chunks.pop()
        if self.length() > length:
            begin, parts = self.chunks[-1]
            self.chunks[-1] = (begin, {name: value[:, :length - begin] for name, value in parts.items()})

    def content(self, query, key):
        """q and k before they turn, [heads, T, D], where the module's own projections or norms hold them."""
        parts, (heads, rows, width), key_heads = self.parts, query.shape, key.shape[0]
        found = [next((parts[name] for name in names if name in parts), None)
                 for names in (("q_norm", "q_proj", "query"), ("k_norm", "k_proj", "key"))]
        fused = next((parts[name] for name in ("query_key_value", "qkv_proj") if name in parts), None)
        if "query_key_value" in parts and key_heads == heads and fused.shape[-1] == 3 * heads * width:
            found = fused.view(rows, heads, 3, width)[:, :, :2].unbind(2)
        elif "qkv_proj" in parts and fused.shape[-1] == (heads + 2 * key_heads) * width:
            found = fused[..., :heads * width], fused[..., heads * width:(heads + key_heads) * width]
        content = [_turned_back(value, turned) for value, turned in zip(found, (query, key))]
        return {} if any(each is None for each in content) else dict(zip(("q_content", "k_content"), content))


def _turned_back(value, turned):
    """`value` as [heads, T, D] if it may be `turned` before a rotation, which keeps the length of every vector."""
    heads, rows, width = turned.shape
    if value is None or value.numel() != turned.numel():
        return None
    by_row = value.reshape(rows, heads, width).transpose(0, 1)
    want = turned.float().norm(dim=-1)
    for each in [by_row] + ([value] if value.shape == turned.shape else []):
        ratio = want / each.float().norm(dim=-1).clamp_min(1e-30)
        middle = ratio.median()
        if bool(((ratio - middle).abs() <= _tolerance(turned) * middle).all()):
            return each
    return None


def _tolerance(tensor):
    return 1e-3 if tensor.dtype in (torch.float32, torch.float64) else 3e-2


class Call:
    """A call of the model: the tokens that it brings, and how many the cache holds before them."""

    def __init__(self, given, batch):
        ids, mask = given.get("input_ids"), given.get("attention_mask")
        self.ids = ids[batch].tolist() if isinstance(ids, torch.Tensor) and ids.dim() == 2 else None
        self.mask = mask[batch].bool().tolist() if isinstance(mask, torch.Tensor) and mask.dim() == 2 else None
        positions = given.get("position_ids")
        flat = isinstance(positions, torch.Tensor) and positions.dim() == 2
        self.positions = positions[batch if positions.shape[0] > 1 else 0].tolist() if flat else None
        self.pixels = given.get("pixel_values")
        past = next((given[name] for name in ("past_key_values", "layer_past", "past") if given.get(name) is not None), None)
        if past is None:
            self.past = 0
        elif hasattr(past, "get_seq_length"):
            self.past = int(past.get_seq_length())
        else:
            known = isinstance(past, (tuple, list)) and past and past[0] is not None
            self.past = past[0][0].shape[-2] if known else 0


class capture:
    """with capture(model, "run.safetensors", tokenizer=tokenizer): model(**inputs)

    Records one element of the batch. A call whose cache holds P tokens replaces everything from token P on: steps of a
    generation append, and a new text replaces the one before. `layers`: numbers of those to record, which count from 0 in
    the trace; `dtype`: of the stored q and k; `encoding`: an object under Locus's names, or a list with one (or None) per
    layer, instead of what the configuration says; `rank`, `ranks`: instead of those of torch.distributed.
    The file is written when the block ends without an error; `written` is its name.
    """

    def __init__(self, model, path, tokenizer=None, layers=None, dtype=None, *, encoding=None, batch=0, rank=None, ranks=None):
        self.model = _inner(model)
        self.path, self.tokenizer, self.dtype, self.batch = path, tokenizer, dtype, batch
        self.rank, self.ranks = _place(rank, ranks)
        self.config = _field(getattr(self.model, "config", None), "text_config", default=getattr(self.model, "config", None))
        found = find_attention(self.model)
        numbers = [number for number, _, _ in found]
        self.wanted = sorted(set(numbers if layers is None else layers))
        if not set(self.wanted) <= set(numbers) or not self.wanted:
            raise TraceError(f"layers: expected some of {numbers}, found {self.wanted}")
        self.whole = self.ranks > 1 and layers is None  # a rank's layers keep their numbers
        self.sites = [Site(number, name, module, self.config, self._layer(number, encoding))
                      for number, name, module in found if number in self.wanted]
        self.by_module = {id(site.module): site for site in self.sites}
        self.call, self.ids, self.positions, self.mask, self.grid, self.logits = None, [], [], None, None, None
        self.undo, self.written = [], None

    def _layer(self, number, encoding):
        config = self.config
        if encoding is not None:
            own = encoding[number] if isinstance(encoding, (list, tuple)) else encoding
        else:
            own = encoding_of(config, number)
        return Layer(own, window_of(config, number), chunk_of(config, number), _field(config, "attn_logit_softcapping", default=0.0))

    # -- what is put into the model while the block runs, and taken out again --

    def __enter__(self):
        try:
            self._around(self.model, self._model_call)
            for site in self.sites:
                self._around(site.module, functools.partial(self._attention_call, site))
                for name, child in site.module.named_children():
                    if name in ("q_norm", "k_norm", "q_proj", "k_proj", "query", "key", "query_key_value", "qkv_proj"):
                        hook = child.register_forward_hook(functools.partial(self._part, site, name))
                        self.undo.append(hook.remove)
            self._enter_interface()
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(self, kind, error, trace):
        self._restore()
        if kind is None:
            with torch.no_grad():
                self.written = self._finish()

    def _restore(self):
        while self.undo:
            self.undo.pop()()

    def _around(self, module, replacement):
        before, own = module.forward, "forward" in vars(module)

        @functools.wraps(before)
        def forward(*args, **kwargs):
            return replacement(before, args, kwargs)

        self.undo.append(functools.partial(setattr, module, "forward", before) if own else functools.partial(delattr, module, "forward"))
        module.forward = forward

    def _enter_interface(self):
        """Registers a recording function in the place of each one that the model's modules take from the interface."""
        files = {id(file): file for site in self.sites for file in _globals_of(site.module)}
        names = {_field(getattr(site.module, "config", self.config), "_attn_implementation") for site in self.sites} - {None, "eager"}
        for file in files.values():
            registry = file["ALL_ATTENTION_FUNCTIONS"]
            local = getattr(registry, "_local_mapping", registry)
            for name in names:
                if name in registry and not hasattr(registry[name], "locus_recording"):
                    self._replace(local, name, registry[name])
            if "eager_attention_forward" in file:  # the one that is in no registry
                self._replace(file, "eager_attention_forward", file["eager_attention_forward"])

    def _replace(self, table, name, before):
        @functools.wraps(before)
        def recording(module, query, key, value, attention_mask=None, *args, **kwargs):
            site = self.by_module.get(id(module))
            if site is not None:
                with torch.no_grad():
                    self._interface(site, query, key, attention_mask, kwargs)
            return before(module, query, key, value, attention_mask, *args, **kwargs)

        recording.locus_recording = True
        own = table.get(name)
        self.undo.append(functools.partial(table.__setitem__, name, own) if own is not None else functools.partial(table.pop, name))
        table[name] = recording

    # -- calls --

    def _model_call(self, forward, args, kwargs):
        given = inspect.signature(forward).bind_partial(*args, **kwargs).arguments
        given.update(next((given[name] for name in ("kwargs", "_", "model_kwargs") if isinstance(given.get(name), dict)), {}))
        if "args" in given and given["args"]:  # a wrapper that hands everything on
            given.setdefault("input_ids", given["args"][0])
        with torch.no_grad():
            self.call = Call(given, self.batch)
        output = forward(*args, **kwargs)
        with torch.no_grad():
            self._end_call(output)
        return output

    def _end_call(self, output):
        call, self.call = self.call, None
        length = self.sites[0].length()
        self.ids = self.ids[:call.past] + call.ids if call.ids is not None and len(self.ids) >= call.past else []
        positions = call.positions if call.positions is not None else list(range(call.past, length))
        self.positions = self.positions[:call.past] + positions
        before = self.mask[:call.past] if self.mask is not None else [True] * call.past
        self.mask = call.mask if call.mask is not None and len(call.mask) == length else before + [True] * (length - call.past)
        if call.pixels is not None and call.pixels.dim() == 4:
            patch = _pair(_field(self.config, "patch_size")) or (0, 0)
            rows, columns = (size // side if side else 0 for size, side in zip(call.pixels.shape[2:], patch))
            rest = length - rows * columns
            if rows * columns > 0 and rest >= 0:
                registers = _field(self.config, "num_register_tokens", default=0)
                self.grid = {"rows": rows, "columns": columns, "cls": max(0, rest - registers), "registers": min(rest, registers)}
        logits = getattr(output, "logits", None)
        if isinstance(logits, torch.Tensor) and logits.dim() in (2, 3):
            last = logits[self.batch] if logits.dim() == 2 else logits[self.batch, -1:]
            self.logits = last.detach().float().cpu() if type(last) is torch.Tensor and torch.isfinite(last).all() else None

    def _attention_call(self, site, forward, args, kwargs):
        site.seen, site.parts = False, {}
        states = args[0] if args else next((value for value in kwargs.values() if isinstance(value, torch.Tensor)), None)
        if _globals_of(site.module) or not isinstance(states, torch.Tensor):
            output = forward(*args, **kwargs)
        else:
            with _Listener(self, site, states.shape[-2]):
                output = forward(*args, **kwargs)
        if not site.seen:
            raise TraceError(f"{site.name}: expected a score of q and k, found none that PyTorch's functions take; "
                             "load the model with attn_implementation=\"eager\" or \"sdpa\"")
        site.parts = {}
        return output

    def _part(self, site, name, module, inputs, output):
        if isinstance(output, torch.Tensor) and output.dim() > 2 and output.shape[0] > self.batch:
            site.parts[name] = output.detach()[self.batch]

    # -- the three ways to a score --

    def _interface(self, site, query, key, mask, kwargs):
        """A function of the attention interface: q and k turned and normed, key heads in their groups."""
        layer = site.layer
        if "sliding_window" in kwargs:
            layer.window = kwargs["sliding_window"] or 0
        layer.soft_cap = kwargs.get("softcap") or layer.soft_cap
        sinks = kwargs.get("s_aux") if kwargs.get("s_aux") is not None else getattr(site.module, "sinks", None)
        layer.sinks = sinks.detach().float().cpu() if isinstance(sinks, torch.Tensor) and sinks.dim() == 1 else None
        if kwargs.get("position_bias") is not None:
            raise TraceError(f"{site.name}: a bias is added to its scores, which a trace of q and k does not hold")
        causal = kwargs.get("is_causal")
        causal = getattr(site.module, "is_causal", True) if causal is None else causal
        scale = kwargs.get("scaling")
        if scale is None:  # GPT-2's own fields
            scale = query.shape[3] ** -0.5 if getattr(site.module, "scale_attn_weights", True) else 1.0
            scale /= site.number + 1 if getattr(site.module, "scale_attn_by_inverse_layer_idx", False) else 1
        self.fused(site, query, key, mask, causal, scale, by_interface=True)

    def fused(self, site, query, key, mask, causal, scale, by_interface=False):
        """A score of which only the arguments are seen."""
        begin = self._begin(key.shape[2] - query.shape[2])
        rows = query.shape[2]
        if isinstance(mask, torch.Tensor) and mask.dim() == 4 and mask.shape[2] == rows:
            element = mask[self.batch if mask.shape[0] > 1 else 0, :, :, :key.shape[2]]
            for row in self._rows(rows):
                visible = element[0, row] if element.dtype == torch.bool else element[0, row] > HIDDEN
                if element.dtype != torch.bool and bool((element[:, row, visible] != 0).any()) and not self._has_bias(site):
                    raise TraceError(f"{site.name}: a bias is added to its scores, which a trace of q and k does not hold")
                self._check_row(site, begin, row, rows, visible)
        elif rows > 1 or (by_interface and site.layer.causal is None):  # no mask, or one of padding, which is the same for all queries
            site.layer.causal = bool(causal)
        self._record(site, begin, query, key, scale)

    def eager(self, site, query, key, scores):
        """A product of q and k, and what the soft-max takes of it: [B, H, T, S] or [B·H, T, S]."""
        batch, heads, rows, _ = query.shape
        begin, keys = self._begin(key.shape[2] - rows), key.shape[2]
        if scores.shape[-2:] != (rows, keys) or scores.numel() != batch * heads * rows * keys:
            raise TraceError(f"{site.name}: expected scores of {rows} queries and {keys} keys, found {list(scores.shape)}")
        products, logits = [], []
        for row in self._rows(rows):
            for head in {0, heads - 1}:
                found = scores[self.batch, head, row] if scores.dim() == 4 else scores[self.batch * heads + head, row]
                visible = found > HIDDEN
                self._check_row(site, begin, row, rows, visible)
                own = key[self.batch, head * key.shape[1] // heads].double()
                products.append((own @ query[self.batch, head, row].double())[visible])
                logits.append(found[visible].double())
        self._record(site, begin, query, key, self._scale(site, query, torch.cat(products), torch.cat(logits)))

    def _scale(self, site, query, products, logits):
        """The number between products and logits. An error where no single one makes them alike."""
        cap, usual = site.layer.soft_cap, query.shape[-1] ** -0.5
        if self._has_bias(site):
            return _field(site.module, "inv_norm_factor", "scaling", default=usual)
        logits = cap * torch.atanh((logits / cap).clamp(-1 + 1e-12, 1 - 1e-12)) if cap else logits
        scale = float((products * logits).sum() / (products * products).sum().clamp_min(1e-300))
        tolerance = _tolerance(query)
        named = [value for value in (usual, 1.0, getattr(site.module, "scaling", None), getattr(site.module, "scale", None))
                 if isinstance(value, float)]
        scale = next((value for value in named if abs(scale - value) <= tolerance * value), scale)
        if bool(((logits - products * scale).abs() > tolerance * (1 + logits.abs().max())).any()):
            raise TraceError(f"{site.name}: expected scores of q and k times one number, found others (a bias?)")
        return scale

    def _has_bias(self, site):
        return (site.layer.encoding or {}).get("name") == "alibi"

    def _begin(self, behind):
        return self.call.past if self.call is not None else max(0, behind)

    def _rows(self, rows):
        """The queries whose masks are looked at: the first, one in the middle, the last that are no padding."""
        mask = self.call.mask[-rows:] if self.call is not None and self.call.mask is not None else [True] * rows
        real = [row for row in range(rows) if row < len(mask) and mask[row]] or [rows - 1]
        return sorted({real[0], real[len(real) // 2], real[-1]})

    def _check_row(self, site, begin, row, rows, visible):
        """Raises unless the keys that a query sees are those of the layer's masks; the first row tells if it is causal."""
        layer, end, query = site.layer, begin + rows, begin + row
        first = max(0, end - len(visible))  # the token of key 0: a cache may hold a window alone, or room for more
        tokens = torch.arange(first, first + len(visible), device=visible.device)
        real = tokens < end
        if self.call is not None and self.call.mask is not None and len(self.call.mask) == end:
            real[:end - first] &= torch.tensor(self.call.mask[first:], device=visible.device)[:len(visible)]
        later = real & (tokens > query)
        if row == self._rows(rows)[0] and bool(later.any()):
            layer.causal = not bool((visible & later).any())
        expected = real
        if layer.causal is not False:
            expected = real & (tokens <= query)
            expected &= tokens > query - layer.window if layer.window else True
            expected &= tokens // layer.chunk == query // layer.chunk if layer.chunk else True
        if not torch.equal(visible, expected):
            raise TraceError(f"{site.name}: token {query}: expected {int(expected.sum())} visible keys "
                             f"({'all' if layer.causal is False else 'causal'}, window {layer.window}, chunk {layer.chunk}), "
                             f"found {int(visible.sum())}")

    def _record(self, site, begin, query, key, scale):
        """Keeps q and k of the new tokens on the CPU, q times what makes its scores q·k/√D."""
        if query.shape[0] <= self.batch:
            raise TraceError(f"batch: expected an element below {query.shape[0]}, found {self.batch}")
        query, key = query[self.batch].detach(), _ungrouped(site, key[self.batch].detach(), query.shape[1])
        rows, keys, width = query.shape[1], key.shape[1], query.shape[2]
        if begin > site.length():
            raise TraceError(f"{site.name}: expected a cache of {site.length()} tokens, found {begin}: "
                             "begin the recording before the first call that fills it")
        key = key[:, begin:begin + rows] if keys > begin + rows else key[:, keys - rows:]
        content = site.content(query, key) if (site.layer.encoding or {}).get("name") == "rope" else {}
        factor = 1.0 if scale is None else float(scale) * math.sqrt(width)
        if abs(factor - 1) > 1e-6:
            query, content = query.float() * factor, {name: value.float() * factor if name == "q_content" else value
                                                      for name, value in content.items()}
        site.keep(begin)
        site.chunks.append((begin, {name: _kept(value) for name, value in {"q": query, "k": key, **content}.items()}))
        site.seen = True

    # -- the file --

    def _finish(self):
        length = self.sites[0].length()
        for site in self.sites:
            if site.length() != length or length == 0:
                raise TraceError(f"{site.name}: expected {length or 'some'} tokens, found {site.length()}")
        kept = [n for n in range(length) if self.mask is None or self.mask[n]]
        layers = {}
        for place, site in enumerate(self.sites):
            names = set.intersection(*(set(parts) for _, parts in site.chunks))
            site.layer.tensors = {name: torch.cat([parts[name] for _, parts in site.chunks], 1)[:, kept] for name in names}
            layers[site.number if self.whole else place] = site.layer
        ids = [self.ids[n] for n in kept] if len(self.ids) == length else None
        tensors = self._table(layers)  # it completes the encoding
        about = self._about(ids, kept)
        if ids is not None:
            tensors["input_ids"] = torch.tensor(ids, dtype=torch.int64)
        places = _places(self.tokenizer, ids)
        if places is not None:
            about["text"], tensors["token_bytes"] = places
        if self.grid is None and len(self.positions) == length:
            tensors["position_ids"] = torch.tensor([self.positions[n] for n in kept], dtype=torch.int64)
        shard = self._shard(layers)
        if self.logits is not None and (shard is None or self.rank == 0):
            tensors["logits"] = self.logits
        path = self.path if self.ranks == 1 else rank_path(self.path, self.rank, self.ranks)
        return write_trace(path, layers, about, tensors, self.dtype, shard)

    def _about(self, ids, kept):
        first, config = self.sites[0], self.config
        heads, _, width = first.layer.tensors["q"].shape
        name = str(_field(config, "_name_or_path", default="")).rstrip("/").rpartition("/")[2]
        labels = _labels(self.tokenizer, ids) or ([str(token) for token in ids] if ids is not None else None)
        shape = {"layers": len(self.sites), "heads": heads, "kv_heads": first.layer.tensors["k"].shape[0], "head_width": width,
                 "width": _field(config, "hidden_size", "n_embd"), "trained_length": self._trained_length(len(kept)),
                 "vocabulary": _field(config, "vocab_size"),
                 "parameters": sum(each.numel() for each in self.model.parameters()) if self.ranks == 1 else None}
        about = {"model": name or type(self.model).__name__, "family": str(_field(config, "model_type", default="")),
                 "causal": "false" if any(site.layer.causal is False for site in self.sites) else "true",
                 "shape": json.dumps({key: value for key, value in shape.items() if isinstance(value, int)})}
        if labels is not None:
            about["tokens"] = json.dumps(labels)
        if self.grid is not None:
            about["image_grid"] = json.dumps(self.grid)
        if self.wanted != list(range(len(self.wanted))) and not self.whole:
            about["recorded_layers"] = json.dumps(self.wanted)
        return about

    def _trained_length(self, tokens):
        encoding = self.sites[0].layer.encoding or {}
        if self.grid is not None and "grid_rows" in encoding:
            return encoding["grid_rows"] * encoding["grid_columns"] + encoding.get("class_rows", 0)
        return _field(self.config, "max_position_embeddings", "n_positions", default=tokens)

    def _table(self, layers):
        """The table of learned positions, [rows, C], where the model has one under a usual name."""
        encoding = next(iter(layers.values())).encoding or {}
        if encoding.get("name") != "learned" or _field(self.config, "model_type") in SHIFTED:
            return {}
        tables = [each.detach() for name, each in self.model.named_parameters() if TABLE.search(name)]
        rows = self._trained_length(0)
        if self.grid is not None and tables:
            rows = tables[0].shape[-2]
            for layer in layers.values():
                layer.encoding = {**encoding, "class_rows": rows - encoding["grid_rows"] * encoding["grid_columns"]}
        if len(tables) != 1 or tables[0].shape[-2] != rows or tables[0].numel() != rows * tables[0].shape[-1]:
            return {}
        return {"encoding.position_embedding": tables[0].reshape(rows, -1).float().cpu()}

    def _shard(self, layers):
        """What of the model this rank holds; its heads lie in the order of the ranks."""
        if self.ranks == 1:
            return None
        own = self.sites[0].layer.tensors["q"].shape[0]
        of = _heads(self.config) or own
        groups = max(1, of // own)
        begin = self.rank % groups * own
        return {"rank": self.rank, "ranks": self.ranks, "layers": sorted(layers), "heads": [begin, begin + own], "of": of}


def from_cache(cache, path, model=None, tokens=None, tokenizer=None, layers=None, dtype=None, *, encoding=None, causal=None,
               scale=None, batch=0):
    """Writes the trace of a TransformerLens ActivationCache, or of a dict with its names ("blocks.0.attn.hook_q", …).

    q and k are hook_rot_q and hook_rot_k where the model turns them (then hook_q and hook_k are the content), else hook_q and
    hook_k; layers with hook_pattern alone keep that map. `model`: the HookedTransformer, whose cfg tells encoding, scale and
    masks; without it they are `encoding` (an object under Locus's names), `scale` (1/√D) and `causal` (true). `tokens`: the
    ids, or texts.
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
    known = {place: _cached_layer(f"blocks.{n}.attn", found[n], model, config, n, encoding, scale)
             for place, n in enumerate(numbers)}
    if causal is None:
        causal = _field(config, "attention_dir", default="causal") == "causal"
    for place, n in enumerate(numbers):
        if known[place].tensors and "pattern" in found[n] and known[place].encoding != {"name": "alibi"}:
            _check_pattern(f"blocks.{n}.attn", known[place], found[n]["pattern"], causal)
    length = (known[0].tensors["q"] if known[0].tensors else known[0].attention).shape[1]
    ids = _ids_of(tokens, batch)
    labels = [str(each) for each in ids] if ids and isinstance(ids[0], str) else _labels(tokenizer, ids) or \
        (None if ids is None else [str(each) for each in ids])
    if labels is not None and len(labels) != length:
        raise TraceError(f"tokens: expected {length}, found {len(labels)}")
    shape = {"width": _field(config, "d_model"), "trained_length": _field(config, "n_ctx", default=length), "vocabulary": _field(config, "d_vocab")}
    about = {"model": str(_field(config, "model_name", default="")), "family": "transformer_lens", "causal": str(causal).lower(),
             "shape": json.dumps({key: value for key, value in shape.items() if isinstance(value, int)})}
    if labels is not None:
        about["tokens"] = json.dumps(labels)
    if numbers != list(range(len(numbers))):
        about["recorded_layers"] = json.dumps(numbers)
    further = {"input_ids": torch.tensor(ids, dtype=torch.int64)} if ids and isinstance(ids[0], int) else {}
    places = _places(tokenizer, ids)
    if places is not None:
        about["text"], further["token_bytes"] = places
    return write_trace(path, known, about, further, dtype)


def _ids_of(tokens, batch):
    if isinstance(tokens, torch.Tensor):
        return (tokens[batch] if tokens.dim() == 2 else tokens).tolist()
    return None if tokens is None else list(tokens)


def _cached_layer(name, parts, model, config, number, encoding, scale):
    kind, turns = _field(config, "positional_embedding_type", default=None), "rot_q" in parts and "rot_k" in parts
    local = _field(config, "attn_types", default=[])[number:number + 1] == ["local"]
    layer = Layer(encoding if encoding is not None else _cached_encoding(config, kind),
                  _field(config, "window_size", default=0) if local else 0,
                  soft_cap=max(0.0, _field(config, "attn_scores_soft_cap", default=0.0)))
    if "q" not in parts or "k" not in parts:
        if turns:
            parts = {**parts, "q": parts["rot_q"], "k": parts["rot_k"]}
        elif "pattern" in parts:
            layer.attention = _kept(parts["pattern"].float())
            return layer
        else:
            raise TraceError(f"{name}: expected hook_q and hook_k, or hook_pattern, found {', '.join(sorted(parts))}")
    if kind == "rotary" and not turns:
        raise TraceError(f"{name}: expected hook_rot_q and hook_rot_k beside hook_q, since the model turns q and k, found none")
    if kind == "relative_positional_bias":
        raise TraceError(f"{name}: a bias is added to its scores, which a trace of q and k does not hold; cache hook_pattern alone")
    query, key = (parts["rot_q"], parts["rot_k"]) if turns else (parts["q"], parts["k"])
    tensors = {"q": query, "k": key}
    if turns and parts["q"] is not query:
        tensors.update(q_content=parts["q"], k_content=parts["k"])
    blocks = getattr(model, "blocks", None)
    divisor = _field(blocks[number].attn if blocks is not None else config, "attn_scale")
    scale = scale if scale is not None else 1 / float(divisor) if divisor else query.shape[-1] ** -0.5
    factor = scale * query.shape[-1] ** 0.5
    for part, value in tensors.items():  # [T, heads, D]
        value = value.float() * factor if part.startswith("q") and abs(factor - 1) > 1e-6 else value
        layer.tensors[part] = _kept(value.transpose(0, 1))
    return layer


def _check_pattern(name, layer, pattern, causal):
    """Raises unless some rows of a cached map are the soft-max of q·k: another scale, mask or a bias would show here."""
    query, key = layer.tensors["q"].double(), layer.tensors["k"].double()
    heads, rows, width = query.shape
    tokens = torch.arange(rows)
    for head, row in {(head, row) for head in (0, heads - 1) for row in (0, rows // 2, rows - 1)}:
        logits = key[head * key.shape[0] // heads] @ query[head, row] / width ** 0.5
        logits = layer.soft_cap * torch.tanh(logits / layer.soft_cap) if layer.soft_cap else logits
        hidden = (tokens > row) | ((tokens <= row - layer.window) if layer.window else False) if causal else tokens < 0
        own = torch.softmax(logits.masked_fill(hidden, -math.inf), -1)
        if bool(((own - pattern[head, row].double().cpu()).abs() > _tolerance(layer.tensors["k"])).any()):
            raise TraceError(f"{name}: expected hook_pattern to be the soft-max of q·k over the keys that the masks leave, found "
                             f"another at head {head}, token {row}: another scale or mask, or a bias; give the model, or cache hook_pattern alone")


def _cached_encoding(config, kind):
    if kind == "rotary":
        width, turned = _field(config, "d_head"), _field(config, "rotary_dim")
        rope = {"name": "rope", "base": float(_field(config, "rotary_base", default=10000)),
                "layout": "interleaved" if _field(config, "rotary_adjacent_pairs") else "half",
                "fraction": turned / width if turned and width else 1.0}
        if _field(config, "use_NTK_by_parts_rope"):
            rope.update(scaling="llama3", factor=float(config.NTK_by_parts_factor),
                        low_freq_factor=float(config.NTK_by_parts_low_freq_factor),
                        high_freq_factor=float(config.NTK_by_parts_high_freq_factor),
                        original_max_position_embeddings=int(_field(config, "NTK_original_ctx_len", default=8192)))
        return rope
    return {"name": {"standard": "learned", "alibi": "alibi"}.get(kind, "none")}


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


def _ungrouped(site, key, heads):
    """Key heads in their groups again, where a module repeated them for each of the query's."""
    own = _field(site.module, "num_key_value_heads", "num_kv_heads")
    if own is None:
        groups = getattr(site.module, "num_key_value_groups", 1)
        own = heads // groups if isinstance(groups, int) and groups > 0 else heads
    if key.shape[0] != heads or not isinstance(own, int) or own < 1 or own >= heads or heads % own:
        return key
    groups = heads // own
    same = key.unflatten(0, (own, groups))[:, :, -1]
    return key[::groups] if torch.equal(same, same[:, :1].expand_as(same)) else key


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
        factor = (scale or value.shape[-1] ** -0.5) * value.shape[-1] ** 0.5
        turned = value.float() * factor if match.group(2)[0] == "q" and abs(factor - 1) > 1e-6 else value
        layer.tensors[match.group(2)] = _kept(turned)
    if sorted(layers) != list(range(len(layers))) or not layers:
        raise TraceError(f"expected blocks.N.attn.hook_q and hook_k, or layers.N.q and layers.N.k from 0 on, found "
                         f"{', '.join(sorted(arrays)[:6]) or 'no array'}")
    ids = _ids_of(ids, batch)
    about = {"model": "", "family": "arrays", "causal": str(causal is not False).lower()}
    labels = _labels(tokenizer, ids)
    if labels is not None:
        about["tokens"] = json.dumps(labels)
    unchecked = f"{os.fspath(path)}.unchecked"
    try:
        write_trace(unchecked, layers, about, {} if ids is None else {"input_ids": torch.tensor(ids, dtype=torch.int64)}, dtype)
        check(unchecked)
        os.replace(unchecked, path)
    finally:
        if os.path.exists(unchecked):
            os.unlink(unchecked)
    return path


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
