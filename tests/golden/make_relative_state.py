#!/usr/bin/env python3
"""Makes relative_state.safetensors: what the attention class of Inkling computes on random weights and inputs.

usage: make_relative_state.py OUT.safetensors      (needs torch 2.13.0, transformers 5.24.0 and safetensors)

Each case NAME holds x (T, C), the layer's input; q (H, T, D) and k, v (Hkv, T, D) as they are behind norms and
convolutions, q divided by √D, since the library's own scale is 1/D; the parameters mixing and profiles; and, with τ where
there is one, bias (H, T, T), logits (H, T, T), 0 where they are masked, weights (H, T, T) and out (H, T, D), before the
output projection. Layers with a window have no τ, and profiles as long as it. Biases and logits are computed a second
time in float64 by the loops below, within 1e-5·(1 + |·|).
"""
import math
import sys

import torch
from safetensors.torch import save_file
from transformers.models.inkling import modeling_inkling
from transformers.models.inkling.configuration_inkling import InklingTextConfig

T, C, H, D = 29, 24, 4, 16
arrays = {}


def twin(x, q, k, mixing, profiles, alpha, floor, window):
    """Bias and logits by the definition, cell by cell."""
    x, q, k, mixing, profiles = (each.double() for each in (x, q, k, mixing, profiles))
    states, extent = profiles.shape
    bias = torch.zeros(H, T, T, dtype=torch.float64)
    logits = torch.zeros(H, T, T, dtype=torch.float64)
    for h in range(H):
        for i in range(T):
            tau = 1 + alpha * math.log(max(1.0, (i + 1) / floor))
            r = mixing[h * states:(h + 1) * states] @ x[i]
            for j in range(i + 1):
                if window and i - j >= window:
                    continue
                bias[h, i, j] = tau * (r @ profiles[:, i - j]) if i - j < extent else 0
                logits[h, i, j] = tau * (q[h, i] @ k[h * k.size(0) // H, j]) / math.sqrt(D) + bias[h, i, j]
    return bias, logits


def case(name, seed, kv_heads, extent, states, window=0, alpha=0.0, floor=None):
    torch.manual_seed(seed)
    config = InklingTextConfig(
        vocab_size=32, hidden_size=C, num_hidden_layers=1, num_attention_heads=H, num_key_value_heads=kv_heads, head_dim=D,
        swa_num_attention_heads=H, swa_num_key_value_heads=kv_heads, swa_head_dim=D, sliding_window_size=window or 8, d_rel=states,
        rel_extent=extent, log_scaling_n_floor=floor, log_scaling_alpha=alpha,
        layer_types=["hybrid_sliding" if window else "hybrid"], mlp_layer_types=["dense"])
    config._attn_implementation = "eager"
    layer = modeling_inkling.InklingAttention(config, 0).eval()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=1 / math.sqrt(parameter.size(-1)) if parameter.dim() > 1 else 1.0)
    torch.nn.init.normal_(layer.rel_logits_proj.proj, std=0.7)
    x = torch.randn(1, T, C)
    apart = torch.arange(T)[:, None] - torch.arange(T)[None, :]
    hidden = (apart < 0) | (apart >= window if window else torch.zeros_like(apart, dtype=torch.bool))
    mask = torch.zeros(1, 1, T, T).masked_fill(hidden, float("-inf"))

    seen = {}
    layer.q_norm.register_forward_hook(lambda module, given, result: seen.update(q=result[0].transpose(0, 1)))
    original = modeling_inkling.eager_attention_forward

    def attend(module, query, key, value, attention_mask, scaling, position_bias=None, **rest):
        out, weights = original(module, query, key, value, attention_mask, scaling, position_bias=position_bias, **rest)
        repeated = modeling_inkling.repeat_kv(key, module.num_key_value_groups)
        seen.update(k=key[0], v=value[0], bias=position_bias[0], weights=weights[0], out=out[0].transpose(0, 1),
                    logits=(query @ repeated.transpose(2, 3) * scaling + position_bias)[0])
        return out, weights

    modeling_inkling.eager_attention_forward = attend
    with torch.no_grad():
        layer(x, mask)
    modeling_inkling.eager_attention_forward = original

    seen["q"] = seen["q"] / math.sqrt(D)
    seen["x"] = x[0]
    seen["mixing"] = layer.r_proj.weight.detach()
    seen["profiles"] = layer.rel_logits_proj.proj.detach()
    for map_name in ("bias", "logits"):
        seen[map_name] = seen[map_name].masked_fill(hidden, 0)
    own = twin(seen["x"], seen["q"], seen["k"], seen["mixing"], seen["profiles"], alpha if floor and not window else 0.0,
               floor or 1, window)
    for map_name, value in zip(("bias", "logits"), own):
        error = ((seen[map_name] - value).abs() / (1 + value.abs())).max().item()
        assert error < 1e-5, (name, map_name, error)
        print(name, map_name, f"{error:.1e}", f"largest {value.abs().max().item():.2f}")
    arrays.update({f"{name}.{part}": value.contiguous() for part, value in seen.items()})


case("whole", 1, kv_heads=4, extent=40, states=16)
case("short", 2, kv_heads=2, extent=9, states=5)
case("growing", 3, kv_heads=1, extent=12, states=6, alpha=0.3, floor=7)
case("window", 4, kv_heads=2, extent=40, states=4, window=6, alpha=0.3, floor=7)
save_file(arrays, sys.argv[1])
