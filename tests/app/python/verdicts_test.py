"""Damaged traces: `locus_trace.py --check` and the program refuse the same.

verdicts_test.py SOURCE LOCUS: the tree, and the program. Status 77 where Python has no PyTorch.
"""

import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    print("verdicts_test: PyTorch for Python is not installed")
    sys.exit(77)

SOURCE, LOCUS = sys.argv[1:3]
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SOURCE, "assets/python")]
import locus_trace  # noqa: E402

# A trace of two layers, and what is changed in its metadata or among its tensors (None: left out).
TENSORS = {"layers.0.q": torch.randn(4, 5, 6), "layers.0.k": torch.randn(2, 5, 6), "layers.1.q": torch.randn(4, 5, 6),
           "layers.1.k": torch.randn(2, 5, 6), "input_ids": torch.arange(5)}
METADATA = {"locus.format": "trace/1", "tokens": json.dumps(list("abcde")), "causal": "true", "encoding": '{"name": "rope", "base": 10000.0}'}

# Options of a rotary encoding.
ROPE = [{}, {"fraction": 0.5}, {"fraction": 1.5}, {"fraction": 0}, {"fraction": 0.7}, {"base": 0}, {"base": -1}, {"base": "x"}, {"base": 500},
        {"layout": "other"}, {"layout": "swapped"}, {"unknown": 1}, {"scaling": "strange"}, {"scaling": "linear", "factor": 2.0},
        {"scaling": "linear", "factor": -2.0}, {"scaling": "yarn"}, {"scaling": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
        {"scaling": "yarn", "truncate": 3}, {"scaling": "llama3", "factor": 8.0},
        {"scaling": "llama3", "original_max_position_embeddings": 64, "low_freq_factor": 4.0, "high_freq_factor": 2.0},
        {"scaling": "dynamic", "fraction": 0.4}, {"scaling": "proportional", "proportion": 0.2}, {"scaling": "proportional", "proportion": 0.5},
        {"scaling": "clipped"}, {"scaling": "clipped", "clip_pairs": 2}, {"scaling": "clipped", "clip_pairs": 1}, {"clip_pairs": 0},
        {"scaling": "clipped", "clip_pairs": 1, "clip": "hard"}, {"scaling": "clipped", "clip_pairs": 2, "clip": "firm"}, {"clip_pairs": 0.5},
        {"scaling": "longrope", "original_max_position_embeddings": 64, "short_factor": [1, 1, 1], "long_factor": [1, 1, 1]},
        {"scaling": "longrope", "original_max_position_embeddings": 64, "short_factor": [1, 1], "long_factor": [1, 1, 1]},
        {"scaling": "longrope", "original_max_position_embeddings": 64, "short_factor": [1, 1, 0], "long_factor": [1, 1, 1]},
        {"norm": True}, {"norm": 1}, {"sections": [1, 1, 1]}, {"sections": [1, 1]}, {"sections": [1, 1, 2]},
        {"sections": [2, 1, 0], "section_layout": "distributed"}, {"sections": [1, 1, 1], "section_layout": "distributed"},
        {"sections": [1, 1, 1], "section_layout": "rows"}, {"sections": [1, 0, 1], "section_layout": "heads"},
        {"sections": [0, 1, 0], "section_layout": "heads"}, {"sections": [0, 0, 0], "section_layout": "heads"},
        {"sections": [1, 1, 1], "section_layout": "heads"}, {"sections": [0.5, 0.5, 0], "section_layout": "heads"}]

# Other metadata.
TEXTS = {
    "encoding": ['{"name": "zz"}', '{"name": "alibi"}', '{"name": "alibi", "before_scaling": 3}', '{"name": "none"}', '{"name": "none", "a": 1}',
                 '{"name": "learned"}', '{"name": "sinusoidal"}', "{}", "[]", "null", "5", "{"],
    "causal": ["maybe", "false", ""],
    "window": ["3", "-1", "x", "99999999999999999999999"],
    "windows": ["[1, 2]", "[1]", "[1, -2]", "[1, 2.5]", '["1", 2]', "{}"],
    "chunks": ["[0, 2]", "[0, -2]"],
    "soft_caps": ["[0, 30.0]", "[0, -1]", "[0]", '[0, "a"]'],
    "sinks": ["[true, false]", "[0, 1]"],
    "attends": ["[true, false]", "[true, true]", "[true]", "[true, true, false]", "[1, 1]"],
    "layer_encodings": ['[null, {"name": "rope"}]', "[null]", '[5, {"name": "rope"}]', '[{}, {"name": "rope"}]', '[{"name": "rope", "fraction": 3}, null]'],
    "tokens": ['["a"]', "a", "[1, 2, 3, 4, 5]", "{}"],
    "image_grid": ['{"rows": 2, "columns": 2, "cls": 1}', '{"rows": 2, "columns": 2}', '{"rows": -2, "columns": 2}', "[]",
                   '{"rows": 5, "columns": 1, "registers": 0}'],
    "notes": ['["a"]', "[1]", "{}"],
    "recorded_layers": ["[3, 4]", "[3]", '["a", "b"]', "[-1, 2]"],
    "shape": ['{"layers": 2}', '{"kv_heads": 4}', '{"layers": 3}', "[]", '{"trained_length": -1}', '{"vocabulary": "a"}'],
    "head_widths": ["[6, 6]", "[6]", "[5, 6]", "[4, 6]"],
    "key_heads": ["[2, 2]", "[3, 2]"],
    "mixers": ['["a", ""]', '["a"]'],
    "images": ["[]", "5"],
    "locus.format": ["trace/9", ""],
}

# Tensors that differ, or are missing.
CHANGES = [
    {"layers.0.k": torch.randn(2, 4, 6)}, {"layers.0.k": torch.randn(3, 5, 6)}, {"layers.2.q": torch.randn(4, 5, 6)},
    {"layers.3.q": torch.randn(4, 5, 6), "layers.3.k": torch.randn(2, 5, 6)}, {"input_ids": torch.arange(4)},
    {"input_ids": torch.arange(5).float()}, {"input_ids": torch.arange(5).int()}, {"input_ids": torch.arange(5).view(1, 5)},
    {"layers.0.q": torch.randn(4)}, {"layers.0.q": torch.randn(4, 5, 8)}, {"layers.1.q": torch.randn(4, 5, 8), "layers.1.k": torch.randn(2, 5, 8)},
    {"layers.1.q": torch.randn(8, 5, 6)}, {"layers.1.q": torch.randn(4, 6, 6), "layers.1.k": torch.randn(2, 6, 6)}, {"layers.1.k": None},
    {"layers.1.q": None}, {"layers.0.q": None, "layers.0.k": None}, dict.fromkeys(TENSORS), {"input_ids": None},
    {"layers.0.attention": torch.rand(4, 5, 5)}, {"layers.0.attention": torch.rand(4, 5, 6)}, {"layers.0.attention": torch.rand(3, 5, 5)},
    {"layers.0.attention": torch.rand(4, 5, 5), "layers.0.q": None, "layers.0.k": None},
    {"layers.0.q_content": torch.rand(4, 5, 6), "layers.0.k_content": torch.rand(2, 5, 6)},
    {"layers.0.q_content": torch.rand(4, 4, 6), "layers.0.k_content": torch.rand(2, 5, 6)}, {"layers.0.k_content": torch.rand(3, 5, 6)},
    {"layers.0.sinks": torch.rand(4)}, {"layers.0.sinks": torch.rand(3)}, {"token_bytes": torch.zeros(4, 2).long()},
    {"position_ids": torch.arange(5)}, {"position_ids": torch.arange(4)}, {"position_ids": torch.zeros(2, 5).long()},
    {"logits": torch.rand(1, 9)}, {"logits": torch.rand(9)}, {"layers.0.log_sum_exp": torch.rand(4, 4)}, {"layers.0.hidden": torch.rand(5, 8)},
    {"layers.0.hidden": torch.rand(4, 8)}, {"layers.0.q": torch.randn(0, 5, 6)}, {"layers.0.q": torch.randn(4, 0, 6)},
    {"layers.0.q": torch.randn(4, 5, 0), "layers.0.k": torch.randn(2, 5, 0)}, {"layers.0.q": torch.zeros(4, 5, 6).double()},
    {"layers.0.blocks": torch.zeros(4).long()}, {"other": torch.randn(3)}]


def all_of_them():
    """(tensors, metadata) of each."""
    yield TENSORS, METADATA
    for options in ROPE:
        yield TENSORS, {**METADATA, "encoding": json.dumps({"name": "rope", **options})}
    by_heads = json.dumps({"name": "rope", "sections": [1, 1, 0], "section_layout": "heads"})
    for count in (0, 2, 4):  # a file with edited pairs has more key heads than the model
        yield TENSORS, {**METADATA, "encoding": by_heads, "shape": json.dumps({"kv_heads": count})}
    for key, texts in TEXTS.items():
        for text in texts:
            yield TENSORS, {**METADATA, key: text}
    sides = {f"decoder.{name}" if name.startswith("layers") else f"decoder_{name}": value for name, value in TENSORS.items()}
    crossing = {"decoder.layers.0.cross_attention": torch.rand(4, 5, 3), "decoder.layers.1.cross_q": torch.rand(4, 5, 6),
                "decoder.layers.1.cross_k": torch.rand(2, 3, 6)}
    texts = {"locus.format": "trace/1", "decoder.causal": "true"}
    yield sides, texts
    yield {**sides, **crossing}, texts
    yield {**sides, **crossing}, {**texts, "tokens": '["a", "b", "c"]'}
    yield {**sides, **crossing}, {**texts, "tokens": '["a", "b"]'}
    yield {**sides, **crossing, "input_ids": torch.arange(3)}, texts
    yield {**sides, **crossing, "input_ids": torch.arange(4)}, texts
    yield {**sides, **crossing, "input_ids": torch.arange(3)}, {**texts, "decoder.encoding": '{"name": "learned"}'}
    yield {**sides, **crossing, "input_ids": torch.arange(3)}, {**texts, "decoder.encoding": '{"name": "learned"}', "decoder.shape": '{"trained_length": 9}'}
    for change in CHANGES:
        yield {name: value for name, value in {**TENSORS, **change}.items() if value is not None}, METADATA


class Verdicts(unittest.TestCase):
    def test_both_know_the_same_encodings(self):
        listed = json.loads(subprocess.run([LOCUS, "info", "--encodings", "--json"], capture_output=True, text=True, check=True).stdout)
        self.assertEqual(sorted(each["name"] for each in listed), sorted(locus_trace.ENCODINGS))

    def test_the_program_gives_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            made = []
            for number, (tensors, metadata) in enumerate(all_of_them()):
                path = os.path.join(folder, f"{number}.safetensors")
                locus_trace.write_safetensors(path, tensors, metadata)
                try:
                    locus_trace.check(path)
                    said = None
                except locus_trace.TraceError as error:
                    said = str(error)
                changed = {key: text for key, text in metadata.items() if METADATA.get(key) != text}
                changed.update({name: list(value.shape) for name, value in tensors.items() if value is not TENSORS.get(name)})
                made.append((path, said, changed, set(TENSORS) - set(tensors)))
            with concurrent.futures.ThreadPoolExecutor(2) as both:
                opened = list(both.map(lambda each: subprocess.run([LOCUS, "info", each[0]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                                   universal_newlines=True), made))
        for (path, said, changed, missing), done in zip(made, opened):
            with self.subTest(changed=changed, missing=missing):
                self.assertIn(done.returncode, (0, 3, 4), done.stderr)
                self.assertEqual(said is None, done.returncode == 0, f"check: {said}; locus: {done.stderr}")
        refused = sum(said is not None for _, said, _, _ in made)
        self.assertGreater(refused, 60)
        self.assertGreater(len(made) - refused, 30)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
