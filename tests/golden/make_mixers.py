#!/usr/bin/env python3
"""Makes mixers.safetensors: what the torch functions of the transformers library (5.24) compute for layers without a
soft-max, on random inputs of 70 tokens with a state from before.

usage: make_mixers.py            (needs torch, transformers and safetensors)
"""
import pathlib

import torch
from safetensors.torch import save_file
from transformers import MiniMaxConfig
from transformers.models.bamba.modeling_bamba import mamba2_chunk_scan
from transformers.models.jamba.modeling_jamba import mamba_selective_scan
from transformers.models.kimi_linear.modeling_kimi_linear import chunk_kimi_delta_attention
from transformers.models.lfm2.modeling_lfm2 import causal_conv1d_fn, causal_conv1d_update
from transformers.models.minimax.modeling_minimax import MiniMaxLightningAttention
from transformers.models.qwen3_next.modeling_qwen3_next import torch_chunk_gated_delta_rule
from transformers.models.recurrent_gemma.modeling_recurrent_gemma import RecurrentGemmaRglru

B, T, H, D, P, C, N, K = 2, 70, 2, 8, 4, 6, 4, 4
arrays = {}


def keep(case, **tensors):
    for name, tensor in tensors.items():
        arrays[f"{case}.{name}"] = tensor.detach().float().contiguous().clone()


def unit(*shape):
    return torch.nn.functional.normalize(torch.randn(*shape), dim=-1)


def delta(case, function, decay):
    q, k, v, beta = unit(B, T, H, D), unit(B, T, H, D), torch.randn(B, T, H, P), torch.rand(B, T, H)
    before = torch.randn(B, H, D, P)
    y, after = function(q, k, v, g=decay, beta=beta, initial_state=before, output_final_state=True)
    by_head = {name: x.transpose(1, 2) for name, x in dict(q=q, k=k, v=v, beta=beta, g=decay, y=y).items()}
    keep(case, before=before, after=after, **by_head)


def ssd():
    x, delta, rate = torch.randn(B, T, H, P), torch.rand(B, T, H) * 0.2, -torch.rand(H) * 4
    key, query, skip, before = torch.randn(B, T, 1, D), torch.randn(B, T, 1, D), torch.randn(H), torch.randn(B, H, P, D)
    y, after = mamba2_chunk_scan(x, delta, rate, key, query, 16, D=skip, initial_states=before, return_final_states=True)
    keep("ssd", x=x, delta=delta, rate=rate, key=key, query=query, skip=skip, before=before, y=y, after=after)


def lightning():
    config = MiniMaxConfig(hidden_size=H * D, num_attention_heads=H, head_dim=D, num_hidden_layers=3, block_size=16,
                           layer_types=["linear_attention"] * 3)
    layer = MiniMaxLightningAttention(config, 1)
    seen = {}
    layer.qkv_proj.register_forward_hook(lambda module, inputs, output: seen.update(qkv=layer.act_fn(output)))
    layer.norm.register_forward_pre_hook(lambda module, inputs: seen.update(y=inputs[0]))
    layer(torch.randn(B, T, H * D), None, None)
    q, k, v = seen["qkv"].view(B, T, H, 3 * D).transpose(1, 2).split(D, -1)
    keep("lightning", q=q, k=k, v=v, y=seen["y"].view(B, T, H, D).transpose(1, 2), slope=layer.slope_rate.flatten())


def scan():
    x, delta, rate = torch.randn(B, C, T), torch.rand(B, C, T), -torch.rand(C, N)
    before, after, skip = torch.randn(B, N, T), torch.randn(B, N, T), torch.randn(C)
    y, state = mamba_selective_scan(x, delta, rate, before, after, D=skip, return_last_state=True)
    turned = {name: a.transpose(1, 2) for name, a in dict(x=x, delta=delta, input=before, output=after, y=y).items()}
    keep("scan", rate=rate, skip=skip, after=state, **turned)


def recurrence():
    x, decay, before = torch.randn(B, T, C), -torch.rand(B, T, C), torch.randn(B, C)
    y, after = RecurrentGemmaRglru._rnn_scan(None, x, decay.exp(), torch.zeros(B, T, 1, dtype=torch.bool), before)
    keep("recurrence", x=x, g=decay, before=before, y=y, after=after)


def convolution():
    x, weight, bias = torch.randn(B, C, T), torch.randn(C, K), torch.randn(C)
    y = causal_conv1d_fn(x, weight, bias)
    state = x[:, :, -(K - 1) :].clone()
    more = torch.randn(B, C, 1)
    then = causal_conv1d_update(more, state, weight, bias)
    turned = {name: a.transpose(1, 2) for name, a in dict(x=x, y=y, more=more, then=then, after=state).items()}
    keep("convolution", weight=weight, bias=bias, **turned)


torch.manual_seed(24)
delta("gated_delta", torch_chunk_gated_delta_rule, -torch.rand(B, T, H) * 0.5)
delta("kda", chunk_kimi_delta_attention, -5 * torch.rand(B, T, H, D) ** 4)
ssd()
lightning()
scan()
recurrence()
convolution()
save_file(arrays, pathlib.Path(__file__).parent / "mixers.safetensors", {"format": "pt"})
