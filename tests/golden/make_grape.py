#!/usr/bin/env python3
"""Makes grape.safetensors: what the attention layers of GRAPE's authors compute in float64, on random inputs.

usage: make_grape.py REPOSITORY            (needs torch and safetensors)

REPOSITORY is a copy of github.com/model-architectures/GRAPE (f5b539f). Its classes hold frequencies and gates in float32:
here their sources are read with float64 in its place, and without the parts of the library transformers, which the
layers do not use. Queries, keys and the bias are those that reach the soft-max. Each case is computed a second time by
the formulas below, written down here, within 1e-12.
"""
import math
import pathlib
import sys
import types

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

folder = pathlib.Path(sys.argv[1]) / "model"
arrays = {}
T = 21


class Nothing:
    pass


def module(name):
    source = (folder / ("rmsnorm.py" if name == "rmsnorm" else f"llama-mha-grape-{name}.py")).read_text()
    source = "\n".join(line for line in source.split("\n") if not line.startswith(("from .", "from transformers")))
    source = source.replace("torch.float32", "torch.float64").replace(".float()", ".double()")
    own = types.ModuleType(name)
    own.__dict__.update(RMSNorm=None if name == "rmsnorm" else module("rmsnorm").RMSNorm, ShiftLinear=None, init_llama_mha_weights=None, PretrainedConfig=Nothing,
                        PreTrainedModel=Nothing)
    sys.modules[name] = own
    exec(compile(source, name, "exec"), own.__dict__)
    return own


def layer(name, heads, width, normed=False, **options):
    config = types.SimpleNamespace(n_head=heads, n_embd=heads * width, head_dim=width, n_layer=2, use_qk_rmsnorm=normed,
                                   using_groupnorm=False, **options)
    made = module(name).CausalSelfAttention(config).double()
    for parameter in made.parameters():
        if parameter.dim() == 2 and parameter.size(1) == heads * width:
            torch.nn.init.normal_(parameter, std=1 / math.sqrt(heads * width))
    return made


def run(made, x):
    """Outputs of the soft-max (H, T, D), and the logits (H, T, T) that it has, 0 where they are masked."""
    seen = {}
    original = F.scaled_dot_product_attention

    def attend(q, k, v, attn_mask=None, is_causal=False, **rest):
        y = original(q, k, v, attn_mask=attn_mask, is_causal=is_causal, **rest)
        logits = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
        seen.update(logits=logits if attn_mask is None else logits + attn_mask, out=y)
        return y

    F.scaled_dot_product_attention = attend
    try:
        made(x.unsqueeze(0))
    finally:
        F.scaled_dot_product_attention = original
    return seen["logits"][0].masked_fill(~torch.ones(T, T, dtype=bool).tril(), 0), seen["out"][0]


def keep(case, made, x, twin, **weights):
    heads = made.n_head
    logits, out = run(made, x)
    split = lambda y: y.view(T, heads, -1).transpose(0, 1)
    q, k, v = split(made.c_q(x)), split(made.c_k(x)), split(made.c_v(x))
    own = torch.tril(twin(q, k))
    assert (own - logits).abs().max() < 1e-12, (case, (own - logits).abs().max())
    for name, tensor in dict(x=x, q=q, k=k, v=v, logits=logits, out=out, **weights).items():
        arrays[f"{case}.{name}"] = tensor.detach().double().contiguous().clone()


def turned(q, k, places, rates):
    """⟨R(p_i) q_i, R(p_j) k_j⟩/√D with pairs (m, m + D/2) as complex numbers that turn by −p·θ."""
    m = q.size(-1) // 2
    turn = torch.polar(torch.ones(T, m, dtype=torch.float64), -places.unsqueeze(-1) * rates)
    a = torch.complex(q[..., :m], q[..., m:]) * turn
    b = torch.complex(k[..., :m], k[..., m:]) * turn
    return torch.einsum("him,hjm->hij", a, b.conj()).real / math.sqrt(2 * m)


def slopes(heads):
    power = 2 ** int(math.log2(heads))
    first = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    between = [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1)]
    return torch.tensor((first + between[::2])[:heads], dtype=torch.float64)


def softplus(x):
    return torch.log1p(torch.exp(x))


torch.manual_seed(63)
index = torch.arange(T, dtype=torch.float64)
distance = index.unsqueeze(1) - index

x = torch.randn(T, 3 * 8, dtype=torch.float64)
m = layer("m-nonctx", 3, 8)
m.grape.log_freq.data += torch.randn(4, dtype=torch.float64) * 4
keep("multiplicative", m, x, lambda q, k: turned(q, k, index, (m.grape.log_freq / 16).exp()), log_frequencies=m.grape.log_freq)

for case, per_head in (("contextual", False), ("clocks", True)):
    c = layer("m-ctx", 3, 8, grape_ctx_per_head=per_head)
    c.grape.log_freq.data += torch.randn(4, dtype=torch.float64) * 0.3
    torch.nn.init.normal_(c.omega_proj.weight, std=4)
    omega = torch.sigmoid((x @ c.omega_proj.weight.T + c.omega_proj.bias) / 16)
    phase = torch.cumsum(omega, 0) - omega

    def by_clock(q, k, c=c, phase=phase):
        rates = c.grape.log_freq.exp()
        return torch.cat([turned(q[h : h + 1], k[h : h + 1], phase[:, h % phase.size(1)], rates) for h in range(3)])

    keep(case, c, x, by_clock, log_frequencies=c.grape.log_freq, clock=c.omega_proj.weight, clock_bias=c.omega_proj.bias,
         phase=phase.T.expand(3, T))

for case, name in (("key", "a-keygated"), ("query", "a-querygated"), ("both", "a-querykeygated")):
    a = layer(name, 3, 8)
    bias = next(part for part in a.children() if hasattr(part, "omega"))
    bias.omega.data += torch.randn(3, dtype=torch.float64)

    def by_distance(q, k, bias=bias, case=case):
        along = lambda y, u: softplus((y * (u / u.norm(dim=-1, keepdim=True)).unsqueeze(1)).sum(-1) / math.sqrt(8))
        rate = torch.zeros(3, T, T, dtype=torch.float64)
        rate = rate + along(q, bias.v).unsqueeze(2) if case != "key" else rate
        rate = rate + along(k, bias.u).unsqueeze(1) if case != "query" else rate
        factor = (softplus(bias.omega) * slopes(3)).view(3, 1, 1)
        return q @ k.transpose(-1, -2) / math.sqrt(8) - distance * factor * rate

    directions = {n: getattr(bias, s) for n, s in (("key_direction", "u"), ("query_direction", "v")) if hasattr(bias, s)}
    keep(case, a, x, by_distance, rate=bias.omega, **directions)

p = layer("ap-v1", 3, 8, p_head_dim=4)


def by_path(q, k):
    own = p.c_p(x).view(T, 3, 4).transpose(0, 1)
    there = own / (own.square().mean(-1, keepdim=True) + torch.finfo(torch.float64).eps).sqrt()
    turn = torch.polar(torch.ones(T, 1, dtype=torch.float64), -index.unsqueeze(-1))
    there = torch.complex(there[..., :2], there[..., 2:]) * turn
    there = torch.cat([there.real, there.imag], -1)
    gates = F.logsigmoid(own @ there.transpose(-1, -2) / 4) * slopes(3).view(3, 1, 1)
    total = torch.zeros(3, T, T, dtype=torch.float64)
    for i in range(T):
        for j in range(i + 1):
            total[:, i, j] = gates[:, i, j + 1 : i + 1].sum(-1)
    return q @ k.transpose(-1, -2) / math.sqrt(8) + total


keep("path", p, x, by_path, path=p.c_p.weight)


def turned_and_normed(made, q, k, places, rates):
    """The same with both sides divided by √(mean x² + ε) before they turn, and times their weights behind it."""
    out = []
    for y, weight in ((q, made.q_rms.weight), (k, made.k_rms.weight)):
        m = y.size(-1) // 2
        y = y / (y.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        y = torch.complex(y[..., :m], y[..., m:])
        y = y * torch.polar(torch.ones(T, m, dtype=torch.float64), -places.unsqueeze(-1) * rates)
        out.append(torch.cat([y.real, y.imag], -1) * weight)
    return out[0] @ out[1].transpose(-1, -2) / math.sqrt(q.size(-1))


for case, source in (("multiplicative-normed", "m-nonctx"), ("clocks-normed", "m-ctx")):
    n = layer(source, 3, 8, normed=True, grape_ctx_per_head=True)
    n.grape.log_freq.data += torch.randn(4, dtype=torch.float64) * (4 if source == "m-nonctx" else 0.3)
    for norm in (n.q_rms, n.k_rms):
        norm.weight.data += torch.randn(8, dtype=torch.float64) * 0.4
    weights = dict(log_frequencies=n.grape.log_freq, query_norm=n.q_rms.weight, key_norm=n.k_rms.weight)
    places, rates = index, (n.grape.log_freq / 16).exp()
    if source == "m-ctx":
        torch.nn.init.normal_(n.omega_proj.weight, std=4)
        omega = torch.sigmoid((x @ n.omega_proj.weight.T + n.omega_proj.bias) / 16)
        places, rates = (torch.cumsum(omega, 0) - omega).T, n.grape.log_freq.exp()
        weights.update(clock=n.omega_proj.weight, clock_bias=n.omega_proj.bias, phase=places)
    keep(case, n, x, lambda q, k: turned_and_normed(n, q, k, places, rates), **weights)
save_file(arrays, pathlib.Path(__file__).parent / "grape.safetensors", {"format": "pt"})
