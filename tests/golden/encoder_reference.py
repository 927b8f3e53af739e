#!/usr/bin/python3
"""What encoders of the families electra, deberta-v2, beit, t5 and umt5 compute, in float64 with numpy, from the formulas
of the papers and of the published classes; make_encoder_variants.py makes folders with it. Run by itself it recomputes
the authors' own values of the folders families/{electra,deberta-v2,beit,t5}, and stops where they differ.

usage: encoder_reference.py            (needs python3-numpy)
"""
import json
import math
import pathlib
import struct

import numpy as np

FAMILIES = pathlib.Path(__file__).parent / "families"
NUMPY = {"F32": np.float32, "I64": np.int64}


def read(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, about in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            first, last = (8 + size + end for end in about["data_offsets"])
            kind = np.dtype(NUMPY[about["dtype"]])
            value = np.frombuffer(data[first:last], kind).reshape(about["shape"])
            tensors[name] = value.astype(np.float64) if kind == np.float32 else value
    return tensors


def write(path, tensors):
    header, parts, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, value in sorted(tensors.items()):
        kind = "I64" if value.dtype == np.int64 else "F32"
        part = np.ascontiguousarray(value, NUMPY[kind]).tobytes()
        header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


ERF = np.vectorize(math.erf)
ACTIVATIONS = {
    "gelu": lambda x: x * 0.5 * (1 + ERF(x / math.sqrt(2))),
    "gelu_new": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
}


class Model:
    """The tensors of a folder, and what all layers do."""

    def __init__(self, config, tensors, eps):
        self.config, self.tensors, self.eps = config, tensors, eps

    def has(self, name):
        return name in self.tensors

    def linear(self, name, x):
        y = x @ self.tensors[name + ".weight"].T
        return y + self.tensors[name + ".bias"] if self.has(name + ".bias") else y

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps)
        return x * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def rms(self, name, x):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.tensors[name + ".weight"]

    def heads(self, name, x, count):
        return self.linear(name, x).reshape(len(x), count, -1).transpose(1, 0, 2)


def attend(scores, value):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights, (weights @ value).transpose(1, 0, 2).reshape(scores.shape[1], -1)


def bert_layer(model, name, names, x, more):
    """One layer with its norms behind the sums; `more` gives the scores from q, k and D."""
    config = model.config
    q, k, v = (model.heads(f"{name}.attention.self.{each}", x, config["num_attention_heads"]) for each in names)
    weights, y = attend(more(q, k, q.shape[-1]), v)
    x = model.norm(name + ".attention.output.LayerNorm", x + model.linear(name + ".attention.output.dense", y))
    y = ACTIVATIONS[config["hidden_act"]](model.linear(name + ".intermediate.dense", x))
    return weights, model.norm(name + ".output.LayerNorm", x + model.linear(name + ".output.dense", y))


def electra(model, ids):
    config, seen = model.config, {}
    x = model.tensors["electra.embeddings.word_embeddings.weight"][ids]
    x = x + model.tensors["electra.embeddings.position_embeddings.weight"][: len(ids)]
    x = model.norm("electra.embeddings.LayerNorm", x + model.tensors["electra.embeddings.token_type_embeddings.weight"][0])
    x = model.linear("electra.embeddings_project", x)
    for n in range(config["num_hidden_layers"]):
        plain = lambda q, k, d: q @ k.transpose(0, 2, 1) / math.sqrt(d)
        weights, x = bert_layer(model, f"electra.encoder.layer.{n}", ("query", "key", "value"), x, plain)
        seen[f"layers.{n}.attention"] = weights
    if model.has("discriminator_predictions.dense.weight"):
        x = ACTIVATIONS[config["hidden_act"]](model.linear("discriminator_predictions.dense", x))
        return {**seen, "logits": model.linear("discriminator_predictions.dense_prediction", x)}
    x = model.norm("generator_predictions.LayerNorm", ACTIVATIONS["gelu"](model.linear("generator_predictions.dense", x)))
    table = model.tensors["electra.embeddings.word_embeddings.weight"]
    return {**seen, "logits": x @ table.T + model.tensors["generator_lm_head.bias"]}


def deberta_rows(config, length):
    """The row of the table for every query and key."""
    buckets = config["position_buckets"]
    longest = config["max_relative_positions"]
    longest = config["max_position_embeddings"] if longest < 1 else longest
    rows, half = np.zeros((length, length), np.int64), buckets // 2
    for i in range(length):
        for j in range(length):
            r, bucket = abs(i - j), i - j
            if r > half:
                part = 1.0 if r == longest - 1 else math.log(r / half) / math.log((longest - 1) / half)
                bucket = int(math.copysign(half + math.ceil(part * (half - 1)), i - j))
            rows[i, j] = min(max(bucket + buckets, 0), 2 * buckets - 1)
    return rows


def convolution(model, x, embedded):
    """x + act(convolution of the embedding over the tokens), normed; zeros stand before and after the text."""
    config, name = model.config, "deberta.encoder.conv."
    kernel, groups = config["conv_kernel_size"], config.get("conv_groups", 1)
    matrix = model.tensors[name + "conv.weight"]
    out = np.zeros_like(x) + model.tensors[name + "conv.bias"]
    part = x.shape[1] // groups
    for t in range(len(x)):
        for offset in range(kernel):
            s = t + offset - (kernel - 1) // 2
            if 0 <= s < len(x):
                for g in range(groups):
                    own = slice(g * part, (g + 1) * part)
                    out[t, own] += matrix[own, :, offset] @ embedded[s, own]
    return model.norm(name + "LayerNorm", x + ACTIVATIONS[config.get("conv_act", "tanh")](out))


def deberta(model, ids):
    config, seen = model.config, {}
    words = model.tensors["deberta.embeddings.word_embeddings.weight"]
    x = words[ids]
    if config["type_vocab_size"] > 0:
        x = x + model.tensors["deberta.embeddings.token_type_embeddings.weight"][0]
    embedded = x = model.norm("deberta.embeddings.LayerNorm", x)
    table = model.norm("deberta.encoder.LayerNorm", model.tensors["deberta.encoder.rel_embeddings.weight"])
    rows = deberta_rows(config, len(ids))
    for n in range(config["num_hidden_layers"]):
        self = f"deberta.encoder.layer.{n}.attention.self."
        names = ("key_proj", "query_proj") if config["share_att_key"] else ("pos_key_proj", "pos_query_proj")
        keys, queries = (model.heads(self + each, table, config["num_attention_heads"]) for each in names)
        i = np.arange(len(ids))

        def scores(q, k, d):
            c2p = (q @ keys.transpose(0, 2, 1))[:, i[:, None], rows]
            p2c = (k @ queries.transpose(0, 2, 1))[:, i[None, :], rows]
            return (q @ k.transpose(0, 2, 1) + c2p + p2c) / math.sqrt(3 * d)

        names = ("query_proj", "key_proj", "value_proj")
        seen[f"layers.{n}.attention"], x = bert_layer(model, f"deberta.encoder.layer.{n}", names, x, scores)
        if n == 0 and config.get("conv_kernel_size", 0) > 0:
            x = convolution(model, x, embedded)
    head = "lm_predictions.lm_head."
    x = model.norm(head + "LayerNorm", ACTIVATIONS[config["hidden_act"]](model.linear(head + "dense", x)))
    return {**seen, "logits": x @ words.T + model.tensors[head + "bias"]}


def beit(model, pixels):
    config, seen = model.config, {}
    size, heads, side = config["patch_size"], config["num_attention_heads"], config["image_size"] // config["patch_size"]
    patches = pixels.reshape(3, side, size, side, size).transpose(1, 3, 0, 2, 4).reshape(side * side, -1)
    matrix = model.tensors["beit.embeddings.patch_embeddings.projection.weight"]
    x = patches @ matrix.reshape(len(matrix), -1).T + model.tensors["beit.embeddings.patch_embeddings.projection.bias"]
    x = np.concatenate([model.tensors["beit.embeddings.cls_token"][0], x])
    if config["use_absolute_position_embeddings"]:
        x = x + model.tensors["beit.embeddings.position_embeddings"][0]
    rows = np.zeros((len(x), len(x)), np.int64)
    for i in range(len(x)):
        for j in range(len(x)):
            (y, u), (z, w) = divmod(i - 1, side), divmod(j - 1, side)
            own = (y - z + side - 1) * (2 * side - 1) + u - w + side - 1
            last = (2 * side - 1) ** 2
            rows[i, j] = (last + 2 if j == 0 else last) if i == 0 else last + 1 if j == 0 else own
    table = "relative_position_bias.relative_position_bias_table"
    for n in range(config["num_hidden_layers"]):
        name = f"beit.encoder.layer.{n}."
        y = model.norm(name + "layernorm_before", x)
        q, k, v = (model.heads(name + "attention.attention." + each, y, heads) for each in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        for bias in (f"{name}attention.attention.{table}", f"beit.encoder.{table}"):
            if model.has(bias):
                scores = scores + model.tensors[bias][rows].transpose(2, 0, 1)
        seen[f"layers.{n}.attention"], y = attend(scores, v)
        x = x + model.tensors[name + "lambda_1"] * model.linear(name + "attention.output.dense", y)
        y = model.linear(name + "intermediate.dense", model.norm(name + "layernorm_after", x))
        y = model.linear(name + "output.dense", ACTIVATIONS[config["hidden_act"]](y))
        x = x + model.tensors[name + "lambda_2"] * y
    if config["use_mean_pooling"]:
        x = model.norm("beit.pooler.layernorm", x[1:].mean(0))
    else:
        x = model.norm("beit.layernorm", x)[0]
    return {**seen, "logits": model.linear("classifier", x)}


def t5_bias(model, side, n, length):
    config, causal = model.config, side == "decoder"
    buckets = config["relative_attention_num_buckets"]
    count = buckets if causal else buckets // 2
    half, rows = count // 2, np.zeros((length, length), np.int64)
    for i in range(length):
        for j in range(length):
            r = max(i - j, 0) if causal else abs(i - j)
            far = lambda: math.log(r / half) / math.log(config["relative_attention_max_distance"] / half) * (count - half)
            rows[i, j] = r if r < half else min(half + int(far() + 1e-9), count - 1)
            rows[i, j] += 0 if causal or j <= i else count
    own = n if config["model_type"] == "umt5" else 0
    table = model.tensors[f"{side}.block.{own}.layer.0.SelfAttention.relative_attention_bias.weight"]
    bias = table[rows].transpose(2, 0, 1)
    return bias + np.where(np.arange(length)[None] > np.arange(length)[:, None], -np.inf, 0) if causal else bias


def t5_side(model, side, ids, states, seen):
    config, heads = model.config, model.config["num_heads"]
    x = model.tensors["shared.weight"][ids]
    for n in range(config["num_layers" if side == "encoder" else "num_decoder_layers"]):
        block = f"{side}.block.{n}.layer."

        def attention(name, y, other, bias):
            q = model.heads(name + ".q", y, heads)
            k, v = (model.heads(name + each, other, heads) for each in (".k", ".v"))
            weights, y = attend(q @ k.transpose(0, 2, 1) + bias, v)
            return weights, model.linear(name + ".o", y)

        y = model.rms(block + "0.layer_norm", x)
        weights, y = attention(block + "0.SelfAttention", y, y, t5_bias(model, side, n, len(ids)))
        x, seen[f"{side}.layers.{n}.attention"] = x + y, weights
        if states is not None:
            y = model.rms(block + "1.layer_norm", x)
            weights, y = attention(block + "1.EncDecAttention", y, states, 0)
            x, seen[f"{side}.layers.{n}.cross_attention"] = x + y, weights
        last = block + ("1" if states is None else "2")
        y, dense = model.rms(last + ".layer_norm", x), last + ".DenseReluDense."
        if config["feed_forward_proj"] == "gated-gelu":
            y = ACTIVATIONS["gelu_new"](model.linear(dense + "wi_0", y)) * model.linear(dense + "wi_1", y)
        else:
            y = ACTIVATIONS[config["feed_forward_proj"]](model.linear(dense + "wi", y))
        x = x + model.linear(dense + "wo", y)
    return model.rms(side + ".final_layer_norm", x)


def t5(model, ids, decoder_ids):
    seen = {}
    states = seen["encoder.hidden"] = t5_side(model, "encoder", ids, None, seen)
    x = t5_side(model, "decoder", decoder_ids, states, seen)
    if model.config["tie_word_embeddings"]:
        return {**seen, "logits": x / math.sqrt(x.shape[1]) @ model.tensors["shared.weight"].T}
    return {**seen, "logits": model.linear("lm_head", x)}


RUNS = {"electra": electra, "deberta-v2": deberta, "beit": beit, "t5": t5, "umt5": t5}
INPUTS = {"beit": ("pixel_values",), "t5": ("input_ids", "decoder_input_ids"), "umt5": ("input_ids", "decoder_input_ids")}


def compute(config, tensors, given):
    eps = config["layer_norm_epsilon"] if "layer_norm_epsilon" in config else config["layer_norm_eps"]
    kind = config["model_type"]
    return RUNS[kind](Model(config, tensors, eps), *(given[name] for name in INPUTS.get(kind, ("input_ids",))))


def check(folder):
    config = json.loads((FAMILIES / folder / "config.json").read_text())
    want = read(FAMILIES / folder / "expected.safetensors")
    found = compute(config, read(FAMILIES / folder / "model.safetensors"), want)
    worst = max(np.abs(value - want[name]).max() for name, value in found.items())
    print(f"{folder}: largest difference {worst:.1e}")
    assert worst < 2e-5, folder


if __name__ == "__main__":
    for known in ("electra", "deberta-v2", "beit", "t5"):
        check(known)
