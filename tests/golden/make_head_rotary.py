#!/usr/bin/env python3
"""Makes head_rotary.json: queries and keys turned by the published MHRoPE, whose key heads have one component of a position each.

usage: make_head_rotary.py PUBLISHED         (needs torch, transformers and Pillow)

PUBLISHED is a copy of github.com/JJJYmmm/Multimodal-RoPEs (cd413b9). The text is a word, a picture of 2 × 3 cells and two words, at the
positions of its MRoPE-I with spatial reset. Number n of the queries, (H, T, D) in a row, is sin 0.37 (n + 1); of the keys, cos 0.53 (n + 1).
"""
import importlib.util
import json
import pathlib
import sys
import types

import torch

WORD, START, CELL = 1, 2, 3
CASES = [
    {"heads": 8, "key_heads": 8, "width": 8, "sections": [2, 3, 3], "rope": {"rope_theta": 50.0}},
    {"heads": 8, "key_heads": 4, "width": 8, "sections": [1, 2, 1], "rope": {"rope_theta": 10000.0}},
    {"heads": 8, "key_heads": 4, "width": 8, "sections": [1, 1, 1], "rope": {"rope_theta": 50.0}},
    {"heads": 6, "key_heads": 3, "width": 8, "sections": [1, 1, 0], "rope": {"rope_theta": 100.0, "rope_type": "yarn", "factor": 4.0,
                                                                            "original_max_position_embeddings": 64}},
]


def positions(published):
    """(3, 1, T), with the rows and columns of the picture counted from 0."""
    from multimodal_ropes.configs.mrope_i import MRopeInterleaveConfig
    from multimodal_ropes.pos_design.mrope_i import get_mrope_interleave_index
    config = types.SimpleNamespace(image_token_id=CELL, video_token_id=4, vision_start_token_id=START,
                                   vision_config=types.SimpleNamespace(spatial_merge_size=1))
    ids = torch.tensor([[START] + [CELL] * 6 + [WORD] * 2])
    found, _ = get_mrope_interleave_index(types.SimpleNamespace(config=config), ids, image_grid_thw=torch.tensor([[1, 2, 3]]),
                                          extra_config=MRopeInterleaveConfig(8, spatial_reset=True))
    return found


def turned(case, ids, apply):
    from multimodal_ropes.configs.mhrope import MHRopeConfig
    from multimodal_ropes.freq_allocation.mhrope import MHRopeEmbedding
    from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLTextConfig
    heads, key_heads, width = case["heads"], case["key_heads"], case["width"]
    config = Qwen3VLTextConfig(hidden_size=heads * width, num_attention_heads=heads, num_key_value_heads=key_heads, head_dim=width,
                               max_position_embeddings=64, rope_parameters={"rope_type": "default", **case["rope"]})
    extra = MHRopeConfig(width, case["rope"]["rope_theta"], [1, 1, 1], num_key_value_heads=key_heads)
    extra.mrope_section = case["sections"]  # which may lack a component
    cos, sin = MHRopeEmbedding(config, extra_config=extra)(torch.zeros(1), ids)
    count = ids.shape[2] * width
    numbers = [torch.arange(1, each * count + 1, dtype=torch.float64) for each in (heads, key_heads)]
    query, key = (0.37 * numbers[0]).sin().float(), (0.53 * numbers[1]).cos().float()
    return apply(query.view(1, heads, -1, width), key.view(1, key_heads, -1, width), cos, sin)


def main():
    published = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(published))
    module = importlib.util.spec_from_file_location("published_test", published / "test.py")
    example = importlib.util.module_from_spec(module)
    module.loader.exec_module(example)
    ids = positions(published)
    made = []
    for case in CASES:
        query, key = turned(case, ids, example.apply_multihead_rotary_pos_emb)
        rounded = {name: [round(each, 6) for each in values.flatten().tolist()] for name, values in (("query", query), ("key", key))}
        made.append({**case, "positions": ids[:, 0].T.tolist(), **rounded})
    text = "[\n" + ",\n".join(json.dumps(each) for each in made) + "\n]\n"
    (pathlib.Path(__file__).parent / "head_rotary.json").write_text(text)


if __name__ == "__main__":
    main()
