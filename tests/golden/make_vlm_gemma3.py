#!/usr/bin/python3
"""Remakes expected.safetensors of families-vlm/gemma3 from its model, pictures and settings with the installed transformers.

usage: make_vlm_gemma3.py

Needs torch, transformers 5.24 (whose windows cut pictures) and pillow; made with torch 2.13.0 and transformers 5.24.0. Computed
in float64, stored in float32. The window, 6 tokens, is shorter than a picture, 16."""
import json
import pathlib

import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import Gemma3ForConditionalGeneration
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

FOLDER = pathlib.Path(__file__).resolve().parent / "families-vlm" / "gemma3"
PLACEHOLDER = 66


def whole(maps):
    """[H, P, P] of maps [pictures, H, p, p]: each picture sees itself alone."""
    return torch.stack([torch.block_diag(*maps[:, head]) for head in range(maps.shape[1])])


def make():
    earlier = load_file(FOLDER / "expected.safetensors")
    ids = earlier["input_ids"][None]
    types = (ids == PLACEHOLDER).long()
    own = {k: v for k, v in json.loads((FOLDER / "preprocessor_config.json").read_text()).items() if not k.endswith("_type")}
    pictures = [Image.open(FOLDER / f"image{n}.png").convert("RGB") for n in range(2)]
    pixels = Gemma3ImageProcessorPil(**own)(pictures, return_tensors="pt")["pixel_values"].float()
    model = Gemma3ForConditionalGeneration.from_pretrained(FOLDER, dtype=torch.float64, attn_implementation="eager").eval()
    with torch.no_grad():
        tower = model.model.vision_tower(pixels.double(), output_attentions=True)
        embeds = model.model.get_image_features(pixels.double()).pooler_output
        out = model(input_ids=ids, pixel_values=pixels.double(), token_type_ids=types, output_attentions=True)
    expected = {"input_ids": ids[0], "mm_mask": types[0], "token_type_ids": earlier["token_type_ids"], "pixel_values": pixels,
                "vision.output": tower.last_hidden_state.flatten(0, 1), "image_embeds": embeds.flatten(0, 1),
                "position_ids": torch.arange(ids.shape[1]), "logits": out.logits[0]}
    for n, maps in enumerate(tower.attentions):
        expected[f"vision.layers.{n}.attention"] = whole(maps)
    for n, maps in enumerate(out.attentions):
        expected[f"layers.{n}.attention"] = maps[0]
    for name, value in expected.items():
        print(name, tuple(value.shape), "changed by", float((value.double() - earlier[name].double()).abs().max()))
    save_file({key: (value if value.dtype == torch.long else value.to(torch.float32)).contiguous()
               for key, value in expected.items()}, FOLDER / "expected.safetensors")


if __name__ == "__main__":
    make()
