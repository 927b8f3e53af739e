#!/usr/bin/env python3
"""make.py: remakes expected.safetensors and lines.json beside this file: a picture, what OpenCV's Python makes of it by each line of
changes, and what the image processor of transformers' ViT makes of that with Pillow.

`picture` [H, W, 3] and `N.changed` [H', W', 3] are bytes, `N.pixel_values` [3, 32, 32] floats; line N is entry N of
`lines`. Each step is done here by itself with numpy matrices and cv2; steps that move are one resampling.

Needs numpy, opencv-python-headless (4.6.0.66 made what is here; its interpolation is that of Debian's), Pillow, torch,
torchvision, safetensors and transformers (5.24). The tests need none of them."""
import json, math, os
import cv2, numpy as np
from PIL import Image
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
SIDE, PATCH = 32, 8
LINES = ["shift 8 0", "shift -2.5 1.25", "shift 0.125p -0.5p", "shift 10% 0", "rotate 15", "rotate -90", "scale 1.5",
         "scale 0.7", "mirror", "mirror up-down", "shift 3 2; rotate 30; scale 1.2; mirror", "border black; rotate 20",
         "border grey; shift 5 5", "border reflect; shift 9 -7", "border wrap; shift 20 11", "crop 5 7 40 30",
         "crop 10% 10% 50% 50%", "occlude 10 8 16 12", "occlude 1p 1p 2p 1p 200", "blur 2", "blur 0.25p", "noise 16",
         "noise 30 7", "brightness 1.4", "brightness 0.5", "crop 4 4 48 32; blur 1; shift 0.5p 0; occlude 0 0 9 9 0"]
BORDERS = {"edge": (cv2.BORDER_REPLICATE, 0), "black": (cv2.BORDER_CONSTANT, 0), "grey": (cv2.BORDER_CONSTANT, 128),
           "reflect": (cv2.BORDER_REFLECT_101, 0), "wrap": (cv2.BORDER_WRAP, 0)}


def picture():
    y, x = np.mgrid[0:43, 0:61].astype(np.float64)
    rgb = np.stack([127 + 120 * np.sin(x / 7) * np.cos(y / 5), 127 + 120 * np.sin((x + y) / 9), 4 * x + 0.2 * y], -1)
    rgb[12:22, 20:38] = (230, 40, 60)
    rgb[30:38, 5:15] = (10, 200, 90)
    return np.clip(np.round(rgb), 0, 255).astype(np.uint8)


def length(word, side, patch):
    return float(word[:-1]) * patch if word[-1] == "p" else float(word[:-1]) / 100 * side if word[-1] == "%" else float(word)


def changed(image, line):
    border, pending = "edge", np.eye(3)
    def drawn(image, pending):
        if np.array_equal(pending, np.eye(3)):
            return image
        mode, level = BORDERS[border]
        return cv2.warpAffine(image, pending[:2], image.shape[1::-1], flags=cv2.INTER_LINEAR, borderMode=mode,
                              borderValue=(level,) * 3)
    for step in line.split("; "):
        name, *words = step.split()
        height, width = image.shape[:2]
        wide, high = PATCH * width / SIDE, PATCH * height / SIDE
        centre = ((width - 1) / 2, (height - 1) / 2)
        matrix = np.eye(3)
        if name == "shift":
            matrix[:2, 2] = length(words[0], width, wide), length(words[1], height, high)
        elif name == "rotate":
            matrix[:2] = cv2.getRotationMatrix2D(centre, -float(words[0]), 1)  # OpenCV counts counter-clockwise
        elif name == "scale":
            matrix[:2] = cv2.getRotationMatrix2D(centre, 0, float(words[0]))
        elif name == "mirror":
            up = words == ["up-down"]
            matrix = np.array([[1, 0, 0], [0, -1, height - 1], [0, 0, 1.]]) if up else np.array([[-1, 0, width - 1], [0, 1, 0], [0, 0, 1.]])
        if name in ("shift", "rotate", "scale", "mirror"):
            pending = matrix @ pending
            continue
        image, pending = drawn(image, pending), np.eye(3)
        if name == "border":
            border = words[0]
        elif name in ("crop", "occlude"):
            left, top, across, down = (math.floor(length(word, side, patch) + 0.5) for word, side, patch in
                                       zip(words, (width, height) * 2, (wide, high) * 2))
            if name == "crop":
                image = np.asarray(Image.fromarray(image).crop((left, top, left + across, top + down)))
            else:
                image = image.copy()
                cv2.rectangle(image, (left, top), (left + across - 1, top + down - 1), (float(words[4]) if words[4:] else 128,) * 3, -1)
        elif name == "blur":
            image = cv2.GaussianBlur(image, (0, 0), length(words[0], width, wide), borderType=cv2.BORDER_REPLICATE)
        elif name == "noise":
            cv2.setRNGSeed(int(words[1]) if words[1:] else 1)
            noise = cv2.randn(np.zeros(image.shape, np.float32), (0,) * 3, (float(words[0]),) * 3)
            image = np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)
        elif name == "brightness":
            image = cv2.convertScaleAbs(image, alpha=float(words[0]))
    return drawn(image, pending)


def main():
    from transformers import ViTImageProcessorPil
    processor = ViTImageProcessorPil(size={"height": SIDE, "width": SIDE})
    image = picture()
    tensors = {"picture": image}
    for n, line in enumerate(LINES):
        own = np.ascontiguousarray(changed(image, line))
        tensors[f"{n}.changed"] = own
        pixels = processor(Image.fromarray(own), return_tensors="np")["pixel_values"][0]
        tensors[f"{n}.pixel_values"] = np.ascontiguousarray(pixels, np.float32)
    save_file(tensors, os.path.join(HERE, "expected.safetensors"))
    with open(os.path.join(HERE, "lines.json"), "w") as file:
        json.dump({"lines": LINES, "preprocessor": json.loads(processor.to_json_string())}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
