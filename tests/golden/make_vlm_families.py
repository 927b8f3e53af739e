#!/usr/bin/python3
"""Remakes families-vlm/aya_vision, cohere2_vision, deepseek_vl and vipllava (random weights of its own, saved as the library
saves them), and the cases cohere2_* and deepseek_vl_* of families-vlm/preprocess, with the installed transformers.

usage: make_vlm_families.py [aya_vision | cohere2_vision | deepseek_vl | vipllava | preprocess]...

Needs torch, transformers 5 and pillow before 13; made with torch 2.13.0, transformers 5.24.0 and pillow 12.3.0, without
torchvision: Command A Vision's processor has no form that resizes with pillow, so its rule is taken from its source and the
rest is that of GotOcr2ImageProcessorPil. expected.safetensors has the tensors of its neighbours (make_vlm_tiles.py), computed
in float64, stored in float32."""
import ast
import inspect
import json
import pathlib
import sys
from functools import lru_cache

import numpy as np
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import (AyaVisionConfig, AyaVisionForConditionalGeneration, Cohere2VisionConfig,
                          Cohere2VisionForConditionalGeneration, DeepseekVLConfig, DeepseekVLForConditionalGeneration,
                          VipLlavaConfig, VipLlavaForConditionalGeneration)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.deepseek_vl.image_processing_pil_deepseek_vl import DeepseekVLImageProcessorPil
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil

FOLDER = pathlib.Path(__file__).resolve().parent / "families-vlm"
SIDE, PLACEHOLDER, START, END, TILE, WHOLE, BREAK = 24, 72, 70, 71, 73, 80, 81  # a tile's pixels, and ids
VISION = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, image_size=SIDE, patch_size=6)
TEXT = dict(hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            vocab_size=90, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=0)
COHERE = dict(TEXT, model_type="cohere2", head_dim=8, logit_scale=0.25, sliding_window=9,
              layer_types=["sliding_attention", "full_attention"])
SIGLIP = dict(VISION, model_type="siglip_vision_model")
LEVELS = {"do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.48145466, 0.4578275, 0.40821073],
          "image_std": [0.26862954, 0.26130258, 0.27577711], "do_convert_rgb": True, "do_resize": True, "resample": 3}
TILES = {**LEVELS, "size": {"height": SIDE, "width": SIDE}, "crop_to_patches": True, "min_patches": 1, "max_patches": 6}
PROCESSORS = {
    "aya_vision": {"image_processor_type": "GotOcr2ImageProcessor", **TILES},
    "cohere2_vision": {"image_processor_type": "Cohere2VisionImageProcessor", **TILES, "patch_size": 2},
    "deepseek_vl": {"image_processor_type": "DeepseekVLImageProcessor", **LEVELS, "size": {"height": SIDE, "width": SIDE},
                    "min_size": 14, "do_pad": True},
    "vipllava": {"image_processor_type": "CLIPImageProcessor", **LEVELS, "size": {"shortest_edge": SIDE}, "do_center_crop": True,
                 "crop_size": {"height": SIDE, "width": SIDE}},
}
SIZES = {"aya_vision": [(40, 38), (20, 22)], "cohere2_vision": [(20, 22), (40, 31)], "deepseek_vl": [(30, 46), (22, 17)],
         "vipllava": [(30, 46), (26, 24)]}  # height, width
CASES = {  # family, changes of its processor's file, height and width
    "cohere2_wide": ("cohere2_vision", {"max_patches": 12}, (23, 95)),
    "cohere2_large": ("cohere2_vision", {"max_patches": 4}, (90, 131)),  # no canvas holds it
    "cohere2_one": ("cohere2_vision", {}, (24, 24)),
    "cohere2_off": ("cohere2_vision", {"crop_to_patches": False}, (40, 70)),
    "deepseek_vl_wide": ("deepseek_vl", {}, (20, 45)),
    "deepseek_vl_tall": ("deepseek_vl", {"resample": 2}, (61, 40)),
    "deepseek_vl_thin": ("deepseek_vl", {}, (9, 70)),  # min_size
    "deepseek_vl_square": ("deepseek_vl", {"do_resize": False}, (24, 13)),
}


def picture(height, width, seed):
    """A smooth picture with edges, so that every resampling kernel counts."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x * a + y * b + c) for a, b, c in random.uniform(-0.7, 0.7, (3, 3))]
    levels = 128 + 80 * np.stack(waves, -1) + 40 * (x[..., None] > width / 2) * (y[..., None] > height / 3)
    return Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8), "RGB")


def cohere_canvas():
    """get_optimal_tiled_canvas of Command A Vision's processor, whose module needs torchvision."""
    file = pathlib.Path(inspect.getfile(transformers)).parent / "models/cohere2_vision/image_processing_cohere2_vision.py"
    found = [each for each in ast.parse(file.read_text()).body
             if isinstance(each, ast.FunctionDef) and each.name in ("get_all_supported_aspect_ratios", "get_optimal_tiled_canvas")]
    names = {"np": np, "lru_cache": lru_cache}
    exec(compile(ast.Module(found, []), str(file), "exec"), names)
    return names["get_optimal_tiled_canvas"]


def cohere_parts(config, each):
    """The tiles row by row and the whole picture, resized by pillow."""
    if not config["crop_to_patches"]:
        return [each.resize((SIDE, SIDE), config["resample"])]
    columns, rows = cohere_canvas()((each.height, each.width), (SIDE, SIDE), config["min_patches"], config["max_patches"])
    large = each.resize((columns * SIDE, rows * SIDE), config["resample"])
    parts = [large.crop((x * SIDE, y * SIDE, (x + 1) * SIDE, (y + 1) * SIDE)) for y in range(rows) for x in range(columns)]
    return parts + ([each.resize((SIDE, SIDE), config["resample"])] if len(parts) > 1 else [])


def pixels_of(config, pictures):
    """[parts, 3, S, S] and the number of parts of each picture."""
    kind = config["image_processor_type"]
    own = {name: value for name, value in config.items() if not name.endswith("_type")}
    if kind.startswith("Cohere2"):
        parts = [cohere_parts(config, each) for each in pictures]
        plain = GotOcr2ImageProcessorPil(**{**{k: v for k, v in own.items() if k != "patch_size"}, "crop_to_patches": False,
                                            "do_resize": False, "max_patches": 1})
        made = torch.cat([plain([each], return_tensors="pt")["pixel_values"] for part in parts for each in part])
        return made.float(), [len(each) for each in parts]
    if kind.startswith("GotOcr2"):
        made = GotOcr2ImageProcessorPil(**own)(pictures, return_tensors="pt")
        return made["pixel_values"].float(), [int(n) for n in made["num_patches"]]
    made = {"CLIP": CLIPImageProcessorPil, "Deep": DeepseekVLImageProcessorPil}[kind[:4]](**own)
    return torch.cat([made([each], return_tensors="pt")["pixel_values"] for each in pictures]).float(), [1] * len(pictures)


def make_model(name):
    if name == "aya_vision":
        config = AyaVisionConfig(text_config=COHERE, vision_config=SIGLIP, image_token_index=PLACEHOLDER, downsample_factor=2,
                                 alignment_intermediate_size=40, adapter_layer_norm_eps=1e-4)
        kind = AyaVisionForConditionalGeneration
    elif name == "cohere2_vision":
        config = Cohere2VisionConfig(text_config=COHERE, vision_config=SIGLIP, image_token_id=PLACEHOLDER, downsample_factor=2,
                                     alignment_intermediate_size=44)
        kind = Cohere2VisionForConditionalGeneration
    elif name == "deepseek_vl":
        config = DeepseekVLConfig(text_config=dict(TEXT, model_type="llama", tie_word_embeddings=False), vision_config=SIGLIP,
                                  image_token_id=PLACEHOLDER, tie_word_embeddings=False)
        kind = DeepseekVLForConditionalGeneration
    else:
        config = VipLlavaConfig(text_config=dict(TEXT, model_type="llama"),
                                vision_config=dict(VISION, model_type="clip_vision_model", num_hidden_layers=3, projection_dim=32),
                                image_token_index=PLACEHOLDER, vision_feature_layer=[-2, -4, 3, 1], projector_layernorm_eps=1e-3,
                                image_seq_length=16)
        kind = VipLlavaForConditionalGeneration
    config._attn_implementation = "eager"
    torch.manual_seed(9)
    model = kind(config)
    with torch.no_grad():
        for each_name, each in model.named_parameters():
            norm = each.ndim == 1 and each_name.endswith("weight")
            each.copy_(torch.randn(each.shape) * (0.3 if each.ndim == 1 else 1 / each.shape[-1] ** 0.5) + (1 if norm else 0))
    return model, kind


def ids_of(name, parts, cells):
    """The tokens of two pictures in a text, as the family's processor writes them."""
    ids = [1, 5, 9]
    for n, count in enumerate(parts):
        tiles = [TILE + m for m in range(count - 1)] + [WHOLE]
        if name == "aya_vision":
            ids += [START] + [each for tile in tiles for each in [tile] + [PLACEHOLDER] * cells] + [END]
        elif name == "cohere2_vision":
            ids += [START] + ([PLACEHOLDER] * cells + [BREAK]) * count + [END]
        else:
            ids += [PLACEHOLDER] * cells
        ids += [12, 30] if n == 0 else [8, 21, 33]
    return ids


def whole(maps):
    """[H, P, P] of maps [tiles, H, p, p]: each tile sees itself alone."""
    return torch.stack([torch.block_diag(*maps[:, head]) for head in range(maps.shape[1])])


def make(name):
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    model, kind = make_model(name)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "preprocessor_config.json").write_text(json.dumps(PROCESSORS[name], indent=2) + "\n")
    pictures = [picture(*size, 60 + seed) for seed, size in enumerate(SIZES[name])]
    for n, each in enumerate(pictures):
        each.save(folder / f"image{n}.png")
    pixels, parts = pixels_of(PROCESSORS[name], pictures)
    model = kind.from_pretrained(folder, attn_implementation="eager").double().eval()
    cells = 4 if name in ("aya_vision", "cohere2_vision") else 16
    ids = ids_of(name, parts, cells)
    given = torch.tensor([ids])
    with torch.no_grad():
        tower = (model.model.vision_model if name == "deepseek_vl" else model.model.vision_tower)(
            pixels.double(), output_attentions=True, output_hidden_states=True)
        embeds = model.model.get_image_features(pixels.double()).pooler_output
        out = model(input_ids=given, pixel_values=pixels.double(), output_attentions=True)
    states = tower.hidden_states
    read = {"aya_vision": lambda: states[-1], "cohere2_vision": lambda: tower.last_hidden_state,
            "deepseek_vl": lambda: tower.last_hidden_state,
            "vipllava": lambda: torch.cat([states[n][:, 1:] for n in model.config.vision_feature_layer], -1)}[name]()
    expected = {"input_ids": given[0], "mm_mask": (given[0] == PLACEHOLDER).long(), "pixel_values": pixels,
                "vision.output": read.flatten(0, 1), "image_embeds": embeds.flatten(0, 1), "position_ids": torch.arange(len(ids)),
                "logits": out.logits[0]}
    print(name, "parts", parts, "tokens", len(ids), "largest logit", float(out.logits.abs().max()),
          "last state is the normalised one:", torch.equal(states[-1], tower.last_hidden_state))
    for n, maps in enumerate(tower.attentions):
        expected[f"vision.layers.{n}.attention"] = whole(maps)
    for n, maps in enumerate(out.attentions):
        expected[f"layers.{n}.attention"] = maps[0]
    save_file({key: (value if value.dtype == torch.long else value.to(torch.float32)).contiguous()
               for key, value in expected.items()}, folder / "expected.safetensors")


def make_cases():
    folder = FOLDER / "preprocess"
    cases = json.loads((folder / "cases.json").read_text())
    expected = load_file(folder / "expected.safetensors")
    for seed, (name, (family, changes, size)) in enumerate(CASES.items()):
        config = {**PROCESSORS[family], **changes}
        each = picture(*size, 80 + seed)
        each.save(folder / f"{name}0.png")
        cases[name] = {"images": [f"{name}0.png"], "preprocessor_config": config}
        expected[name + ".pixel_values"], parts = pixels_of(config, [each])
        print(name, parts)
    (folder / "cases.json").write_text(json.dumps(cases, indent=1))
    save_file(expected, folder / "expected.safetensors")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or [*PROCESSORS, "preprocess"]:
        make(wanted) if wanted in PROCESSORS else make_cases()
