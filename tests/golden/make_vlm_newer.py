#!/usr/bin/python3
"""Remakes families-vlm/qwen3_5, qwen3_5_moe, qwen3_vl_moe, glm46v and glm4v_moe with the installed transformers: tiny
random checkpoints as that library saves them, two pictures, and what its classes give for them.

usage: make_vlm_newer.py [qwen3_5 | qwen3_5_moe | qwen3_vl_moe | glm46v | glm4v_moe]...

Needs torch, transformers 5 and pillow before 13 (see make_vlm_tiles.py); made with torch 2.13.0, transformers 5.24.0
and pillow 12.3.0. expected.safetensors has the tensors of its neighbours (input_ids, mm_mask, pixel_values,
image_grid_thw, vision.layers.N.attention, vision.output, image_embeds, deepstack.N, position_ids, layers.N.attention of the layers
that have a map, logits), and the states entering each layer: vision.layers.N.hidden, layers.N.hidden; of qwen3_5 also
logits.without_sections, those of the file without mrope_section. Computed in float64, stored in float32; the rotations
themselves and the gated delta rule are float32 in the library."""
import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from transformers import CONFIG_MAPPING, AutoModelForImageTextToText
from transformers.models.glm4v.image_processing_pil_glm4v import Glm4vImageProcessorPil
from transformers.models.glm46v.image_processing_pil_glm46v import Glm46VImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

FOLDER = pathlib.Path(__file__).resolve().parent / "families-vlm"
PICTURES = [(16, 32), (27, 22)]  # height, width: the second becomes 24 x 24
PLACEHOLDER, VIDEO, START, END = 72, 73, 70, 71

# 6 of 24 pairs turn, with each of the three components of a position, in uneven sections.
QWEN_TEXT = dict(
    vocab_size=76, hidden_size=32, num_hidden_layers=4, num_attention_heads=2, num_key_value_heads=1, head_dim=48,
    max_position_embeddings=512, linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=2,
    linear_num_value_heads=4, layer_types=["linear_attention", "full_attention"] * 2,
    rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.25, mrope_section=[3, 2, 1],
                         mrope_interleaved=True))
QWEN_VISION = dict(hidden_size=32, depth=2, num_heads=2, intermediate_size=48, patch_size=4, spatial_merge_size=2,
                   temporal_patch_size=2, out_hidden_size=32, num_position_embeddings=25,
                   rope_parameters=dict(rope_type="axial", rope_theta=100.0))
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, shared_expert_intermediate_size=24)
# All channels of a head turn: the library's default where the file says nothing.
GLM_TEXT = dict(vocab_size=76, hidden_size=64, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                num_key_value_heads=2, max_position_embeddings=512,
                rope_parameters=dict(rope_type="default", rope_theta=10000, mrope_section=[2, 4, 2]))
GLM_VISION = dict(hidden_size=32, depth=2, num_heads=2, intermediate_size=40, patch_size=4, image_size=20, out_hidden_size=64,
                  spatial_merge_size=2, temporal_patch_size=2, rope_parameters=dict(rope_type="axial", rope_theta=100.0))
# A dense layer between those with experts, of sizes that tell both directions of their matrices apart.
QWEN3_TEXT = dict(
    vocab_size=76, hidden_size=32, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1, head_dim=24,
    max_position_embeddings=512, intermediate_size=40, mlp_only_layers=[1], num_experts=4, num_experts_per_tok=2,
    moe_intermediate_size=24, rope_parameters=dict(rope_type="default", rope_theta=100.0, mrope_section=[5, 4, 3],
                                                   mrope_interleaved=True))
# Half of a head's channels turn, in uneven sections; two groups of experts, of which one is chosen.
GLM_MOE_TEXT = dict(
    GLM_TEXT, hidden_size=32, num_attention_heads=2, num_key_value_heads=1, head_dim=32, moe_intermediate_size=24, n_routed_experts=8, num_experts_per_tok=2,
    n_shared_experts=2, n_group=2, topk_group=1, routed_scaling_factor=1.5,
    rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5, mrope_section=[3, 1, 4]))
MODELS = {
    "qwen3_5": (dict(QWEN_TEXT, intermediate_size=48), QWEN_VISION, "vision"),
    "qwen3_5_moe": ({**QWEN_TEXT, **EXPERTS, "num_hidden_layers": 2, "layer_types": QWEN_TEXT["layer_types"][:2]}, QWEN_VISION, "vision"),
    "qwen3_vl_moe": (QWEN3_TEXT, dict(QWEN_VISION, depth=3, deepstack_visual_indexes=[0, 1]), "vision"),
    "glm46v": (GLM_TEXT, GLM_VISION, "image"),
    "glm4v_moe": (GLM_MOE_TEXT, dict(GLM_VISION, out_hidden_size=32), "image"),
}


# Fields of published files that the library reads past, written beside those that it saves.
PUBLISHED = {"text_config": {"attn_output_gate": True, "full_attention_interval": 2, "mamba_ssm_dtype": "float32", "mlp_only_layers": [],
                             "mtp_num_hidden_layers": 1, "mtp_use_dedicated_embeddings": False},
             "vision_config": {"deepstack_visual_indexes": []}}


def picture(height, width, seed):
    """A smooth picture with edges."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x * a + y * b + c) for a, b, c in random.uniform(-0.7, 0.7, (3, 3))]
    levels = 128 + 80 * np.stack(waves, -1) + 40 * (x[..., None] > width / 2) * (y[..., None] > height / 3)
    return Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8), "RGB")


def model_of(name):
    """Weights wide enough that every part counts."""
    text, vision, word = MODELS[name]
    ids = {"image_token_id": PLACEHOLDER, "video_token_id": VIDEO, f"{word}_start_token_id": START, f"{word}_end_token_id": END}
    config = CONFIG_MAPPING[name](text_config=text, vision_config=vision, **ids)
    torch.manual_seed(11)
    model = AutoModelForImageTextToText.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for key, each in model.named_buffers():
            if key.endswith("e_score_correction_bias"):
                each.copy_(torch.randn(each.shape) * 0.3)
        for key, each in model.named_parameters():
            about_one = key.endswith("norm.weight") or (each.ndim == 1 and key.endswith("weight"))
            each.copy_(torch.randn(each.shape) * (0.3 if each.ndim == 1 else 1 / each[0].numel() ** 0.5) + (1 if about_one else 0))
    return model


def processor_of(name):
    """The rules of Qwen's processor, and of GLM-4V's, in a file as published ones are."""
    glm = name.startswith("glm")
    size = {"shortest_edge": 64, "longest_edge": 8192}
    config = {"do_resize": True, "size": size, "resample": 3, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True,
              "image_mean": [0.48145466, 0.4578275, 0.40821073] if glm else [0.5, 0.5, 0.5],
              "image_std": [0.26862954, 0.26130258, 0.27577711] if glm else [0.5, 0.5, 0.5],
              "do_convert_rgb": True, "patch_size": 4, "temporal_patch_size": 2, "merge_size": 2}
    kind, processor = {"glm46v": (Glm46VImageProcessorPil, "Glm46V"), "glm4v_moe": (Glm4vImageProcessorPil, "Glm4v")}.get(
        name, (Qwen2VLImageProcessorPil, "Qwen3VL"))
    written = {**config, "image_processor_type": f"{processor}ImageProcessor" if glm else "Qwen2VLImageProcessorFast",
               "processor_class": f"{processor}Processor"}
    return kind(**config), written


def changed_config(folder, change):
    """Writes config.json again as `change` makes it."""
    file = folder / "config.json"
    config = json.loads(file.read_text())
    change(config)
    file.write_text(json.dumps(config, indent=2) + "\n")


def opened(folder):
    return AutoModelForImageTextToText.from_pretrained(
        folder, attn_implementation="eager", experts_implementation="eager").double().eval()


def without_sections(folder, inputs):
    """The logits of the same checkpoint whose file names no sections."""
    with tempfile.TemporaryDirectory() as place:
        copy = pathlib.Path(shutil.copytree(folder, pathlib.Path(place) / "copy"))
        changed_config(copy, lambda config: config["text_config"]["rope_parameters"].pop("mrope_section"))
        with torch.no_grad():
            return opened(copy)(**inputs).logits[0]


def states_entering(layers):
    """The states that enter each of these layers, filled by a run."""
    kept = [None] * len(layers)

    def keep(n):
        def hook(_, given, named):
            kept[n] = (given[0] if given else named["hidden_states"]).detach()
        return hook
    for n, layer in enumerate(layers):
        layer.register_forward_pre_hook(keep(n), with_kwargs=True)
    return kept


def watched_maps(model, blocks):
    """The maps of the tower's layers, filled by a run: one of each picture, since each is run alone."""
    module = sys.modules[type(model).__module__]
    plain = module.eager_attention_forward
    kept = {id(block.attn): [] for block in blocks}

    def watching(caller, *given, **named):
        output, maps = plain(caller, *given, **named)
        kept.get(id(caller), []).append(maps[0].detach())
        return output, maps
    module.eager_attention_forward = watching
    return list(kept.values())


def make(name):
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    model_of(name).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if name == "qwen3_5":
        changed_config(folder, lambda config: [config[part].update(fields) for part, fields in PUBLISHED.items()])
    processor, written = processor_of(name)
    (folder / "preprocessor_config.json").write_text(json.dumps(written, indent=2) + "\n")
    pictures = [picture(*size, 60 + seed) for seed, size in enumerate(PICTURES)]
    for n, each in enumerate(pictures):
        each.save(folder / f"image{n}.png")
    batch = processor(pictures, return_tensors="pt")
    pixels, grids = batch["pixel_values"].to(torch.float32), batch["image_grid_thw"]
    counts = [int(grid.prod()) // 4 for grid in grids]
    ids = [1, 5, 9, START] + [PLACEHOLDER] * counts[0] + [END, 12, 30, START] + [PLACEHOLDER] * counts[1] + [END, 8, 21, 33]
    given = torch.tensor([ids])
    kinds = (given == PLACEHOLDER).int()
    inputs = {"input_ids": given, "pixel_values": pixels.double(), "image_grid_thw": grids, "mm_token_type_ids": kinds}
    model = opened(folder)
    tower, text = model.model.visual, model.model.language_model
    tower_states, text_states = states_entering(tower.blocks), states_entering(text.layers)
    tower_maps = watched_maps(tower, tower.blocks)
    ends = {}
    (tower.post_layernorm if name.startswith("glm") else tower.blocks[-1]).register_forward_hook(
        lambda _, given, end: ends.update(tower=end))
    tower.merger.register_forward_hook(lambda _, given, end: ends.update(connector=end))
    mergers = getattr(tower, "deepstack_merger_list", [])
    for n, each in enumerate(mergers):
        each.register_forward_hook(lambda _, given, end, n=n: ends.update({f"deepstack.{n}": end}))
    text.rotary_emb.register_forward_pre_hook(
        lambda _, given, named: ends.update(places=(given + (named.get("position_ids"),))[1]), with_kwargs=True)
    with torch.no_grad():
        out = model(**inputs, output_attentions=True)
    expected = {"input_ids": given[0], "mm_mask": kinds[0].long(), "pixel_values": pixels, "image_grid_thw": grids.long(),
                "vision.output": ends["tower"], "image_embeds": ends["connector"], "position_ids": ends["places"][-3:, 0].long(),
                "logits": out.logits[0], **{f"deepstack.{n}": ends[f"deepstack.{n}"] for n in range(len(mergers))}}
    for n, (maps, states) in enumerate(zip(tower_maps, tower_states)):
        assert len(maps) == len(PICTURES)
        expected[f"vision.layers.{n}.attention"] = torch.stack([torch.block_diag(*each) for each in zip(*maps)])
        expected[f"vision.layers.{n}.hidden"] = states
    attending = [n for n, layer in enumerate(text.layers) if hasattr(layer, "self_attn")]
    maps = [each for each in out.attentions if each is not None]
    assert len(maps) == len(attending)
    for n, each in zip(attending, maps):
        expected[f"layers.{n}.attention"] = each[0]
    for n, states in enumerate(text_states):
        expected[f"layers.{n}.hidden"] = states[0]
    if name == "qwen3_5":
        expected["logits.without_sections"] = without_sections(folder, inputs)
    save_file({key: (value if value.dtype == torch.long else value.to(torch.float32)).contiguous().clone()
               for key, value in expected.items()}, folder / "expected.safetensors")
    print(name, "tokens", len(ids), "largest logit", float(out.logits.abs().max()))


if __name__ == "__main__":
    for wanted in sys.argv[1:] or MODELS:
        make(wanted)
