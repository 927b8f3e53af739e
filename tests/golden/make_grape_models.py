#!/usr/bin/env python3
"""Makes the folders families/grape-*: whole models of GRAPE's authors, with random weights, in float32.

usage: make_grape_models.py REPOSITORY            (needs torch and safetensors)

REPOSITORY is a copy of github.com/model-architectures/GRAPE (f5b539f). Its modules are read without the library
transformers, with their own token shift for the CPU. Config.json has the fields of their configurations' classes, and the
weights the names that their save_pretrained gives them.
"""
import json
import pathlib
import sys
import types

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import save_file

folder = pathlib.Path(sys.argv[1]) / "model"
here = pathlib.Path(__file__).resolve().parent / "families"
maps = []


class Configuration:
    def __init__(self, **fields):
        self.__dict__.update(fields)


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()


def module(name):
    source = (folder / f"{name}.py").read_text()
    source = "\n".join(line for line in source.split("\n") if not line.startswith(("from .", "from transformers")))
    own = types.ModuleType(name)
    sys.modules[name] = own
    own.__dict__.update(parts, PretrainedConfig=Configuration, PreTrainedModel=Model,
                        init_llama_mha_weights=lambda *_, **__: None)
    exec(compile(source, name, "exec"), own.__dict__)
    return own


parts = {}
parts["RMSNorm"] = module("rmsnorm").RMSNorm
parts["ShiftLinear"] = module("kv_shift_torch").ShiftLinearTorch
plain = F.scaled_dot_product_attention


def attend(q, k, v, attn_mask=None, is_causal=False):
    logits = q @ k.mT / q.size(-1) ** 0.5
    if is_causal:
        logits = logits.masked_fill(torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    else:
        logits = logits + attn_mask
    maps.append(logits.softmax(-1)[0])
    return plain(q, k, v, attn_mask=attn_mask, is_causal=is_causal)


F.scaled_dot_product_attention = attend


def write(name, source, **own):
    theirs = module(f"llama-mha-grape-{source}")
    fields = {key: value for key, value in vars(theirs.GPTConfig).items()
              if not key.startswith("_") and isinstance(value, (bool, int, float, str, type(None)))}
    fields.update(vocab_size=30, n_layer=2, n_head=3, n_embd=24, head_dim=8, block_size=64, **own)
    config = theirs.GPTConfig(**fields)
    made = theirs.GPT(config)
    with torch.no_grad():
        for key, parameter in made.named_parameters():
            if "log_freq" in key:
                parameter.add_(torch.randn_like(parameter) * (4 if source == "m-nonctx" else 0.3))
            elif key.endswith(("omega", "bias")) or "wte" in key or "lm_head" in key:
                parameter.normal_()
            elif parameter.dim() == 1:
                parameter.copy_(1 + 0.3 * torch.randn_like(parameter))
            elif not key.endswith((".u", ".v")):
                parameter.normal_(std=(6 if "omega_proj" in key else 1.5) / parameter.size(-1) ** 0.5)
        ids = torch.randint(0, 30, (17,))
        maps.clear()
        logits = made(ids.unsqueeze(0), output_all_seq=True)[0][0]
    out = here / f"grape-{name}"
    out.mkdir(exist_ok=True)
    (out / "config.json").write_text(json.dumps(fields | {"architectures": ["GPT"]}, indent=2, sort_keys=True) + "\n")
    weights = {key: value.contiguous().clone() for key, value in made.state_dict().items()}
    save_file(weights, out / "model.safetensors")
    expected = {"input_ids": ids, "logits": logits}
    expected.update({f"layers.{n}.attention": each for n, each in enumerate(maps)})
    save_file({key: value.detach().contiguous().clone() for key, value in expected.items()},
              out / "expected.safetensors")
    for each in out.iterdir():
        each.chmod(0o644)
    print(name, sorted(weights)[:3], len(weights), logits.abs().max().item())


torch.manual_seed(8)
write("both", "a-querykeygated", use_k_shift=True, use_v_shift=True)
write("key", "a-keygated", use_qk_rmsnorm=False)
write("query", "a-querygated", use_v_shift=True)
write("path", "ap-v1", p_head_dim=6, use_k_shift=True)
write("multiplicative", "m-nonctx", use_qk_rmsnorm=False, use_v_shift=True)
write("contextual", "m-ctx", use_qk_rmsnorm=False, grape_ctx_per_head=True)
write("multiplicative-normed", "m-nonctx", use_k_shift=True)
write("contextual-normed", "m-ctx", use_v_shift=True)
