"""The maps that a trace stands for, computed from its tensors and metadata alone: what Locus draws, written a second time."""
import json
import math

import torch
import locus_trace

# A torchvision that is built for another PyTorch (the CPU's, from another registry) lacks these, and then no library that imports it
# opens; no model here calls them.
try:
    import torchvision  # noqa: F401
except ImportError:
    pass
except RuntimeError:
    OPERATORS = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        OPERATORS.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

DTYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "BF16": torch.bfloat16, "F16": torch.float16}


def read(path):
    """The tensors and the metadata of a safetensors file."""
    header, metadata = locus_trace.read_header(path)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    begin = len(data) - max((info["data_offsets"][1] for info in header.values()), default=0)
    return {name: torch.frombuffer(data, dtype=DTYPES[info["dtype"]], count=math.prod(info["shape"]),
                                   offset=begin + info["data_offsets"][0]).view(info["shape"]) for name, info in header.items()}, metadata


def maps_of(path):
    """{"layers.N.attention": [H, T, T]} of every layer and side, and "decoder.layers.N.cross_attention" [H, T, T_e]."""
    tensors, metadata = read(path)
    found = {}
    for name in tensors:
        prefix, _, last = name.rpartition(".")
        side = prefix[:prefix.index("layers.")] if "layers." in prefix else ""
        if last in ("attention", "cross_attention"):
            found[name] = tensors[name].double()
        elif last == "q":
            found[f"{prefix}.attention"] = self_map(tensors, metadata, prefix, side)
        elif last == "cross_q":
            logits = products(tensors[name], tensors[f"{prefix}.cross_k"])
            found[f"{prefix}.cross_attention"] = torch.softmax(logits, -1)
    return found


def products(query, key):
    key = key.double().repeat_interleave(query.shape[0] // key.shape[0], 0)
    return query.double() @ key.transpose(1, 2) / math.sqrt(query.shape[2])


def self_map(tensors, metadata, prefix, side):
    layer = int(prefix.rpartition(".")[2])
    logits = products(tensors[f"{prefix}.q"], tensors[f"{prefix}.k"])
    length = logits.shape[1]

    def own(key, plain):
        return json.loads(metadata[side + key])[layer] if side + key in metadata else plain

    encoding = own("layer_encodings", json.loads(metadata.get(side + "encoding", "{}"))) or {}
    i, j = torch.arange(length)[:, None], torch.arange(length)[None]
    if encoding.get("name") == "alibi":
        heads, whole = len(logits), 2 ** math.floor(math.log2(len(logits)))
        slopes = [2 ** (-8 * (n + 1) / whole) for n in range(whole)] + [2 ** (-4 * (2 * n + 1) / whole) for n in range(heads - whole)]
        scale = tensors[f"{prefix}.q"].shape[2] ** -0.5 if encoding.get("before_scaling") else 1
        logits = logits + torch.tensor(slopes)[:, None, None] * (j - i) * scale
    cap, window, chunk = own("soft_caps", 0), own("windows", int(metadata.get(side + "window", 0))), own("chunks", 0)
    logits = cap * torch.tanh(logits / cap) if cap else logits
    seen = j <= i if metadata.get(side + "causal", "true") == "true" else torch.ones(length, length, dtype=torch.bool)
    seen = seen & ((i - j).abs() < window) if window else seen
    seen = seen & (i // chunk == j // chunk) if chunk else seen
    logits = logits.masked_fill(~seen, -math.inf)
    if f"{prefix}.sinks" in tensors:
        logits = torch.cat((logits, tensors[f"{prefix}.sinks"].double()[:, None, None].expand(-1, length, 1)), -1)
    return torch.softmax(logits, -1)[..., :length]
