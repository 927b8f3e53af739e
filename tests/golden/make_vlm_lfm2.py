#!/usr/bin/python3
"""Remakes families-vlm/lfm2_vl and families-vlm/preprocess/lfm2_parts.json with the installed transformers: a tiny random
checkpoint as that library saves it, a picture in tiles and one in one part, and what its classes give for them.

usage: make_vlm_lfm2.py

Needs torch, torchvision, transformers 5 and pillow before 13, which resizes the height first where that is cheaper; made with
torch 2.13.0, torchvision 0.28.0, transformers 5.24.0 and pillow 12.3.0. Sizes, tiles and the order of parts are those of the
library's image processor. Its levels come from torch's resampling of bytes, which depends on the machine and differs from
Pillow's by at most one level, as is checked here: the stored pixels are Pillow's. expected.safetensors has the tensors of its
neighbours; pixel_values is padded, [parts, 3, H, W], and image_sizes has the heights and widths of the parts; logits.plain is
that of the same weights without the projector's norm and biases. Computed in float64, stored in float32. lfm2_parts.json has
for fields of the processor heights and widths of pictures, and what the library's processor makes of each: rows and columns
of tiles, and height and width of the whole."""
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
from transformers.models.lfm2_vl.image_processing_lfm2_vl import Lfm2VlImageProcessor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from make_vlm_newer import FOLDER, changed_config, picture, states_entering

PICTURES = [(50, 40), (9, 22)]  # height, width: four tiles and a whole of 24 x 16; one part of 8 x 24
PLACEHOLDER, START, END, WHOLE, FIRST_TILE = 72, 70, 71, 73, 80
PATCH, TILE = 4, 16
FIELDS = dict(encoder_patch_size=PATCH, downsample_factor=2, tile_size=TILE, min_tiles=2, max_tiles=4, min_image_tokens=2,
              max_image_tokens=8, max_pixels_tolerance=2.0, do_image_splitting=True, use_thumbnail=True)
TEXT = dict(model_type="lfm2", vocab_size=92, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=512, conv_L_cache=3, conv_bias=True, block_multiple_of=16,
            layer_types=["conv", "conv", "full_attention"], rope_parameters=dict(rope_type="default", rope_theta=100.0))
VISION = dict(model_type="siglip2_vision_model", hidden_size=32, intermediate_size=48, num_hidden_layers=2,
              num_attention_heads=2, patch_size=PATCH, num_patches=25)
PLANS = [{}, dict(max_pixels_tolerance=1.0, max_tiles=6), dict(min_tiles=3, max_tiles=12, tile_size=256, max_image_tokens=128),
         dict(encoder_patch_size=14, downsample_factor=3, tile_size=420, min_image_tokens=1), dict(do_image_splitting=False)]


def model_of():
    """Weights wide enough that every part counts."""
    config = CONFIG_MAPPING["lfm2_vl"](text_config=TEXT, vision_config=VISION, image_token_id=PLACEHOLDER, projector_hidden_size=24)
    torch.manual_seed(23)
    model = AutoModelForImageTextToText.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for key, each in model.named_parameters():
            about_one = each.ndim == 1 and key.endswith("weight")
            each.copy_(torch.randn(each.shape) * (0.3 if each.ndim == 1 else 1 / each[0].numel() ** 0.5) + (1 if about_one else 0))
    return model


def rows_of(image):
    """[patches, patch·patch·3] of a picture or of its pixels (H, W, 3)."""
    height, width = image.shape[0] // PATCH, image.shape[1] // PATCH
    return image.reshape(height, PATCH, width, PATCH, 3).transpose(0, 2, 1, 3, 4).reshape(height * width, -1)


def parts_of(image):
    """The parts of a picture by Pillow, which the library's processor makes likewise, and its rows and columns of tiles."""
    made = Lfm2VlImageProcessor(**FIELDS)([image], return_tensors="pt", return_row_col_info=True)
    rows, columns = int(made["image_rows"][0]), int(made["image_cols"][0])
    height, width = (int(side) for side in made["image_sizes"][0])
    parts = []
    if rows * columns > 1:
        large = image.resize((columns * TILE, rows * TILE), Image.Resampling.BILINEAR)
        corners = [(column * TILE, row * TILE) for row in range(rows) for column in range(columns)]
        parts = [large.crop((left, top, left + TILE, top + TILE)) for left, top in corners]
    parts.append(image.resize((width, height), Image.Resampling.BILINEAR))
    assert len(parts) == len(made["pixel_values"])
    for part, theirs, shape in zip(parts, made["pixel_values"], made["spatial_shapes"]):
        assert [part.height // PATCH, part.width // PATCH] == shape.tolist()
        levels = (theirs[:int(shape.prod())].double().numpy() * 0.5 + 0.5) * 255
        assert np.abs(levels - rows_of(np.asarray(part))).max() < 1.001
    return [(np.asarray(part).astype(np.float64) / 255 - 0.5) / 0.5 for part in parts], rows, columns


def ids_of(parts, rows, columns):
    cells = [[PLACEHOLDER] * (part.shape[0] // PATCH // 2 * (part.shape[1] // PATCH // 2)) for part in parts]
    ids = [START]
    for n, own in enumerate(cells):
        ids += [FIRST_TILE + n if n + 1 < len(cells) else WHOLE] * (rows * columns > 1) + own
    return ids + [END]


def opened(folder):
    return AutoModelForImageTextToText.from_pretrained(folder, attn_implementation="eager").double().eval()


def without_norm_and_biases(folder, inputs):
    with tempfile.TemporaryDirectory() as place:
        copy = pathlib.Path(shutil.copytree(folder, pathlib.Path(place) / "copy"))
        changed_config(copy, lambda config: config.update(projector_use_layernorm=False, projector_bias=False))
        with torch.no_grad():
            return opened(copy)(**inputs).logits[0]


def make():
    folder = FOLDER / "lfm2_vl"
    folder.mkdir(exist_ok=True)
    model_of().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    written = {"image_processor_type": "Lfm2VlImageProcessorFast", "do_resize": True, "size": {"height": TILE, "width": TILE},
               "resample": 2, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.5] * 3,
               "image_std": [0.5] * 3, "do_pad": True, "do_center_crop": None, **FIELDS, "processor_class": "Lfm2VlProcessor"}
    (folder / "preprocessor_config.json").write_text(json.dumps(written, indent=2) + "\n")
    pictures = [picture(*size, 60 + seed) for seed, size in enumerate(PICTURES)]
    for n, each in enumerate(pictures):
        each.save(folder / f"image{n}.png")
    made = [parts_of(each) for each in pictures]
    parts = [part for own in made for part in own[0]]
    ids = [1, 5, 9] + ids_of(*made[0]) + [12, 30] + ids_of(*made[1]) + [8, 21, 33]
    shapes = torch.tensor([[part.shape[0] // PATCH, part.shape[1] // PATCH] for part in parts])
    counts = shapes.prod(-1).tolist()
    rows = torch.zeros(len(parts), max(counts), PATCH * PATCH * 3, dtype=torch.float64)
    seen = torch.zeros(len(parts), max(counts), dtype=torch.int32)
    for n, part in enumerate(parts):
        rows[n, :counts[n]] = torch.tensor(rows_of(part.astype(np.float32)), dtype=torch.float64)
        seen[n, :counts[n]] = 1
    given = torch.tensor([ids])
    inputs = {"input_ids": given, "pixel_values": rows, "pixel_attention_mask": seen, "spatial_shapes": shapes}
    model = opened(folder)
    tower, text = model.model.vision_tower, model.model.language_model
    kept = tower_maps(tower)
    tower_states, text_states = states_entering(tower.encoder.layers), states_entering(text.layers)
    ends = {}
    tower.register_forward_hook(lambda _, given, end: ends.update(tower=end.last_hidden_state))
    with torch.no_grad():
        out = model(**inputs, output_attentions=True)
        embeds = model.get_image_features(**{key: inputs[key] for key in inputs if key != "input_ids"}).pooler_output
    own = lambda padded: torch.cat([each[:count] for each, count in zip(padded, counts)])
    height, width = max(part.shape[0] for part in parts), max(part.shape[1] for part in parts)
    pixels = torch.zeros(len(parts), 3, height, width)
    for n, part in enumerate(parts):
        pixels[n, :, :part.shape[0], :part.shape[1]] = torch.tensor(part).permute(2, 0, 1)
    expected = {"input_ids": given[0], "mm_mask": (given[0] == PLACEHOLDER).long(), "pixel_values": pixels,
                "image_sizes": shapes * PATCH, "vision.output": own(ends["tower"]), "image_embeds": torch.cat(list(embeds)),
                "position_ids": torch.arange(len(ids)), "logits": out.logits[0],
                "logits.plain": without_norm_and_biases(folder, inputs)}
    assert len(expected["image_embeds"]) == int(expected["mm_mask"].sum())
    for n, (maps, states) in enumerate(zip(kept, tower_states)):
        blocks = [each[:, :count, :count] for each, count in zip(maps[0], counts)]
        expected[f"vision.layers.{n}.attention"] = torch.stack([torch.block_diag(*each) for each in zip(*blocks)])
        expected[f"vision.layers.{n}.hidden"] = own(states)
    attending = [n for n, layer in enumerate(text.layers) if hasattr(layer, "self_attn")]
    maps = [each for each in out.attentions if each is not None]
    assert len(maps) == len(attending)
    for n, each in zip(attending, maps):
        expected[f"layers.{n}.attention"] = each[0]
    for n, states in enumerate(text_states):
        expected[f"layers.{n}.hidden"] = states[0]
    save_file({key: (value if value.dtype == torch.long else value.to(torch.float32)).contiguous().clone()
               for key, value in expected.items()}, folder / "expected.safetensors")
    print("tiles", [each[1:] for each in made], "tokens", len(ids), "largest logit", float(out.logits.abs().max()))


def tower_maps(tower):
    """The maps (parts, H, P, P) of the tower's layers, filled by a run."""
    module = sys.modules[type(tower).__module__]
    plain = module.eager_attention_forward
    kept = {id(layer.self_attn): [] for layer in tower.encoder.layers}

    def watching(caller, *given, **named):
        output, maps = plain(caller, *given, **named)
        kept.get(id(caller), []).append(maps.detach())
        return output, maps
    module.eager_attention_forward = watching
    return list(kept.values())


def make_plans():
    random = np.random.default_rng(5)
    plans = []
    for fields in PLANS:
        processor = Lfm2VlImageProcessor(**fields)
        named = {name: getattr(processor, name) for name in FIELDS}
        sizes = [(800, 1000), (1600, 2000), (2000, 2500), (3, 300), (1, 1), (512, 512), (724, 724), (725, 725), (16, 48), (80, 48)]
        sizes += [tuple(int(side) for side in np.exp(random.uniform(1, 8.5, 2))) for _ in range(60)]
        wholes = [processor.smart_resize(height, width, *(named[name] for name in (
            "downsample_factor", "min_image_tokens", "max_image_tokens", "encoder_patch_size"))) for height, width in sizes]
        found = []
        for (height, width), whole in zip(sizes, wholes):
            cut = named["do_image_splitting"] and processor._is_image_too_large(height, width, *(named[name] for name in (
                "max_image_tokens", "encoder_patch_size", "downsample_factor", "max_pixels_tolerance")))
            columns, rows = processor._get_grid_layout(height, width, named["min_tiles"], named["max_tiles"],
                                                       named["tile_size"])[:2] if cut else (1, 1)
            found.append([height, width, rows, columns, whole[1], whole[0]])
        plans.append({"fields": fields, "parts": found})
    lines = ",\n".join(json.dumps(plan) for plan in plans)
    (FOLDER / "preprocess" / "lfm2_parts.json").write_text(f"[{lines}]\n")


if __name__ == "__main__":
    make()
    make_plans()
