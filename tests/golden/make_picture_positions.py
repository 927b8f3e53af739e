#!/usr/bin/env python3
"""Makes picture_positions.json: where six designs put the tokens of texts with pictures, in float64 and from the formulas alone.

usage: make_picture_positions.py [PUBLISHED]         (with PUBLISHED: needs torch)

PUBLISHED is a copy of github.com/JJJYmmm/Multimodal-RoPEs (cd413b9): its position makers get the same texts and must say the same
numbers. They count from 0 and take a text's videos frame by frame, so that texts that start elsewhere, or have videos, are left out.
"""
import fractions
import json
import math
import pathlib
import sys

# A text is words (a number) and pictures ([frames, rows, columns]).
TEXTS = [
    {"start": 0, "parts": [3, [1, 2, 4], 2]},
    {"start": 0, "parts": [1, [1, 5, 3], 4, [1, 1, 1], 1, [1, 3, 8], 6]},
    {"start": 0, "parts": [2, [1, 4, 4], 1, [1, 2, 16], 3]},
    {"start": 7, "parts": [[1, 3, 3], [1, 2, 2], 5]},
    {"start": 0, "parts": [2, [4, 2, 3], 3]},
]
DESIGNS = ["v2pe", "v2pe:64", "v2pe:2.5", "videorope", "omnirope", "mrope", "mrope:4x8x2.5", "hope", "hope:0.75", "circlerope", "circlerope:10"]


def circle(height, width, radius):
    """(t, h, w) of the cells around the picture's centre, in the plane perpendicular to (1, 1, 1)."""
    cells = [(r - (height - 1) / 2, c - (width - 1) / 2) for r in range(height) for c in range(width)]
    radius = radius or max(max(each) for each in cells)
    angles = [math.atan2(*each) for each in cells]
    low, high = min(angles), max(angles)
    own = [(each - low) / (high - low) * 2 * math.pi if high > low else each for each in angles]
    mixed = [(each + n / len(cells) * 2 * math.pi) / 2 for n, each in enumerate(own)]
    x, y = [radius * math.cos(each) for each in mixed], [radius * math.sin(each) for each in mixed]
    u, v = (-1 / math.sqrt(2), 1 / math.sqrt(2), 0), (-1 / math.sqrt(6), -1 / math.sqrt(6), 2 / math.sqrt(6))  # of (w, h, t)
    return [tuple(a * u[c] + b * v[c] for c in (2, 1, 0)) for a, b in zip(x, y, strict=True)]


def positions(design, text):
    name, _, number = design.partition(":")
    stride = fractions.Fraction(number or {"v2pe": "16", "videorope": "2"}.get(name, "1")) if name != "mrope" else None
    scale = [fractions.Fraction(each) for each in (number or "1x1x1").split("x")] if name == "mrope" else None
    next_word, rows = fractions.Fraction(text["start"]), []
    for part in text["parts"]:
        if isinstance(part, int):
            rows += [((next_word + n) * (name != "hope"), next_word + n, next_word + n) for n in range(part)]
            next_word += part
            continue
        frames, height, width = part
        cells = [(f, r, c) for f in range(frames) for r in range(height) for c in range(width)]
        if name == "v2pe":
            last = next_word - 1
            rows += [(last + stride * (k + 1) / len(cells),) * 3 for k in range(len(cells))]
            next_word = math.ceil(last + stride) + 1
        elif name in ("videorope", "hope"):
            times = [next_word + stride * f for f in range(frames)]
            rows += [(times[f] * (name != "hope"), times[f] + r - (height - 1) // 2, times[f] + c - (width - 1) // 2) for f, r, c in cells]
            next_word = times[-1] + 1
        elif name in ("mrope", "circlerope"):
            flat = circle(height, width, float(number or 0)) if name == "circlerope" else None
            own = [tuple(next_word + f + each for each in flat[r * width + c]) if flat else
                   (next_word + scale[0] * f, next_word + scale[1] * r, next_word + scale[2] * c) for f, r, c in cells]
            rows += own
            next_word = max(max(each) for each in own) + 1
        else:
            rows += [(next_word + f, r, c) for f, r, c in cells]
            next_word += max(frames, height, width)
    return [[float(each) for each in row] for row in rows]


def published(folder, design, text):
    """The same by the published codes of this design; none where they have no such text."""
    if text["start"] != 0 or any(not isinstance(part, int) and part[0] > 1 for part in text["parts"]):
        return []
    import types
    import torch
    sys.path.insert(0, str(folder))
    from multimodal_ropes.configs.omnirope import OmniRopeConfig
    from multimodal_ropes.configs.v2pe import V2PEConfig
    from multimodal_ropes.configs.videorope import VideoRopeConfig
    from multimodal_ropes.configs.circlerope import CircleRopeConfig
    from multimodal_ropes.configs.hope import HopeConfig
    from multimodal_ropes.configs.mmrope import MMRopeConfig
    from multimodal_ropes.configs.mrope_i import MRopeInterleaveConfig
    from multimodal_ropes.pos_design import circlerope, hope, mmrope, mrope_i, omnirope, v2pe, videorope
    WORD, START, CELL = 1, 2, 3
    ids, grids = [], []
    for part in text["parts"]:
        if isinstance(part, int):
            ids += [WORD] * part
        else:
            ids[-1:] = [START]
            ids += [CELL] * (part[1] * part[2])
            grids.append(part)
    config = types.SimpleNamespace(image_token_id=CELL, video_token_id=4, vision_start_token_id=START,
                                   vision_config=types.SimpleNamespace(spatial_merge_size=1))
    name, _, number = design.partition(":")
    makers = [{"v2pe": (v2pe.get_v2pe_index, V2PEConfig(128, visual_stride=float(number or 16) if name == "v2pe" else 16)),
               "videorope": (videorope.get_videorope_index, VideoRopeConfig(128)),
               "omnirope": (omnirope.get_omnirope_index, OmniRopeConfig(128)),
               "mrope": (mmrope.get_mmrope_index, MMRopeConfig(128, position_scale=tuple(map(float, (number or "1x1x1").split("x")))
                                                               if name == "mrope" else (1, 1, 1))),
               "hope": (hope.get_hope_index, HopeConfig(128, temporal_stride_lst=[float(number or 1)] if name == "hope" else None)),
               "circlerope": (circlerope.get_circlerope_index, CircleRopeConfig(128, move_to_origin=True, alpha=0.5,
                                                                               radius=number or "auto"))}[name]]
    if design in ("mrope", "omnirope"):  # MRoPE-I and MHRoPE have one maker, and with spatial reset OmniRoPE's positions
        makers.append((mrope_i.get_mrope_interleave_index, MRopeInterleaveConfig(128, spatial_reset=design == "omnirope")))
    made = []
    for make, extra in makers:
        found, _ = make(types.SimpleNamespace(config=config), torch.tensor([ids]), image_grid_thw=torch.tensor(grids), extra_config=extra)
        # Time of HoPE becomes 0 where the published code turns the pairs, and so for words too.
        made.append([[0.0, *row[1:]] if name == "hope" else row for row in found[:, 0].T.tolist()])
    return made


def main():
    values, compared = [], 0
    for text in TEXTS:
        for design in DESIGNS:
            own = positions(design, text)
            values.append({"design": design, **text, "positions": own})
            others = published(pathlib.Path(sys.argv[1]), design, text) if len(sys.argv) > 1 else []
            for other in others:
                worst = max(abs(a - b) for x, y in zip(own, other, strict=True) for a, b in zip(x, y, strict=True))
                assert worst < 1e-4, (design, text, worst)  # theirs are float32
            compared += len(others) > 0
    file = pathlib.Path(__file__).resolve().parent / "picture_positions.json"
    file.write_text("[" + ",\n".join(json.dumps(each, separators=(",", ":")) for each in values) + "]\n")
    print(f"{len(values)} texts, {compared} of them as published")


if __name__ == "__main__":
    main()
