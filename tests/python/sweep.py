#!/usr/bin/env python3
"""sweep.py [TYPE...]   records a tiny model of every architecture of the installed transformers, and compares the maps of each trace
                     with those that the library itself gives (`output_attentions` of eager attention)

One line a type: right, part (a side is missing, and the recorder says so), refused (with what it said), WRONG, TRACEBACK, or why there is nothing to compare; then the counts.
Status 1 where a trace is wrong, a call ends in a traceback, or fewer than LEAST types are right. Configurations and kinds of models are
those of tests/conformance."""
import collections
import copy
import os
import random
import subprocess
import sys
import tempfile
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(HERE, "..", "..", "assets", "python"), os.path.join(HERE, "..", "conformance"), HERE]
import torch  # noqa: E402
import locus_trace  # noqa: E402
import make  # noqa: E402
from maps import maps_of  # noqa: E402

LOCUS = os.environ.get("LOCUS", os.path.join(HERE, "..", "..", "build", "release", "locus"))  # opens each trace, where it is built
LEAST = 195
TOLERANCE = 2e-3  # sdpa and eager round apart where maps are sharp
IDS = 14


def drawn(model, seed):
    """The model with weights that make sharp maps and small states."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.is_floating_point():
                offset, scale = make.rule(name, value.detach().float().numpy())
                value.copy_(offset + scale * torch.randn(value.shape, generator=generator))
    return model.eval()


def inputs_of(model, kind, seed):
    if kind == "pixels":
        size = getattr(model.config, "image_size", 32)
        size = size if isinstance(size, int) else size[0]
        generator = torch.Generator().manual_seed(seed)
        return {"pixel_values": torch.randn(1, getattr(model.config, "num_channels", 3), size, size, generator=generator)}
    draw = random.Random(seed)
    given = {"input_ids": torch.tensor([[draw.randrange(3, 90) for _ in range(IDS)]])}
    if kind == "seq2seq":
        given["decoder_input_ids"] = torch.tensor([[0] + given["input_ids"][0, 1:7].tolist()])
    return given


def outcome(kind, auto, name, settings, path, implementation=None):
    """What became of a type, and what there is to say of it."""
    from transformers import CONFIG_MAPPING
    try:
        config = make.small(CONFIG_MAPPING[name], settings)
        seed = sum(map(ord, name))
        torch.manual_seed(seed)
        with torch.device("meta"):
            size = sum(each.numel() for each in auto.from_config(copy.deepcopy(config)).parameters())
        if size > make.LARGEST:
            return "not run", f"{size} parameters"
        eager = drawn(auto.from_config(copy.deepcopy(config), attn_implementation="eager").float(), seed)
        given = inputs_of(eager, kind, seed)
        with torch.no_grad(), make.whole_maps(eager):
            out = eager(**given, output_attentions=True, return_dict=True, **({"use_cache": False} if kind in ("causal", "seq2seq") else {}))
        wanted = library_maps(out, eager.config)
        if not all(bool((each.nan_to_num().sum(-1) < 1.01).all()) for each in wanted.values()):
            wanted = {}  # SqueezeBERT's are scores
        if not wanted:
            return "no maps", "the library gives none"
        options = {"attn_implementation": implementation} if implementation else {}
        model = auto.from_config(copy.deepcopy(config), **options).float().eval()
        model.load_state_dict(eager.state_dict())
        with torch.no_grad():
            model(**given)
    except Exception as error:
        return "not run", f"{type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}"
    try:
        with torch.no_grad(), locus_trace.record(path) as trace:
            model(**given)
    except locus_trace.TraceError as error:
        return ("TRACEBACK" if error.__cause__ is not None else "refused"), str(error)[:220]
    except Exception as error:
        return "TRACEBACK", f"{type(error).__name__}: {str(error)[:200]}"
    return compared(path, wanted, trace)


def library_maps(out, config):
    found = {}

    def put(prefix, maps, name):
        layers = make.attending(config, len(maps)) if maps and not prefix else range(len(maps or ()))
        found.update({f"{prefix}layers.{layer}.{name}": each[0].detach().double() for layer, each in zip(layers, maps or ())
                      if layer is not None and getattr(each, "ndim", 0) == 4})
    if getattr(out, "decoder_attentions", None) is not None:
        put("encoder.", out.encoder_attentions, "attention")
        put("decoder.", out.decoder_attentions, "attention")
        put("decoder.", getattr(out, "cross_attentions", None), "cross_attention")
    else:
        put("", getattr(out, "attentions", None), "attention")
    return found


def compared(path, wanted, trace):
    try:
        locus_trace.check(path)
    except locus_trace.TraceError as error:
        return "WRONG", f"--check: {error}"
    if os.path.exists(LOCUS):
        opened = subprocess.run([LOCUS, "info", path], capture_output=True, text=True)
        if opened.returncode != 0:
            return "WRONG", opened.stderr.strip()
    found, state = maps_of(path), "right"
    missing = sorted(set(wanted) - set(found))
    if missing and len(missing) < len(wanted) and " not recorded" in str(trace):
        wanted, state = {name: wanted[name] for name in wanted if name in found}, "part"
    elif missing:
        return "WRONG", f"no {missing[0]}, found {', '.join(sorted(found)[:3])}"
    for name, value in wanted.items():
        if value.shape != found[name].shape:
            return "WRONG", f"{name}: expected shape {list(value.shape)}, found {list(found[name].shape)}"
    worst = max((float((found[name] - value).nan_to_num().abs().max()), name) for name, value in wanted.items())
    return (state if worst[0] <= TOLERANCE else "WRONG"), f"{worst[0]:.1e} {worst[1] if worst[0] > TOLERANCE else ''} {trace}"


def main(only):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    kinds, counts = make.kinds(), collections.Counter()
    rows = {row["type"]: row["settings"] for row in make.table()}
    with tempfile.TemporaryDirectory() as folder:
        for name, (kind, auto) in sorted(kinds.items()):
            if name not in (only or rows):
                continue
            try:
                with make.limit():
                    state, said = outcome(kind, auto, name, rows.get(name, {}), os.path.join(folder, "t.safetensors"))
            except TimeoutError:
                state, said = "not run", "late"
            counts[state] += 1
            print(f"{name:32} {state:10} {said}", flush=True)
    print(", ".join(f"{count} {state}" for state, count in counts.most_common()))
    return int(counts["WRONG"] + counts["TRACEBACK"] > 0 or not only and counts["right"] < LEAST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
