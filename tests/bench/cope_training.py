#!/usr/bin/env python3
"""Training benchmark: a 2-layer, 64-wide CoPE model on 128-token flip-flop, `locus train` against the same model in eager
PyTorch, one after the other with as many threads.

Usage: cope_training.py LOCUS [--steps N] [--batch B] [--threads N] [--least RATIO]
(Debian: python3-torch, the same LibTorch and OpenBLAS.) Prints one JSON line: steps per second of both and their ratio;
exits with 1 when the ratio is below --least.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

LAYERS, HEADS, WIDTH, INNER, LENGTH, P_MAX = 2, 2, 64, 176, 128, 64


def flip_flop(torch, batch, generator):
    """Tokens and targets as the task draws them: instructions w, i, r with 0.1, 0.8, 0.1; every read is an answer."""
    pairs = LENGTH // 2
    kind = torch.multinomial(torch.tensor([0.1, 0.8, 0.1]), batch * pairs, True, generator=generator).view(batch, pairs)
    kind[:, 0], kind[:, -1] = 0, 2
    bits = torch.randint(0, 2, (batch, pairs), generator=generator)
    place = torch.where(kind == 0, torch.arange(pairs), torch.tensor(0)).cummax(1).values
    bits = torch.where(kind == 2, bits.gather(1, place), bits)
    symbols = torch.stack([torch.tensor([ord(c) for c in "wir"])[kind], bits + ord("0")], -1).flatten(1)
    targets = torch.full((batch, LENGTH), -100)
    targets[:, 0::2] = torch.where(kind == 2, symbols[:, 1::2], torch.tensor(-100))
    return symbols[:, :-1], targets[:, :-1]


def eager(steps, batch, threads):
    """Steps per second of the model in eager PyTorch; CoPE as in Listing 1 of its paper."""
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(1)

    def matrix(*shape):
        return (torch.randn(*shape) * 0.02).requires_grad_()

    def norm():
        return torch.ones(WIDTH, requires_grad=True)

    layers = [{"norm": norm(), "qkv": matrix(3 * WIDTH, WIDTH), "out": matrix(WIDTH, WIDTH), "norm2": norm(),
               "gate": matrix(INNER, WIDTH), "up": matrix(INNER, WIDTH), "down": matrix(WIDTH, INNER)}
              for _ in range(LAYERS)]
    embedding, final = matrix(256, WIDTH), norm()
    positions = torch.zeros(WIDTH // HEADS, P_MAX + 1, requires_grad=True)
    parameters = [embedding, final, positions] + [p for layer in layers for p in layer.values()]
    optimiser = torch.optim.AdamW(parameters, lr=1e-3, betas=(0.9, 0.95))
    mask = torch.full((LENGTH - 1, LENGTH - 1), float("-inf")).triu(1)

    def rms(x, weight):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight

    def cope(q, logits):
        gates = torch.sigmoid(logits + mask)  # the mask closes the gates of hidden keys
        p = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=P_MAX)
        ceil, floor = p.ceil().long(), p.floor().long()
        z = q @ positions
        part = p - floor
        return z.gather(-1, ceil) * part + z.gather(-1, floor) * (1 - part)

    def step():
        ids, targets = flip_flop(torch, batch, generator)
        x = embedding[ids]
        for layer in layers:
            y = rms(x, layer["norm"])
            q, k, v = (y @ layer["qkv"].t()).view(batch, -1, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            logits = q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
            weights = (logits + cope(q, logits) + mask).softmax(-1)
            x = x + (weights @ v).transpose(1, 2).reshape(batch, -1, WIDTH) @ layer["out"].t()
            y = rms(x, layer["norm2"])
            x = x + (F.silu(y @ layer["gate"].t()) * (y @ layer["up"].t())) @ layer["down"].t()
        loss = F.cross_entropy((rms(x, final) @ embedding.t()).flatten(0, 1), targets.flatten())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        return loss.item()

    for _ in range(5):
        step()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return steps / (time.perf_counter() - start)


def locus(program, steps, batch, threads):
    """Steps per second of `locus train`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "flip-flop", "--task-option", f"symbols={LENGTH}", "--encoding", "cope",
                   "--layers", str(LAYERS), "--heads", str(HEADS), "--width", str(WIDTH), "--inner", str(INNER),
                   "--batch", str(batch), "--steps", str(steps), "--save-every", "100000", "--threads", str(threads),
                   "--out", os.path.join(folder, "model")]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    tokens = float(re.search(r"([\d.]+) tokens/s", output).group(1))
    return tokens / (batch * (LENGTH - 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("locus")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--least", type=float, default=1.3)
    options = parser.parse_args()
    ours = locus(options.locus, options.steps, options.batch, options.threads)
    theirs = eager(options.steps, options.batch, options.threads)
    print(json.dumps({"locus_steps_per_second": round(ours, 2), "torch_steps_per_second": round(theirs, 2),
                      "ratio": round(ours / theirs, 2), "threads": options.threads, "batch": options.batch}))
    sys.exit(0 if ours >= options.least * theirs else 1)


if __name__ == "__main__":
    main()
