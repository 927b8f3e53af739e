#!/usr/bin/python3
"""Remakes families-vlm/gemma4 with the installed transformers: a tiny random checkpoint as that library saves it, two
pictures, and what its classes give for them.

usage: make_vlm_gemma4.py

Needs torch, transformers 5 and pillow; made with torch 2.13.0, transformers 5.24.0 and pillow 12.3.0. expected.safetensors
has the tensors of its neighbours (input_ids, mm_mask, pixel_values of both pictures in one tensor with image_sizes,
vision.layers.N.attention, vision.output, image_embeds, position_ids, layers.N.attention, logits), the states entering each
layer (vision.layers.N.hidden, layers.N.hidden), and the logits of the same file with other fields: logits.causal without
use_bidirectional_attention, logits.plain without standardize, logits.unbounded without use_clipped_linears. The picture
that resized.png becomes by the processor's own rule is `resized`; sizes.json has what that rule makes of other heights and
widths: [height, width, patch, tokens, height, width]. Computed in float64, stored in float32; norms, rotations and the
pooling are float32 in the library."""
import json
import math
import pathlib
import shutil
import tempfile

import torch
from make_vlm_newer import FOLDER, changed_config, picture, states_entering
from safetensors.torch import save_file
from transformers import AutoModelForImageTextToText, Gemma4Config
from transformers.models.gemma4 import modeling_gemma4
from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil, get_aspect_ratio_preserving_size

PICTURES = [(24, 36), (36, 12)]  # height, width: 2 x 3 and 3 x 1 cells of 3 x 3 patches of 4 pixels
PATCH, CELL = 4, 3
IMAGE, VIDEO, BEGIN, END, SOUND = 72, 73, 70, 71, 74
# The window is shorter than the first picture, and a layer without one comes first.
TEXT = dict(vocab_size=76, hidden_size=32, intermediate_size=48, num_hidden_layers=4, num_attention_heads=2,
            num_key_value_heads=1, head_dim=8, global_head_dim=16, sliding_window=4, max_position_embeddings=512,
            layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
            use_bidirectional_attention="vision", vocab_size_per_layer_input=76, hidden_size_per_layer_input=8,
            final_logit_softcapping=30.0, pad_token_id=3)
VISION = dict(hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=12,
              patch_size=PATCH, position_embedding_size=10, pooling_kernel_size=CELL, standardize=True, use_clipped_linears=True)
SIZES = [(1, 1), (3, 5), (48, 48), (47, 49), (100, 100), (333, 500), (500, 333), (1080, 1920), (3024, 4032), (17, 4000), (4000, 17),
         (1, 300), (300, 1), (1, 100000), (768, 768), (801, 799), (2, 141), (5, 350), (7, 490), (64, 17920)]


def model_of():
    """Weights wide enough that every part counts."""
    config = Gemma4Config(text_config=TEXT, vision_config=VISION, audio_config=None, image_token_id=IMAGE, video_token_id=VIDEO,
                          boi_token_id=BEGIN, eoi_token_id=END, audio_token_id=SOUND, boa_token_id=75, eoa_token_index=75)
    torch.manual_seed(17)
    model = AutoModelForImageTextToText.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for key, each in [*model.named_parameters(), *model.named_buffers()]:
            if key.endswith(("_min", "_max")):  # some numbers of each product are beyond its bounds; one is infinite
                each.fill_((torch.rand(()).item() + 0.7) * (-1 if key.endswith("_min") else 1))
                continue
            if key.endswith(("inv_freq", "embed_scale")) or not each.is_floating_point() or each.ndim == 0:
                continue
            about_one = key.endswith(("norm.weight", "std_scale", "layernorm.weight", "layer_scalar"))
            spread = 0.3 if each.ndim == 1 or key.endswith("position_embedding_table") else 1 / each[0].numel() ** 0.5
            each.copy_(torch.randn(each.shape) * spread + (1 if about_one else 0))
    return model


def processor_of(**more):
    return {"do_convert_rgb": True, "do_normalize": False, "do_rescale": True, "do_resize": True, "image_mean": [0.0, 0.0, 0.0],
            "image_processor_type": "Gemma4ImageProcessor", "image_std": [1.0, 1.0, 1.0], "max_soft_tokens": 70,
            "patch_size": PATCH, "pooling_kernel_size": CELL, "resample": 3, "rescale_factor": 1 / 255, **more}


def processed(pictures, **more):
    fields = {key: value for key, value in processor_of(**more).items() if key != "image_processor_type"}
    return Gemma4ImageProcessorPil(**fields)(pictures, return_tensors="pt")


def opened(folder):
    return AutoModelForImageTextToText.from_pretrained(folder, attn_implementation="eager").double().eval()


def other_logits(folder, inputs, change):
    """The logits of the same checkpoint with other fields."""
    with tempfile.TemporaryDirectory() as place:
        copy = pathlib.Path(shutil.copytree(folder, pathlib.Path(place) / "copy"))
        changed_config(copy, change)
        with torch.no_grad():
            return opened(copy)(**inputs).logits[0]


def watched_maps(layers):
    """The maps of these layers, filled by a run: of all pictures at once, padded."""
    plain = modeling_gemma4.eager_attention_forward
    kept = {id(layer.self_attn): [] for layer in layers}

    def watching(caller, *given, **named):
        output, maps = plain(caller, *given, **named)
        kept.get(id(caller), []).append(maps.detach())
        return output, maps
    modeling_gemma4.eager_attention_forward = watching
    return list(kept.values())


def planes(patches, height, width):
    """(3, height, width) of rows of patches, channels last within them."""
    rows, columns = height // PATCH, width // PATCH
    grid = patches[:rows * columns].reshape(rows, columns, PATCH, PATCH, 3)
    return grid.permute(4, 0, 2, 1, 3).reshape(3, height, width)


def main():
    folder = FOLDER / "gemma4"
    folder.mkdir(exist_ok=True)
    model = model_of()
    model.model.vision_tower.encoder.layers[0].self_attn.q_proj.output_max.fill_(float("inf"))
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "preprocessor_config.json").write_text(json.dumps(processor_of(do_resize=False), indent=2) + "\n")
    pictures = [picture(*size, 80 + seed) for seed, size in enumerate(PICTURES)]
    for n, each in enumerate(pictures):
        each.save(folder / f"image{n}.png")
    batch = processed(pictures, do_resize=False)
    patches, places = batch["pixel_values"].to(torch.float32), batch["image_position_ids"]
    counts = [int(each) for each in batch["num_soft_tokens_per_image"]]
    valid = (places >= 0).all(-1)
    ids = [1, 5, 9, BEGIN] + [IMAGE] * counts[0] + [END, 12, 30, BEGIN] + [IMAGE] * counts[1] + [END, 8, 21, 33]
    given = torch.tensor([ids])
    kinds = (given == IMAGE).int()
    inputs = {"input_ids": given, "pixel_values": patches.double(), "image_position_ids": places, "mm_token_type_ids": kinds}
    model = opened(folder)
    tower, text = model.model.vision_tower, model.model.language_model
    tower_states, text_states = states_entering(tower.encoder.layers), states_entering(text.layers)
    tower_maps, text_maps = watched_maps(tower.encoder.layers), watched_maps(text.layers)
    ends = {}
    tower.encoder.register_forward_hook(lambda _, given, end: ends.update(tower=end.last_hidden_state))
    model.model.embed_vision.register_forward_hook(lambda _, given, end: ends.update(connector=end))
    with torch.no_grad():
        out = model(**inputs)
    high, wide = max(size[0] for size in PICTURES), max(size[1] for size in PICTURES)
    pixels = torch.zeros(len(PICTURES), 3, high, wide)
    for n, size in enumerate(PICTURES):
        pixels[n, :, :size[0], :size[1]] = planes(patches[n], *size)
    expected = {"input_ids": given[0], "mm_mask": kinds[0].long(), "pixel_values": pixels, "image_sizes": torch.tensor(PICTURES),
                "vision.output": ends["tower"][valid], "image_embeds": ends["connector"],
                "position_ids": torch.arange(len(ids)), "logits": out.logits[0]}
    for n, (maps, states) in enumerate(zip(tower_maps, tower_states)):
        own = [each[:, mask][:, :, mask] for each, mask in zip(maps[0], valid)]
        expected[f"vision.layers.{n}.attention"] = torch.stack([torch.block_diag(*each) for each in zip(*own)])
        expected[f"vision.layers.{n}.hidden"] = states[valid]
    for n, (maps, states) in enumerate(zip(text_maps, text_states)):
        expected[f"layers.{n}.attention"] = maps[0][0]
        expected[f"layers.{n}.hidden"] = states[0]
    expected["logits.causal"] = other_logits(folder, inputs, lambda config: config["text_config"].pop("use_bidirectional_attention"))
    expected["logits.plain"] = other_logits(folder, inputs, lambda config: config["vision_config"].update(standardize=False))
    expected["logits.unbounded"] = other_logits(folder, inputs, lambda config: config["vision_config"].update(use_clipped_linears=False))
    large = picture(37, 90, 90)
    large.save(folder / "resized.png")
    small = processed([large], patch_size=2)
    extent = (small["image_position_ids"][0].max(0).values + 1) * 2
    rows, columns = int(extent[1]) // 2, int(extent[0]) // 2
    grid = small["pixel_values"][0][:rows * columns].reshape(rows, columns, 2, 2, 3)
    expected["resized"] = grid.permute(4, 0, 2, 1, 3).reshape(3, 2 * rows, 2 * columns)
    save_file({key: (value if value.dtype == torch.long else value.to(torch.float32)).contiguous().clone()
               for key, value in expected.items()}, folder / "expected.safetensors")
    sizes = [[height, width, patch, tokens, *get_aspect_ratio_preserving_size(height, width, patch, tokens * CELL**2, CELL)]
             for height, width in SIZES for patch, tokens in ((16, 280), (16, 70), (4, 1120))]
    (folder / "sizes.json").write_text("[\n" + ",\n".join(json.dumps(each) for each in sizes) + "\n]\n")
    changes = [float((expected[key] - expected["logits"]).abs().max()) for key in ("logits.causal", "logits.plain", "logits.unbounded")]
    assert all(math.isfinite(each) and each > 1e-3 for each in changes), changes
    print("tokens", len(ids), "largest logit", float(out.logits.abs().max()), "other fields change", changes, "resized", extent)


if __name__ == "__main__":
    main()
