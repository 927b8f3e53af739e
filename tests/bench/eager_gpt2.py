#!/usr/bin/env python3
"""Reference of the forward benchmark: a GPT-2 shaped decoder in eager PyTorch that keeps every attention map.

Usage: eager_gpt2.py [--length T] [--runs N] [--threads N]      (Debian: python3-torch, the same OpenBLAS as LibTorch)
Prints one JSON line: median seconds of a forward pass, peak memory beyond the weights, and the GEMM rate of a 1024^3 product.
"""
import argparse
import json
import math
import resource
import statistics
import time

import torch
import torch.nn.functional as F

LAYERS, HEADS, WIDTH, VOCABULARY = 12, 12, 768, 50257


def weights(length):
    generator = torch.Generator().manual_seed(1)

    def matrix(*shape):
        return torch.randn(*shape, generator=generator) * 0.02

    layers = [{"attn": matrix(WIDTH, 3 * WIDTH), "attn_b": torch.zeros(3 * WIDTH), "proj": matrix(WIDTH, WIDTH),
               "proj_b": torch.zeros(WIDTH), "fc": matrix(WIDTH, 4 * WIDTH), "fc_b": torch.zeros(4 * WIDTH),
               "out": matrix(4 * WIDTH, WIDTH), "out_b": torch.zeros(WIDTH), "ln": torch.ones(WIDTH),
               "ln_b": torch.zeros(WIDTH)} for _ in range(LAYERS)]
    return {"wte": matrix(VOCABULARY, WIDTH), "wpe": matrix(length, WIDTH), "layers": layers,
            "ln": torch.ones(WIDTH), "ln_b": torch.zeros(WIDTH)}


def forward(w, ids):
    """Last-row logits [1, V] and the attention maps [1, H, T, T] of all layers."""
    length = ids.shape[1]
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = (w["wte"][ids] + w["wpe"][:length]).view(length, WIDTH)
    maps = []
    for layer in w["layers"]:
        y = F.layer_norm(x, (WIDTH,), layer["ln"], layer["ln_b"])
        qkv = torch.addmm(layer["attn_b"], y, layer["attn"]).view(1, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        attention = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
        maps.append(attention)
        y = (attention @ v).transpose(1, 2).reshape(length, WIDTH)
        x = x + torch.addmm(layer["proj_b"], y, layer["proj"])
        y = F.layer_norm(x, (WIDTH,), layer["ln"], layer["ln_b"])
        y = F.gelu(torch.addmm(layer["fc_b"], y, layer["fc"]), approximate="tanh")
        x = x + torch.addmm(layer["out_b"], y, layer["out"])
    x = F.layer_norm(x[-1:], (WIDTH,), w["ln"], w["ln_b"])
    return x @ w["wte"].t(), maps


def gemm_rate():
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    times = []
    for _ in range(10):
        start = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - start)
    return 2 * 1024**3 / statistics.median(times) / 1e9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    with torch.inference_mode():
        w = weights(options.length)
        ids = torch.randint(0, VOCABULARY, (1, options.length))
        before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        times = []
        for _ in range(options.runs + 1):
            start = time.perf_counter()
            kept = forward(w, ids)
            times.append(time.perf_counter() - start)
            del kept
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"length": options.length, "seconds": statistics.median(times[1:]), "seconds_all": times[1:],
                          "memory_mb": (peak_kb - before_kb) / 1024, "gemm_gflops": gemm_rate()}))


if __name__ == "__main__":
    main()
