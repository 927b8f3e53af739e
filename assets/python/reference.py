"""Computes what a checkpoint gives by other code than Locus, for `locus verify` to compare with.

    python3 reference.py FOLDER [--text TEXT | --ids 1,2,3 | --image FILE] [--out FILE]
    locus verify FOLDER

Where Hugging Face's transformers is installed, its own class of the model computes; it opens whatever that class opens, but
never runs code of the folder. Without it, PyTorch alone computes GPT-2 and Llama's relatives (`llama`, `mistral`, `qwen2`) in
float64, by the formulas below. Written are the input, logits [T, V] (or hidden [T, C]) and the attention maps
layers.N.attention [H, T, T], as FOLDER/expected.safetensors. locus_trace.py lies beside this file.
"""

import argparse
import json
import math
import os
import sys

import torch

from locus_trace import TraceError, read_header, write_safetensors

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
DEFAULT_TOKENS = 24


class NoReference(RuntimeError):
    """A checkpoint or an input that has no reference here; the text says what was expected and found."""


# ---- reading a folder without transformers ----


def read_file(path):
    """The floating-point tensors of a safetensors file, in float64."""
    header, _ = read_header(path)
    tensors = {}
    with open(path, "rb") as file:
        begin = os.path.getsize(path) - max((info["data_offsets"][1] for info in header.values()), default=0)
        for name, info in header.items():
            if info["dtype"] in DTYPES and info["data_offsets"][1] > info["data_offsets"][0]:
                file.seek(begin + info["data_offsets"][0])
                data = bytearray(file.read(info["data_offsets"][1] - info["data_offsets"][0]))
                tensors[name] = torch.frombuffer(data, dtype=DTYPES[info["dtype"]]).view(info["shape"]).double()
    return tensors


def read_weights(folder):
    index = os.path.join(folder, "model.safetensors.index.json")
    if not os.path.exists(index):
        return read_file(os.path.join(folder, "model.safetensors"))
    with open(index, encoding="utf-8") as file:
        shards = sorted(set(json.load(file)["weight_map"].values()))
    tensors = {}
    for shard in shards:
        if os.path.isabs(shard) or ".." in shard.split("/"):
            raise NoReference(f"{index}: expected files beside the index, found {shard}")
        tensors.update(read_file(os.path.join(folder, shard)))
    return tensors


class Weights:
    """Tensors by name, with or without the prefix of the whole model."""

    def __init__(self, tensors, prefix):
        self.tensors, self.prefix = tensors, prefix

    def find(self, name):
        return self.tensors.get(self.prefix + name, self.tensors.get(name))

    def __call__(self, name):
        tensor = self.find(name)
        if tensor is None:
            raise NoReference(f"weights: expected {name}, found none")
        return tensor


def expect(config, name, *known):
    if config.get(name) not in known:
        raise NoReference(f"config.json: {name}: expected {', '.join(map(repr, known))}, found {config.get(name)!r}; "
                              "transformers would know it")


# ---- GPT-2: Radford et al. 2019 ----


def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt(centred.pow(2).mean(-1, keepdim=True) + eps) * weight + bias


def attention_map(query, key, scale):
    """Rows of soft-max over earlier keys: [H, T, T] of [H, T, D] and [H, T, D]."""
    scores = query @ key.transpose(1, 2) * scale
    later = torch.ones(scores.shape[1:], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(later, -math.inf), dim=-1)


def gpt2(config, tensors, ids):
    for name, known in (("activation_function", (None, "gelu_new")), ("scale_attn_weights", (None, True)),
                        ("scale_attn_by_inverse_layer_idx", (None, False)), ("add_cross_attention", (None, False))):
        expect(config, name, *known)
    w, heads, eps = Weights(tensors, "transformer."), config["n_head"], config.get("layer_norm_epsilon", 1e-5)
    x = w("wte.weight")[ids] + w("wpe.weight")[: len(ids)]
    length, width = x.shape
    maps = {}
    for n in range(config["n_layer"]):
        name = f"h.{n}."
        normed = layer_norm(x, w(name + "ln_1.weight"), w(name + "ln_1.bias"), eps)
        joined = normed @ w(name + "attn.c_attn.weight") + w(name + "attn.c_attn.bias")
        query, key, value = (part.view(length, heads, -1).transpose(0, 1) for part in joined.split(width, 1))
        maps[f"layers.{n}.attention"] = attention_map(query, key, (width // heads) ** -0.5)
        mixed = (maps[f"layers.{n}.attention"] @ value).transpose(0, 1).reshape(length, width)
        x = x + mixed @ w(name + "attn.c_proj.weight") + w(name + "attn.c_proj.bias")
        normed = layer_norm(x, w(name + "ln_2.weight"), w(name + "ln_2.bias"), eps)
        inner = normed @ w(name + "mlp.c_fc.weight") + w(name + "mlp.c_fc.bias")
        inner = 0.5 * inner * (1 + torch.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner ** 3)))
        x = x + inner @ w(name + "mlp.c_proj.weight") + w(name + "mlp.c_proj.bias")
    x = layer_norm(x, w("ln_f.weight"), w("ln_f.bias"), eps)
    head = w.find("lm_head.weight")
    return {"logits": x @ (head if head is not None else w("wte.weight")).T, **maps}


# ---- Llama: Touvron et al. 2023; RoPE: Su et al. 2021, halves as rotate_half has them ----


def rms_norm(x, weight, eps):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def frequencies(config, width):
    rope = config.get("rope_parameters") or {}
    scaling = config.get("rope_scaling") or (rope if rope.get("rope_type", "default") != "default" else {})
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    base = config.get("rope_theta", rope.get("rope_theta", 10000.0))
    turns = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    if kind == "linear":
        return turns / scaling["factor"]
    if kind == "llama3":
        wavelength = 2 * math.pi / turns
        room, low, high = (scaling[name] for name in ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor"))
        smooth = ((room / wavelength - low) / (high - low)).clamp(0, 1)
        return (1 - smooth) * turns / scaling["factor"] + smooth * turns
    if kind != "default":
        raise NoReference(f"config.json: rope_scaling: expected linear or llama3, found {kind}; transformers would know it")
    return turns


def rotated(x, angles):
    first, second = x.chunk(2, -1)
    return torch.cat((first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()), -1)


def llama(config, tensors, ids):
    for name, known in (("hidden_act", (None, "silu")), ("partial_rotary_factor", (None, 1, 1.0))):
        expect(config, name, *known)
    window = config.get("sliding_window") if config.get("use_sliding_window", True) else None
    if window is not None and window < len(ids):
        raise NoReference(f"expected at most {window} tokens, the window, found {len(ids)}; transformers would know it")
    w, heads, eps = Weights(tensors, "model."), config["num_attention_heads"], config.get("rms_norm_eps", 1e-6)
    width = config.get("head_dim") or config["hidden_size"] // heads
    groups = heads // (config.get("num_key_value_heads") or heads)
    x = w("embed_tokens.weight")[ids]
    length = len(ids)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies(config, width)

    def project(name, normed):
        bias = w.find(name + ".bias")
        out = normed @ w(name + ".weight").T
        return (out if bias is None else out + bias).view(length, -1, width).transpose(0, 1)

    maps = {}
    for n in range(config["num_hidden_layers"]):
        name = f"layers.{n}."
        normed = rms_norm(x, w(name + "input_layernorm.weight"), eps)
        query, key = (rotated(project(name + part, normed), angles) for part in ("self_attn.q_proj", "self_attn.k_proj"))
        value = project(name + "self_attn.v_proj", normed)
        key, value = (each.repeat_interleave(groups, 0) for each in (key, value))
        maps[f"layers.{n}.attention"] = attention_map(query, key, width ** -0.5)
        mixed = (maps[f"layers.{n}.attention"] @ value).transpose(0, 1).reshape(length, -1)
        bias = w.find(name + "self_attn.o_proj.bias")
        x = x + mixed @ w(name + "self_attn.o_proj.weight").T + (0 if bias is None else bias)
        normed = rms_norm(x, w(name + "post_attention_layernorm.weight"), eps)
        gate, up = (normed @ w(name + f"mlp.{part}_proj.weight").T for part in ("gate", "up"))
        x = x + (gate * torch.sigmoid(gate) * up) @ w(name + "mlp.down_proj.weight").T
    x = rms_norm(x, w("norm.weight"), eps)
    head = w.find("lm_head.weight")
    return {"logits": x @ (head if head is not None else w("embed_tokens.weight")).T, **maps}


FAMILIES = {"gpt2": gpt2, "llama": llama, "mistral": llama, "qwen2": llama}


def default_ids(vocabulary):
    """Ids that differ from each other in no simple way."""
    return [(7919 * n + 11) % vocabulary for n in range(DEFAULT_TOKENS)]


def by_torch(folder, config, options):
    if options.text is not None or options.image is not None:
        raise NoReference("--text and --image need transformers; without it: --ids, or nothing")
    family = config.get("model_type")
    if family not in FAMILIES:
        raise NoReference(f"model_type: expected one of {', '.join(FAMILIES)}, found {family}; with transformers, any")
    ids = options.ids or default_ids(config["vocab_size"])
    if not all(0 <= token < config["vocab_size"] for token in ids):
        raise NoReference(f"--ids: expected 0 to {config['vocab_size'] - 1}, found {max(ids, key=abs)}")
    return {"input_ids": torch.tensor(ids), **FAMILIES[family](config, read_weights(folder), torch.tensor(ids))}


# ---- with transformers ----


def open_model(transformers, folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    named = (getattr(config, "architectures", None) or [""])[0]
    kind = getattr(transformers, named, None) or transformers.AutoModel
    version = tuple(int(part) for part in transformers.__version__.split(".")[:2])
    dtype = "dtype" if version >= (4, 56) else "torch_dtype"
    return config, kind.from_pretrained(folder, attn_implementation="eager", **{dtype: torch.float32}).eval()


def inputs_of(transformers, folder, config, options):
    if options.image is not None:
        from PIL import Image
        with Image.open(options.image) as image:
            pixels = transformers.AutoImageProcessor.from_pretrained(folder)(images=image.convert("RGB"), return_tensors="pt")
        return {"pixel_values": pixels["pixel_values"].float()}
    if options.text is not None:
        ids = transformers.AutoTokenizer.from_pretrained(folder)(options.text)["input_ids"]
    else:
        ids = options.ids or default_ids(config.vocab_size)
    inputs = {"input_ids": torch.tensor([ids])}
    if getattr(config, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = torch.tensor([[config.decoder_start_token_id or 0] + ids[:7]])
    return inputs


def maps_of(maps, name):
    if maps is None or any(each is None for each in maps):
        raise NoReference("expected the model to return its attention maps (attn_implementation=\"eager\"), found none")
    return {name.format(n): each[0] for n, each in enumerate(maps)}


def by_transformers(transformers, folder, options):
    config, model = open_model(transformers, folder)
    inputs = inputs_of(transformers, folder, config, options)
    with torch.no_grad():
        output = model(**inputs, output_attentions=True)
    tensors = {name: value[0] for name, value in inputs.items()}
    logits = getattr(output, "logits", None)
    tensors.update({"logits": logits[0]} if logits is not None else {"hidden": output.last_hidden_state[0]})
    if getattr(config, "is_encoder_decoder", False):
        tensors["encoder.hidden"] = output.encoder_last_hidden_state[0]
        tensors.update(maps_of(output.encoder_attentions, "encoder.layers.{}.attention"))
        tensors.update(maps_of(output.decoder_attentions, "decoder.layers.{}.attention"))
        tensors.update(maps_of(output.cross_attentions, "decoder.layers.{}.cross_attention"))
    else:
        tensors.update(maps_of(output.attentions, "layers.{}.attention"))
    return tensors


# ---- the command ----


def stored(tensor):
    return tensor.to(torch.float32 if tensor.is_floating_point() else torch.int64)


def run(options):
    with open(os.path.join(options.folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    try:
        import transformers
    except ImportError:
        transformers = None
    if transformers is None:
        code, tensors = f"PyTorch {torch.__version__}, reference.py", by_torch(options.folder, config, options)
    else:
        code, tensors = f"transformers {transformers.__version__}", by_transformers(transformers, options.folder, options)
    out = options.out or os.path.join(options.folder, "expected.safetensors")
    write_safetensors(out, {name: stored(tensor) for name, tensor in tensors.items()}, {"reference": code})
    return out, code


def ids_in(text):
    return [int(word) for word in text.replace(",", " ").split()]


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Writes what a checkpoint gives by other code, for locus verify.")
    parser.add_argument("folder", help="a checkpoint: a folder with config.json")
    given = parser.add_mutually_exclusive_group()
    given.add_argument("--text", help="the input as text (needs transformers)")
    given.add_argument("--ids", type=ids_in, help="the input as ids: 1,2,3")
    given.add_argument("--image", help="the input as an image (needs transformers and Pillow)")
    parser.add_argument("--out", help="the file (default FOLDER/expected.safetensors)")
    try:
        out, code = run(parser.parse_args(arguments))
    except (NoReference, TraceError, OSError, ValueError, KeyError) as error:
        print(f"reference.py: error: {'config.json: expected ' if isinstance(error, KeyError) else ''}{error}", file=sys.stderr)
        return 1
    print(f"{out}: by {code}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
