#!/usr/bin/python3
"""Remakes families-vlm/internvl_tiles, families-vlm/llava_next and families-vlm/llava_onevision (random weights of its own), and the cases internvl_* and llava_next_* of
families-vlm/preprocess, with the installed transformers: pictures that are cut into tiles, with the weights of
families-vlm/internvl and families-vlm/llava.

usage: make_vlm_tiles.py [internvl_tiles | llava_next | llava_onevision | preprocess]...

Needs torch, transformers 5 and pillow before 13, which resizes the height first where that is cheaper; made with torch
2.13.0, transformers 5.24.0 and pillow 12.3.0. expected.safetensors has the tensors of its neighbours: input_ids, mm_mask,
pixel_values (tiles row by row, then the whole picture; of llava_next the whole first, and image_sizes, the heights and widths
of the pictures), vision.layers.N.attention (all tiles one after another, 0 between them), vision.output, image_embeds,
position_ids, layers.N.attention, logits; computed in float64, stored in float32."""
import json
import pathlib
import shutil
import sys

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import (InternVLForConditionalGeneration, LlavaNextForConditionalGeneration, LlavaOnevisionConfig,
                          LlavaOnevisionForConditionalGeneration)
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.llava_next.image_processing_pil_llava_next import LlavaNextImageProcessorPil
from transformers.models.llava_next.processing_llava_next import LlavaNextProcessor
from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil
from transformers.models.llava_onevision.processing_llava_onevision import LlavaOnevisionProcessor

FOLDER = pathlib.Path(__file__).resolve().parent / "families-vlm"
START, END = 70, 71  # ids around a picture, in no config
SIZES = {"internvl_tiles": [(40, 38), (16, 30)], "llava_next": [(30, 46), (22, 17)],
         "llava_onevision": [(40, 38), (16, 30)]}  # height, width
PINPOINTS = [[24, 24], [24, 48], [48, 24], [48, 48], [72, 24], [24, 72]]
CASES = {  # what preprocessor_config.json says, and a picture's height and width
    "internvl_wide": ({"max_patches": 12}, (23, 95)),
    "internvl_tall": ({"max_patches": 6}, (61, 20)),
    "internvl_least": ({"min_patches": 4, "max_patches": 6}, (16, 16)),
    "internvl_tie": ({"max_patches": 6}, (40, 70)),  # 2 × 1 and 3 × 2 are as near: the larger, since the picture is
    "internvl_one": ({"max_patches": 12}, (20, 22)),  # one tile, and no whole picture behind it
    "llava_next_wide": ({}, (20, 90)),
    "llava_next_square": ({}, (50, 50)),
    "llava_next_small": ({}, (9, 7)),
    "llava_next_tall": ({}, (64, 41)),
}


def picture(height, width, seed):
    """A smooth picture with edges, so that every resampling kernel counts."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x * a + y * b + c) for a, b, c in random.uniform(-0.7, 0.7, (3, 3))]
    levels = 128 + 80 * np.stack(waves, -1) + 40 * (x[..., None] > width / 2) * (y[..., None] > height / 3)
    return Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8), "RGB")


def config_of(changes):
    config = json.loads((FOLDER / "internvl" / "preprocessor_config.json").read_text())
    return {**config, "crop_to_patches": True, **changes}


def next_config():
    return {"image_processor_type": "LlavaNextImageProcessor", "do_resize": True, "size": {"shortest_edge": 24}, "resample": 3,
            "do_center_crop": True, "crop_size": {"height": 24, "width": 24}, "do_rescale": True, "rescale_factor": 1 / 255,
            "do_normalize": True, "image_mean": [0.48145466, 0.4578275, 0.40821073],
            "image_std": [0.26862954, 0.26130258, 0.27577711], "do_convert_rgb": True, "do_pad": True,
            "image_grid_pinpoints": PINPOINTS, "processor_class": "LlavaNextProcessor"}


def next_processor(config):
    return LlavaNextImageProcessorPil(**{name: value for name, value in config.items() if not name.endswith(("_class", "_type"))})


def next_pixels(config, pictures):
    """[tiles, 3, S, S] of the pictures one after another, without the padding between them, and their numbers of tiles."""
    made = [next_processor(config)([each], return_tensors="pt")["pixel_values"][0].to(torch.float32) for each in pictures]
    return torch.cat(made), [len(each) for each in made]


def pixels_of(config, pictures):
    """[tiles, 3, S, S] and the number of tiles of each picture."""
    if config["image_processor_type"].startswith("LlavaNext"):
        return next_pixels(config, pictures)
    made = GotOcr2ImageProcessorPil(**{name: value for name, value in config.items() if not name.endswith("_class")})(
        pictures, return_tensors="pt")
    return made["pixel_values"].to(torch.float32), [int(n) for n in made["num_patches"]]


def whole(maps):
    """[H, P, P] of maps [tiles, H, p, p]: each tile sees itself alone."""
    return torch.stack([torch.block_diag(*maps[:, head]) for head in range(maps.shape[1])])


def make(name):
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    for file in ("config.json", "model.safetensors"):
        shutil.copy(FOLDER / "internvl" / file, folder / file)
    config = config_of({"max_patches": 6})
    (folder / "preprocessor_config.json").write_text(json.dumps(config, indent=2) + "\n")
    pictures = [picture(*size, seed) for seed, size in enumerate(SIZES[name])]
    for n, each in enumerate(pictures):
        each.save(folder / f"image{n}.png")
    pixels, tiles = pixels_of(config, pictures)
    model = InternVLForConditionalGeneration.from_pretrained(FOLDER / "internvl", attn_implementation="eager").double().eval()
    cells = json.loads((folder / "config.json").read_text())["image_seq_length"]
    placeholder = model.config.image_token_id
    ids = [1, 5, 9] + [START] + [placeholder] * (tiles[0] * cells) + [END, 12, 30] + [START] + \
        [placeholder] * (tiles[1] * cells) + [END, 8, 21, 33]
    given = torch.tensor([ids])
    with torch.no_grad():
        tower = model.model.vision_tower(pixels.double(), output_attentions=True, output_hidden_states=True)
        embeds = model.model.get_image_features(pixels.double())
        embeds = getattr(embeds, "pooler_output", embeds)
        out = model(input_ids=given, pixel_values=pixels.double(), output_attentions=True)
    width = embeds[0].shape[-1] if isinstance(embeds, (list, tuple)) else embeds.shape[-1]
    embeds = torch.cat([each.reshape(-1, width) for each in embeds])
    expected = {"input_ids": given[0], "mm_mask": (given[0] == placeholder).long(), "pixel_values": pixels,
                "vision.output": tower.last_hidden_state[:, 1:].flatten(0, 1), "image_embeds": embeds,
                "position_ids": torch.arange(len(ids)), "logits": out.logits[0]}
    for n, maps in enumerate(tower.attentions):
        expected[f"vision.layers.{n}.attention"] = whole(maps)
    for n, maps in enumerate(out.attentions):
        expected[f"layers.{n}.attention"] = maps[0]
    save_file({key: (value if value.dtype == torch.long else value.to(torch.float32)).contiguous()
               for key, value in expected.items()}, folder / "expected.safetensors")
    print(name, "tiles", tiles, "tokens", len(ids), "largest logit", float(out.logits.abs().max()))


def make_next(name):
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    config = json.loads((FOLDER / "llava" / "config.json").read_text())
    config.update(architectures=["LlavaNextForConditionalGeneration"], model_type="llava_next", image_grid_pinpoints=PINPOINTS,
                  use_image_newline_parameter=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "preprocessor_config.json").write_text(json.dumps(next_config(), indent=2) + "\n")
    tensors = load_file(FOLDER / "llava" / "model.safetensors")
    random = np.random.default_rng(7)
    tensors["image_newline"] = torch.tensor(0.5 * random.standard_normal(config["text_config"]["hidden_size"]), dtype=torch.float32)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    pictures = [picture(*size, 20 + seed) for seed, size in enumerate(SIZES[name])]
    for n, each in enumerate(pictures):
        each.save(folder / f"image{n}.png")
    batch = next_processor(next_config())(pictures, return_tensors="pt")
    pixels, tiles = next_pixels(next_config(), pictures)
    model, loading = LlavaNextForConditionalGeneration.from_pretrained(folder, attn_implementation="eager", output_loading_info=True)
    assert not loading["missing_keys"], loading
    model = model.double().eval()
    counted = LlavaNextProcessor.__new__(LlavaNextProcessor)
    counted.patch_size, counted.num_additional_image_tokens, counted.vision_feature_select_strategy = 6, 1, "default"
    counted.image_processor = next_processor(next_config())
    counts = [counted._get_number_of_features(*SIZES[name][n], 24, 24) - 1 for n in range(2)]
    placeholder = model.config.image_token_index
    ids = [1, 5, 9] + [placeholder] * counts[0] + [12, 30] + [placeholder] * counts[1] + [8, 21, 33]
    given = torch.tensor([ids])
    sizes = batch["image_sizes"]
    with torch.no_grad():
        tower = model.model.vision_tower(pixels.double(), output_attentions=True, output_hidden_states=True)
        embeds = model.model.get_image_features(batch["pixel_values"].double(), sizes, vision_feature_layer=-2,
                                                vision_feature_select_strategy="default").pooler_output
        out = model(input_ids=given, pixel_values=batch["pixel_values"].double(), image_sizes=sizes, output_attentions=True)
    embeds = torch.cat(list(embeds))
    assert len(embeds) == sum(counts)
    expected = {"input_ids": given[0], "mm_mask": (given[0] == placeholder).long(), "pixel_values": pixels,
                "image_sizes": torch.as_tensor(sizes).long(), "vision.output": tower.hidden_states[-2][:, 1:].flatten(0, 1),
                "image_embeds": embeds, "position_ids": torch.arange(len(ids)), "logits": out.logits[0]}
    for n, maps in enumerate(tower.attentions):
        expected[f"vision.layers.{n}.attention"] = whole(maps)
    for n, maps in enumerate(out.attentions):
        expected[f"layers.{n}.attention"] = maps[0]
    save_file({key: (value if value.dtype == torch.long else value.to(torch.float32)).contiguous()
               for key, value in expected.items()}, folder / "expected.safetensors")
    print(name, "tiles", tiles, "placeholders", counts, "tokens", len(ids), "largest logit", float(out.logits.abs().max()))


def onevision_config():
    return {"image_processor_type": "LlavaOnevisionImageProcessor", "do_resize": True, "size": {"height": 24, "width": 24},
            "resample": 3, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True,
            "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711],
            "do_convert_rgb": True, "do_pad": True, "image_grid_pinpoints": PINPOINTS, "processor_class": "LlavaOnevisionProcessor"}


def onevision_processor(config):
    return LlavaOnevisionImageProcessorPil(**{name: value for name, value in config.items() if not name.endswith(("_class", "_type"))})


def onevision_model():
    """A model of random weights, wide enough that every part counts; anyres_max_2, so that a canvas of 2 x 2 tiles is reduced."""
    config = LlavaOnevisionConfig(
        vision_config={"model_type": "siglip_vision_model", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
                       "num_attention_heads": 2, "patch_size": 6, "image_size": 24, "vision_use_head": False},
        text_config={"model_type": "qwen2", "hidden_size": 64, "intermediate_size": 72, "num_hidden_layers": 2,
                     "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 74, "max_position_embeddings": 512,
                     "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": False},
        image_token_index=72, video_token_index=73, image_grid_pinpoints=PINPOINTS, vision_aspect_ratio="anyres_max_2",
        vision_feature_layer=-1, vision_feature_select_strategy="full")
    config._attn_implementation = "eager"
    torch.manual_seed(5)
    model = LlavaOnevisionForConditionalGeneration(config)
    with torch.no_grad():
        for name, each in model.named_parameters():
            norm = each.ndim == 1 and name.endswith("weight")
            each.copy_(torch.randn(each.shape) * (0.3 if each.ndim == 1 else 1 / each.shape[-1] ** 0.5) + (1 if norm else 0))
    return model


def make_onevision(name):
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    onevision_model().save_pretrained(folder)
    for extra in ("generation_config.json",):
        (folder / extra).unlink(missing_ok=True)
    (folder / "preprocessor_config.json").write_text(json.dumps(onevision_config(), indent=2) + "\n")
    pictures = [picture(*size, 40 + seed) for seed, size in enumerate(SIZES[name])]
    for n, each in enumerate(pictures):
        each.save(folder / f"image{n}.png")
    processor = onevision_processor(onevision_config())
    batch = processor(pictures, return_tensors="pt")
    made = [processor([each], return_tensors="pt")["pixel_values"][0].to(torch.float32) for each in pictures]
    pixels, tiles = torch.cat(made), [len(each) for each in made]
    model = LlavaOnevisionForConditionalGeneration.from_pretrained(folder, attn_implementation="eager").double().eval()
    counted = LlavaOnevisionProcessor.__new__(LlavaOnevisionProcessor)
    counted.num_image_tokens, counted.vision_aspect_ratio, counted.image_processor = 16, model.config.vision_aspect_ratio, processor
    counts = [counted._get_number_of_features(*SIZES[name][n], 24, 24) for n in range(len(pictures))]
    placeholder = model.config.image_token_index
    ids = [1, 5, 9] + [placeholder] * counts[0] + [12, 30] + [placeholder] * counts[1] + [8, 21, 33]
    given = torch.tensor([ids])
    sizes = batch["image_sizes"]
    with torch.no_grad():
        tower = model.model.vision_tower(pixels.double(), output_attentions=True, output_hidden_states=True)
        embeds = model.model.get_image_features(
            batch["pixel_values"].double(), sizes, vision_feature_layer=-1, vision_feature_select_strategy="full",
            vision_aspect_ratio=model.config.vision_aspect_ratio).pooler_output
        out = model(input_ids=given, pixel_values=batch["pixel_values"].double(), image_sizes=sizes, output_attentions=True)
    embeds = torch.cat(list(embeds))
    assert len(embeds) == sum(counts)
    expected = {"input_ids": given[0], "mm_mask": (given[0] == placeholder).long(), "pixel_values": pixels,
                "image_sizes": torch.as_tensor(sizes).long(), "vision.output": tower.hidden_states[-1].flatten(0, 1),
                "image_embeds": embeds, "position_ids": torch.arange(len(ids)), "logits": out.logits[0]}
    print("last state is normalised:", torch.equal(tower.hidden_states[-1], tower.last_hidden_state))
    for n, maps in enumerate(tower.attentions):
        expected[f"vision.layers.{n}.attention"] = whole(maps)
    for n, maps in enumerate(out.attentions):
        expected[f"layers.{n}.attention"] = maps[0]
    save_file({key: (value if value.dtype == torch.long else value.to(torch.float32)).contiguous()
               for key, value in expected.items()}, folder / "expected.safetensors")
    print(name, "tiles", tiles, "placeholders", counts, "tokens", len(ids), "largest logit", float(out.logits.abs().max()))


def make_cases():
    folder = FOLDER / "preprocess"
    cases = json.loads((folder / "cases.json").read_text())
    expected = load_file(folder / "expected.safetensors")
    for seed, (name, (changes, size)) in enumerate(CASES.items()):
        config = config_of(changes) if name.startswith("internvl") else next_config()
        each = picture(*size, 10 + seed)
        each.save(folder / f"{name}0.png")
        cases[name] = {"images": [f"{name}0.png"], "preprocessor_config": config}
        expected[name + ".pixel_values"], tiles = pixels_of(config, [each])
        print(name, tiles)
    (folder / "cases.json").write_text(json.dumps(cases, indent=1))
    save_file(expected, folder / "expected.safetensors")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["internvl_tiles", "llava_next", "llava_onevision", "preprocess"]
    for name in wanted:
        {"internvl_tiles": make, "llava_next": make_next, "llava_onevision": make_onevision}.get(name, lambda _: make_cases())(name)
