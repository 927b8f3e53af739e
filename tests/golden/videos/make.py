"""Writes what transformers gives for videos of Qwen2-VL, Qwen2.5-VL and Qwen3-VL: frames, sizes, times, positions, pixels
and logits.

    pip install torch==2.13.0 torchvision transformers==5.24.0 && python3 make.py

expected.json has the numbers, NAME.safetensors a text with a video and a picture for the checkpoint of that name in
../families-vlm. Text behind a video goes on at the largest position so far + 1, as in the papers and in transformers 4;
transformers 5.24 goes on at the larger of rows and columns, even where the time of the video's last frame lies behind that.
Both give the same where it does not, which is checked here for each case.
"""
import json
import os

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import Qwen2_5_VLForConditionalGeneration, Qwen2VLForConditionalGeneration, Qwen3VLForConditionalGeneration
from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor
from transformers.models.qwen2_vl.video_processing_qwen2_vl import smart_resize as size_of_frame
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import smart_resize as size_of_video
from transformers.video_utils import VideoMetadata

torch.set_num_threads(1)
HERE = os.path.dirname(os.path.abspath(__file__))
START, END, IMAGE, VIDEO = 69, 70, 72, 73
MODELS = {"qwen2_vl": Qwen2VLForConditionalGeneration, "qwen2_5_vl": Qwen2_5_VLForConditionalGeneration,
          "qwen3_vl": Qwen3VLForConditionalGeneration}


def frames(count, height, width, shift=0):
    """(T, 3, H, W) uint8: levels that a formula gives."""
    n, c, y, x = np.ogrid[0:count, 0:3, 0:height, 0:width]
    return torch.from_numpy(((37 * (n + shift) + 53 * c + 11 * y + 7 * x + (n + 1) * y * x) % 256).astype(np.uint8))


def sampling():
    cases = []
    for total, fps in [(2, 25.0), (3, 25.0), (4, 30.0), (5, 30.0), (7, 1.0), (48, 24.0), (63, 24.0), (64, 25.0), (100, 29.97),
                       (121, 30.0), (250, 25.0), (301, 23.976), (999, 59.94), (2160, 60.0), (12000, 25.0), (17999, 30.0), (18000, 10.0)]:
        for wanted in (0.5, 1, 2, 4, 30):
            meta = VideoMetadata(total_num_frames=total, fps=fps, duration=total / fps)
            for name, processor in (("index", Qwen2VLVideoProcessor()), ("stamps", Qwen3VLVideoProcessor())):
                indices = processor.sample_frames(meta, fps=wanted).tolist()
                cases.append({"rule": name, "total": total, "fps": fps, "wanted": wanted, "count": len(indices),
                              "sum": sum(indices), "first": indices[:8], "last": indices[-8:]})
    meta = VideoMetadata(total_num_frames=90, fps=30.0, duration=3.0)
    for count in (2, 8, 9, 30):
        for name, processor in (("index", Qwen2VLVideoProcessor(fps=None)), ("stamps", Qwen3VLVideoProcessor(fps=None))):
            indices = processor.sample_frames(meta, num_frames=count).tolist()
            cases.append({"rule": name, "total": 90, "fps": 30.0, "frames": count, "count": len(indices), "sum": sum(indices),
                          "first": indices[:8], "last": indices[-8:]})
    return cases


def sizes():
    cases = []
    for height, width in [(24, 16), (20, 20), (360, 640), (1080, 1920), (2160, 3840), (100, 700), (31, 45), (1, 100), (480, 854)]:
        for count in (2, 5, 16, 64, 768):
            for least, most in ((64, 4096), (100352, 602112), (4096, 25165824)):
                for name, factor in (("index", 8), ("index", 28), ("stamps", 8), ("stamps", 32)):
                    own = (size_of_frame(height, width, factor, least, most) if name == "index" else
                           size_of_video(count, height, width, 2, factor, least, most))
                    if own[0] * own[1] * count <= 64000000 and own[0] * own[1] > 0:
                        cases.append([name, height, width, count, factor, least, most, own[0], own[1]])
    return cases[::4] + cases[1::7]


def capped():
    cases = []
    for count in (4, 64, 400):
        for height, width in ((360, 640), (1080, 1920)):
            for name, processor, factor in (("index", Qwen2VLVideoProcessor(), 28), ("stamps", Qwen3VLVideoProcessor(), 32)):
                video = torch.zeros(1, count, 1, 1, 1, dtype=torch.uint8).expand(1, count, 1, height, width)
                made = {}
                base = type(processor).__mro__[1]
                real = base.resize
                base.resize = lambda self, image, size, resample: made.update(h=size.height, w=size.width)
                processor.resize(video, processor.size, 3, factor, 2, cap_pixels_per_frame=True)
                base.resize = real
                cases.append([name, height, width, count, factor, made["h"], made["w"]])
    return cases


def times():
    cases = []
    for indices, fps in [([0, 12, 24, 36], 24.0), ([0, 1, 2], 30.0), ([0, 15, 30, 45, 60], 29.97), ([0, 3], 25.0), ([0], 10.0)]:
        stamps = Qwen3VLProcessor._calculate_timestamps(None, list(indices), fps, 2)
        cases.append({"indices": indices, "fps": fps, "seconds": stamps, "stamps": [f"<{t:.1f} seconds>" for t in stamps]})
    return cases


def rates(models):
    """Qwen2.5-VL: seconds of a group and positions t of a video's groups, behind two tokens, at rates and numbers of frames that
    are asked for."""
    cases = []
    processor = Qwen2VLVideoProcessor()
    for total, fps in [(100, 25.0), (250, 29.97), (64, 24.0)]:
        for asked in ({"fps": 0.5}, {"fps": 1}, {"fps": 3.7}, {"fps": 12.5}, {"num_frames": 6}, {"num_frames": 33}):
            meta = VideoMetadata(total_num_frames=total, fps=fps, duration=total / fps)
            own = processor if "fps" in asked else Qwen2VLVideoProcessor(fps=None)
            meta.frames_indices = own.sample_frames(meta, **asked).tolist()
            seconds = processor.temporal_patch_size / meta.sampled_fps
            groups = (len(meta.frames_indices) + 1) // 2
            ids = [1, 5] + [VIDEO] * (4 * groups)
            made, _ = models["qwen2_5_vl"].model.get_rope_index(
                torch.tensor([ids]), types_of(ids), video_grid_thw=torch.tensor([[groups, 4, 4]]),
                second_per_grid_ts=torch.tensor([seconds], dtype=torch.float32))
            cases.append({"total": total, "fps": fps, **{("fps_asked" if key == "fps" else key): value for key, value in asked.items()},
                           "seconds": seconds, "t": made[0, 0, 2::4].tolist()})
    return cases


def vision_ids(name, thw, kind):
    cells = thw[1] * thw[2] // 4
    if name == "qwen3_vl" and kind == VIDEO:
        ids = []
        for frame in range(thw[0]):
            ids += [20 + frame, 30, START] + [VIDEO] * cells + [END]
        return ids
    return [START] + [kind] * (thw[0] * cells) + [END]


def text_of(name, parts):
    ids, images, videos = [1, 5, 6], [], []
    for kind, thw in parts:
        ids += vision_ids(name, thw, IMAGE if kind == "image" else VIDEO)
        (images if kind == "image" else videos).append(thw)
        ids += [7, 8]
    return ids, images, videos


def types_of(ids):
    return torch.tensor([[1 if each == IMAGE else 2 if each == VIDEO else 0 for each in ids]])


def positions_of(model, name, ids, images, videos, seconds):
    """(3, T): the definition's blocks, with the text at the largest position so far + 1."""
    grid = lambda list_: torch.tensor(list_) if list_ else None
    extra = {"second_per_grid_ts": torch.tensor(seconds, dtype=torch.float32)} if name == "qwen2_5_vl" else {}
    own, _ = model.get_rope_index(torch.tensor([ids]), types_of(ids), image_grid_thw=grid(images), video_grid_thw=grid(videos), **extra)
    own = own[:, 0]
    kinds = types_of(ids)[0].tolist()
    made = torch.zeros(3, len(ids), dtype=torch.long)
    next_, at, late = 0, 0, False
    while at < len(ids):
        end = at
        while end < len(ids) and kinds[end] == kinds[at]:
            end += 1
        if kinds[at] == 0:
            made[:, at:end] = torch.arange(end - at) + next_
        else:
            block = own[:, at:end] - own[1:, at:end].min() + next_
            made[:, at:end] = block
            late = late or bool(block[0].max() > block[1:].max())
        next_ = int(made[:, :end].max()) + 1
        at = end
    assert late or torch.equal(made, own), name
    return made, late


def positions(models):
    cases = []
    for name, model in models.items():
        for parts, seconds in [([("video", (3, 4, 6))], [1.0]), ([("video", (4, 4, 4))], [0.5]), ([("video", (2, 8, 4))], [0.3]),
                               ([("image", (1, 4, 8)), ("video", (3, 6, 4))], [0.6]),
                               ([("video", (2, 4, 4)), ("image", (1, 6, 6)), ("video", (5, 2, 4))], [2.0, 1.7])]:
            ids, images, videos = text_of(name, parts)
            made, late = positions_of(model.model, name, ids, images, videos, seconds)
            cases.append({"model": name, "parts": parts, "seconds": seconds, "late": late, "input_ids": ids, "position_ids": made.tolist()})
    return cases


def run(name, model):
    """A text with a video of five frames, and one with a picture before it."""
    kind = Qwen3VLVideoProcessor if name == "qwen3_vl" else Qwen2VLVideoProcessor
    own = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3} if name == "qwen3_vl" else {}
    processor = kind(size={"shortest_edge": 64, "longest_edge": 4096}, patch_size=4, temporal_patch_size=2, merge_size=2,
                     do_sample_frames=False, cap_pixels_per_frame=False, **own)
    made = processor(videos=[frames(5, 16, 24)], return_tensors="pt")
    still = processor(videos=[frames(1, 24, 16, 9).expand(2, -1, -1, -1)], return_tensors="pt")
    ids, images, videos = text_of(name, [("image", (1, 6, 4)), ("video", (3, 4, 6))])
    assert made["video_grid_thw"].tolist() == [[3, 4, 6]] and still["video_grid_thw"].tolist() == [[1, 6, 4]]
    seconds = [0.75]
    position_ids, _ = positions_of(model.model, name, ids, images, videos, seconds)
    with torch.no_grad():
        out = model(input_ids=torch.tensor([ids]), pixel_values=still["pixel_values_videos"].double(),
                    image_grid_thw=torch.tensor(images), pixel_values_videos=made["pixel_values_videos"].double(),
                    video_grid_thw=torch.tensor(videos), position_ids=position_ids[:, None], mm_token_type_ids=types_of(ids),
                    output_attentions=True, use_cache=False)
    tensors = {"input_ids": torch.tensor(ids), "pixel_values": still["pixel_values_videos"], "image_grid_thw": torch.tensor(images),
               "pixel_values_videos": made["pixel_values_videos"], "video_grid_thw": torch.tensor(videos),
               "second_per_grid_ts": torch.tensor(seconds, dtype=torch.float32), "position_ids": position_ids,
               "logits": out.logits[0].float()}
    for n, map_ in enumerate(out.attentions):
        tensors[f"layers.{n}.attention"] = map_[0].float()
    save_file({key: value.contiguous() for key, value in tensors.items()}, os.path.join(HERE, name + ".safetensors"))


def main():
    models = {}
    for name, kind in MODELS.items():
        folder = os.path.join(HERE, "..", "families-vlm", name)
        models[name] = kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).double().eval()
        run(name, models[name])
    expected = {"sampling": sampling(), "sizes": sizes(), "capped": capped(), "times": times(), "positions": positions(models),
                "rates": rates(models)}
    with open(os.path.join(HERE, "expected.json"), "w") as file:
        file.write("{\n")
        for n, (key, cases) in enumerate(expected.items()):
            lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
            file.write(f'"{key}": [\n{lines}\n]' + (",\n" if n + 1 < len(expected) else "\n"))
        file.write("}\n")


main()
