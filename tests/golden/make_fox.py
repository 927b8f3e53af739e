#!/usr/bin/env python3
"""Makes what the whole models of the forgetting transformer compute: families/fox-pro, families/fox-rope,
families/forgetting_transformer and fox_models.safetensors.

usage: make_fox.py AUTHORS FLA VALUES LAYERS         (needs torch, einops and safetensors)

AUTHORS is a copy of github.com/zhixuan-lin/forgetting-transformer (883f260), FLA one of
github.com/fla-org/flash-linear-attention (bc3b101). Their modules are read as they are, without the library transformers
and with kernels for a GPU replaced by the formulas below. VALUES holds weights and logits `pro.*` and `rope.*` of the authors' code with
its kernels, and LAYERS (fla_layers.safetensors) those of FLA's layers: the replacements give the same, within 1e-5.

fox_models.safetensors: `logits.FLAGS` of the weights of fox-pro with some of its five parts, FLAGS five digits for qk_norm,
use_output_gate, use_output_norm, use_k_shift and use_v_shift.
"""
import json
import pathlib
import sys
import types

import torch
import torch.nn as nn
from safetensors.torch import load_file, save_file

authors, fla, values, layers = map(pathlib.Path, sys.argv[1:5])
here = pathlib.Path(__file__).resolve().parent
maps = []  # of the attention, as it is computed


def attention(q, k, v, g):
    """Heads first: q (B, H, T, D), k, v (B, Hkv, T, D), g (B, H, T)."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    sums = g.cumsum(-1)
    logits = q @ k.mT / q.shape[-1] ** 0.5 + sums.unsqueeze(-1) - sums.unsqueeze(-2)
    later = torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1)
    maps.append(logits.masked_fill(later, -torch.inf).softmax(-1))
    return maps[-1] @ v


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-5, **_):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(hidden_size)), eps

    def forward(self, x, residual=None, prenorm=False):
        x = x if residual is None else x + residual
        normed = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight
        return (normed, x) if prenorm else normed


class GroupNorm(nn.Module):
    def __init__(self, num_groups, hidden_size, eps=1e-5, is_rms_norm=False, activation=None):
        super().__init__()
        assert is_rms_norm and activation in (None, "sigmoid")
        self.weight, self.eps, self.groups = nn.Parameter(torch.ones(hidden_size)), eps, num_groups

    def forward(self, x, g=None):
        heads = x.unflatten(-1, (self.groups, -1))
        normed = (heads * torch.rsqrt(heads.square().mean(-1, keepdim=True) + self.eps)).flatten(-2) * self.weight
        return normed if g is None else normed * g.sigmoid()


def token_shift(x, before, own):
    return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1) * before.unsqueeze(-1) + x * own.unsqueeze(-1)


class Rotary(nn.Module):
    def __init__(self, width, base):
        super().__init__()
        self.rates = base ** -(torch.arange(0, width, 2).double() / width)

    def forward(self, q, k, *_):
        angles = (torch.arange(q.shape[1]).double().unsqueeze(1) * self.rates).unsqueeze(1)  # (T, 1, D/2)
        cos, sin = angles.cos().float(), angles.sin().float()

        def turn(x):
            a, b = x.chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

        return turn(q), turn(k)


class Configuration:
    def __init__(self, **fields):
        self.__dict__.update(fields, output_attentions=False, output_hidden_states=False, use_return_dict=True)


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    def post_init(self):
        pass


class Outcome(types.SimpleNamespace):
    def __getitem__(self, _):
        return self.last_hidden_state


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__path__ = []
    module.__dict__.update(members)
    sys.modules[name] = module


def run(path, package):
    module = types.ModuleType(f"{package}.{path.stem}")
    module.__package__ = package
    sys.modules[module.__name__] = module
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


class Ignored:
    def __init__(self, *_, **__):
        pass


logging = types.SimpleNamespace(get_logger=lambda *_: None)
for name in ("transformers", "transformers.utils", "fla", "fla.layers", "fla.models", "fla.ops", "fla.ops.attn",
             "fla.ops.forgetting_attn", "fla.models.forgetting_transformer", "forgetting_transformer",
             "forgetting_transformer.ops", "fox"):
    stand_in(name, logging=logging)
stand_in("transformers.configuration_utils", PretrainedConfig=Configuration)
stand_in("transformers.activations", ACT2FN={"swish": torch.nn.functional.silu})
stand_in("transformers.cache_utils", Cache=Ignored)
stand_in("transformers.modeling_outputs", BaseModelOutputWithPast=Outcome, CausalLMOutputWithPast=Outcome)
stand_in("transformers.modeling_utils", PreTrainedModel=Model)
stand_in("transformers.modeling_layers", GradientCheckpointingLayer=nn.Module)
stand_in("transformers.utils.deprecation", deprecate_kwarg=lambda *_, **__: lambda function: function)
gated = lambda act: lambda x, y, weight, bias: nn.functional.linear(act(x) * y, weight, bias)
stand_in("fox.fgate_cache", FgateDynamicCache=Ignored)
stand_in("fox.glu_linear", glu_linear=gated(torch.sigmoid), swiglu_linear=gated(nn.functional.silu))
stand_in("fox.token_shift", token_shift=token_shift)
stand_in("fox.layernorm", GroupNorm=GroupNorm, RMSNorm=RMSNorm)
stand_in("fox.fuse_norm_gate", FusedGroupNormGated=GroupNorm)
stand_in("fox.fused_cross_entropy", FusedCrossEntropyLoss=Ignored)
stand_in("fox.rotary", RotaryEmbedding=Rotary)
stand_in("forgetting_transformer.ops.forgetting_attention",
         forgetting_attention=lambda q, k, v, g, **_: attention(q, k, v, g))
folder = authors / "src/forgetting_transformer/model/forgetting_transformer"
sys.modules["fox.configuration_forgetting_transformer"] = run(folder / "configuration_forgetting_transformer.py", "fox")
fox = run(folder / "modeling_forgetting_transformer.py", "fox")


class GatedMLP(nn.Module):
    """fla/modules/mlp.py without its kernels."""
    def __init__(self, hidden_size, intermediate_size, **_):
        super().__init__()
        linear = lambda *sizes: nn.Linear(*sizes, bias=False)
        self.gate_proj, self.up_proj = linear(hidden_size, intermediate_size), linear(hidden_size, intermediate_size)
        self.down_proj = linear(intermediate_size, hidden_size)

    def forward(self, x, **_):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


stand_in("fla.layers.utils", pad_input=None, unpad_input=None)
stand_in("fla.modules", GroupNorm=GroupNorm, RMSNorm=RMSNorm, GatedMLP=GatedMLP, FusedCrossEntropyLoss=None,
         FusedLinearCrossEntropyLoss=None)
stand_in("fla.modules.l2warp", l2_warp=None)
stand_in("fla.ops.attnres", fused_attnres=None)
stand_in("fla.ops.attn.decoding", attn_decoding_one_step=None)
stand_in("fla.models.utils", Cache=Ignored, FLAGenerationMixin=Ignored)
stand_in("fla.ops.forgetting_attn.parallel", parallel_forgetting_attn=lambda q, k, v, g, **_: attention(
    q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), g.transpose(1, 2)).transpose(1, 2))
sys.modules["fla.layers.forgetting_attn"] = layer = run(fla / "fla/layers/forgetting_attn.py", "fla.layers")
theirs = "fla.models.forgetting_transformer"
sys.modules[f"{theirs}.configuration_forgetting_transformer"] = run(
    fla / "fla/models/forgetting_transformer/configuration_forgetting_transformer.py", theirs)
fla_fox = run(fla / "fla/models/forgetting_transformer/modeling_forgetting_transformer.py", theirs)


def near(got, want):
    worst = ((got - want).abs() / (1 + want.abs())).max().item()
    assert worst < 1e-5, worst


def compute(made, ids):
    maps.clear()
    with torch.no_grad():
        logits = made(input_ids=ids.unsqueeze(0), use_cache=False).logits[0]
    return logits, [each[0].clone() for each in maps]


def write(name, config, weights, ids, logits, attentions):
    out = here / "families" / name
    out.mkdir(exist_ok=True)
    (out / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    save_file({key: value.contiguous() for key, value in weights.items()}, out / "model.safetensors")
    expected = {"input_ids": ids, "logits": logits}
    expected.update({f"layers.{n}.attention": each.contiguous() for n, each in enumerate(attentions)})
    save_file({key: value.contiguous() for key, value in expected.items()}, out / "expected.safetensors")


stored = load_file(values)
pro = {name.removeprefix("pro.w."): value for name, value in stored.items() if name.startswith("pro.w.")}
ids = stored["pro.input_ids"]
config = json.loads((here / "families/fox/config.json").read_text())
parts = ["qk_norm", "use_output_gate", "use_output_norm", "use_k_shift", "use_v_shift"]


def with_parts(flags):
    own = config | dict(zip(parts, flags))
    made = fox.ForgettingTransformerForCausalLM(fox.ForgettingTransformerConfig(**own))
    weights = {}
    for name in made.state_dict():
        matrix = name.replace("_proj.weight", "_proj.linear.weight")
        weights[name] = pro[name] if name in pro else pro[matrix]
    made.load_state_dict(weights)
    return own, weights, *compute(made, ids)


own, weights, logits, attentions = with_parts([True] * 5)
near(logits, stored["pro.logits"])
write("fox-pro", own | {"qk_norm_share_param_across_head": False, "log_pruning_tolerance": None}, weights, ids,
      stored["pro.logits"], attentions)
turning = config | {"use_rope": True}
weights = {name.removeprefix("rope.w."): value for name, value in stored.items() if name.startswith("rope.w.")}
made = fox.ForgettingTransformerForCausalLM(fox.ForgettingTransformerConfig(**turning))
made.load_state_dict(weights)
logits, attentions = compute(made, stored["rope.input_ids"])
near(logits, stored["rope.logits"])
write("fox-rope", turning, weights, stored["rope.input_ids"], stored["rope.logits"], attentions)
some = {}
for n in range(5):
    for flags in ([k == n for k in range(5)], [k != n for k in range(5)]):
        some["logits." + "".join(str(int(flag)) for flag in flags)] = with_parts(flags)[2].contiguous()
some["logits.11111"], some["logits.00000"] = stored["pro.logits"], with_parts([False] * 5)[2].contiguous()
save_file(some, here / "fox_models.safetensors")

known = load_file(layers)
made = layer.ForgettingAttention(32, 2, qk_norm=True, use_output_gate=True)
made.load_state_dict({name.removeprefix("fox_gated.w."): value for name, value in known.items()
                      if name.startswith("fox_gated.w.")})
with torch.no_grad():
    near(made(known["fox_gated.x"].unsqueeze(0))[0][0], known["fox_gated.out"])

torch.manual_seed(7)
config = {"architectures": ["ForgettingTransformerForCausalLM"], "attnres_block_size": None, "bos_token_id": 1,
          "elementwise_affine": True, "eos_token_id": 2, "fuse_cross_entropy": True, "fuse_linear_cross_entropy": False,
          "fuse_norm": True, "fuse_swiglu": True, "hidden_act": "swish", "hidden_ratio": 4, "hidden_size": 24,
          "initializer_range": 0.02, "intermediate_size": 40, "model_type": "forgetting_transformer", "norm_eps": 1e-6,
          "num_heads": 4, "num_hidden_layers": 2, "num_kv_heads": 2, "pad_token_id": None, "qk_norm": True,
          "qkv_bias": False, "tie_word_embeddings": False, "use_cache": True, "use_l2warp": False,
          "use_output_gate": True, "vocab_size": 44, "window_size": None}
made = fla_fox.ForgettingTransformerForCausalLM(fla_fox.ForgettingTransformerConfig(**config))
for name, parameter in made.named_parameters():
    with torch.no_grad():
        wide = 1.0 if "embeddings" in name or "bias" in name else 1.5 / parameter.shape[-1] ** 0.5
        norm = "norm" in name
        parameter.copy_(1 + 0.3 * torch.randn_like(parameter) if norm else wide * torch.randn_like(parameter))
ids = torch.randint(3, 44, (27,))
write("forgetting_transformer", config, dict(made.state_dict()), ids, *compute(made, ids))
