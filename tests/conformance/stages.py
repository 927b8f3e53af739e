#!/usr/bin/env python3
"""stages.py          remakes values/TYPE.stages.safetensors of the towers in stages, from values/TYPE.json (make.py)

For each stage some rows of the maps of its layers and of the states that leave it, as make.py stores them: stageN.layers.L.attention and
stageN.hidden; and `logits` of a classifier whose weights follow from its tensors' names; and all this behind "larger." for a picture of other
sides than the configuration's. Needs torch and transformers; the tests need neither."""
import copy, os, tempfile
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import numpy
from make import HERE, in_float64, probes, stored, write_checkpoint
from tensors import tensor
from windows import TYPES, recorded

CLASSES = 5
LARGER = {"swin": [3, 48, 72], "swinv2": [3, 48, 72], "hiera": [3, 48, 64]}
CLASSIFIER = {"classifier.weight": (0, 0.2), "classifier.bias": (0, 0.1)}


def values(data):
    import torch, transformers
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(folder, data["config"], data["tensors"])
        model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    config = copy.deepcopy(model.config)
    config.num_labels = CLASSES
    with in_float64(torch):
        whole = transformers.AutoModelForImageClassification.from_config(config, attn_implementation="eager").double().eval()
        tower = getattr(whole, whole.base_model_prefix)
        tower.load_state_dict(model.state_dict())
        for name, (offset, scale) in CLASSIFIER.items():
            own = whole.get_parameter(name)
            own.data = torch.tensor(tensor(name, list(own.shape), offset, scale)).double()
        found = {}
        more = {"interpolate_pos_encoding": True} if config.model_type == "hiera" else {}
        # The larger one first: a grid of one window takes the shift from the library's layers for good.
        for prefix, shape in (("larger.", LARGER[config.model_type]), ("", data["input"]["pixels"])):
            pixels = torch.tensor(tensor("pixel_values", shape, 0, 1))[None].double()
            with torch.no_grad(), recorded(tower) as stages:
                found[f"{prefix}logits"] = whole(pixel_values=pixels, output_attentions=True, return_dict=True, **more).logits.numpy()
            for number, layers in enumerate(stages, 1):
                found.update({f"{prefix}stage{number}.layers.{n}.attention": each.numpy() for n, (each, _) in enumerate(layers)})
                found[f"{prefix}stage{number}.hidden"] = layers[-1][1].numpy()
    return probes(found)


def main():
    from safetensors.numpy import save_file
    for name in TYPES:
        found = values(stored(name))
        assert all(numpy.isfinite(value).all() for value in found.values())
        save_file({n: numpy.ascontiguousarray(v) for n, v in sorted(found.items())}, f"{HERE}/values/{name}.stages.safetensors")
        os.chmod(f"{HERE}/values/{name}.stages.safetensors", 0o644)
        print(name, {n: v.shape for n, v in found.items()})


if __name__ == "__main__":
    main()
