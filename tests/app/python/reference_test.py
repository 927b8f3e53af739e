"""What assets/python/reference.py writes, against stored values of the authors' code and against `locus verify`.

reference_test.py SOURCE LOCUS: the tree, and the program. Status 77 where Python has no PyTorch.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from types import SimpleNamespace

try:
    import torch
except ImportError:
    print("reference_test: PyTorch for Python is not installed")
    sys.exit(77)

SOURCE, LOCUS = sys.argv[1:3]
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SOURCE, "assets/python"), os.path.dirname(os.path.abspath(__file__))]
import locus_trace  # noqa: E402
import older_models as older  # noqa: E402
import reference  # noqa: E402

LLAMA = {"model_type": "llama", "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 4, "intermediate_size": 48, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
         "max_position_embeddings": 64, "architectures": ["LlamaForCausalLM"]}
GPT2 = {"model_type": "gpt2", "vocab_size": 40, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
        "architectures": ["GPT2LMHeadModel"]}
TOLERANCE = 1e-5


def verify(folder):
    done = subprocess.run([LOCUS, "verify", folder, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    rows = json.loads(done.stdout)["rows"] if done.stdout else []
    return done.returncode, {row["name"]: row["difference"] for row in rows}, done.stderr.decode()


class Written(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        # As if transformers were not installed, whatever this machine has.
        self.hide("transformers", None)

    def hide(self, name, module):
        before = sys.modules.get(name, self)
        sys.modules[name] = module
        self.addCleanup(lambda: sys.modules.pop(name) if before is self else sys.modules.update({name: before}))

    def checkpoint(self, golden, config, dtype=torch.float32):
        """The folder of stored weights; the weights, and the values that the authors' code gave for them."""
        path = os.path.join(SOURCE, "tests/golden", golden)
        tensors = reference.read_file(path)
        weights = {name[2:]: value.to(dtype) for name, value in tensors.items() if name.startswith("w.")}
        with open(os.path.join(self.folder, "config.json"), "w") as file:
            json.dump(config, file)
        locus_trace.write_safetensors(os.path.join(self.folder, "model.safetensors"), weights, {"format": "pt"})
        header, _ = locus_trace.read_header(path)
        with open(path, "rb") as file:
            data = bytearray(file.read())
        begin = len(data) - max(info["data_offsets"][1] for info in header.values())
        ids = header["input_ids"]
        tensors["input_ids"] = torch.frombuffer(data, dtype=torch.int64, count=torch.Size(ids["shape"]).numel(),
                                                offset=begin + ids["data_offsets"][0]).view(ids["shape"])
        return weights, tensors

    def run_it(self, *arguments, fails=False):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = reference.main([self.folder, *arguments])
        self.assertEqual(status != 0, fails, said.getvalue())
        return said.getvalue()

    def expected(self):
        return reference.read_file(os.path.join(self.folder, "expected.safetensors"))

    def expect_close(self, found, wanted, name):
        self.assertEqual(list(found.shape), list(wanted.shape), name)
        difference = ((found - wanted).abs() / (1 + wanted.abs())).max().item()
        self.assertLessEqual(difference, TOLERANCE, name)

    def expect_verified(self, layers=2):
        status, rows, said = verify(self.folder)
        self.assertEqual(status, 0, said)
        self.assertEqual(set(rows), {"logits"} | {f"layers.{n}.attention" for n in range(layers)})
        self.assertLessEqual(max(rows.values()), TOLERANCE)


class TorchAlone(Written):
    def check(self, golden, config):
        _, tensors = self.checkpoint(golden, config)
        ids = tensors["input_ids"][0].tolist()
        self.assertIn("by PyTorch", self.run_it("--ids", ",".join(map(str, ids))))
        self.expect_close(self.expected()["logits"], tensors["logits"][0], "logits")
        self.expect_verified()

    def test_llama(self):
        self.check("llama_rope.safetensors", LLAMA)

    def test_gpt2(self):
        self.check("gpt2_vanilla.safetensors", GPT2)

    def test_ids_of_its_own(self):
        self.checkpoint("llama_rope.safetensors", LLAMA, torch.bfloat16)
        self.run_it()
        self.expect_verified()
        self.assertEqual(self.expected()["logits"].shape[0], reference.DEFAULT_TOKENS)

    def test_other_weights_do_not_pass(self):
        weights, _ = self.checkpoint("gpt2_vanilla.safetensors", GPT2)
        self.run_it()
        name = next(name for name in weights if name.endswith("h.1.attn.c_attn.weight"))
        weights[name][3, 5] += 0.5
        locus_trace.write_safetensors(os.path.join(self.folder, "model.safetensors"), weights, {"format": "pt"})
        status, rows, said = verify(self.folder)
        self.assertEqual(status, 1, said)
        self.assertGreater(rows["layers.1.attention"], 1e-4)
        self.assertLessEqual(rows["layers.0.attention"], TOLERANCE)

    def test_llama3_and_linear_scaling(self):
        for scaling in ({"rope_type": "linear", "factor": 4.0},
                        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 32}):
            self.checkpoint("llama_rope.safetensors", {**LLAMA, "rope_scaling": scaling})
            self.run_it()
            self.expect_verified()

    def test_what_it_does_not_know_is_said(self):
        self.checkpoint("llama_rope.safetensors", {**LLAMA, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}})
        self.assertIn("expected linear or llama3, found yarn", self.run_it(fails=True))
        self.checkpoint("llama_rope.safetensors", {**LLAMA, "sliding_window": 8})
        self.assertIn("expected at most 8 tokens, the window, found 24", self.run_it(fails=True))
        self.checkpoint("llama_rope.safetensors", {**LLAMA, "model_type": "novelty"})
        self.assertIn("found novelty; with transformers, any", self.run_it(fails=True))
        self.checkpoint("llama_rope.safetensors", LLAMA)
        self.assertIn("--text and --image need transformers", self.run_it("--text", "a", fails=True))
        self.assertIn("expected 0 to 49, found 50", self.run_it("--ids", "1,50", fails=True))
        self.assertEqual(sorted(os.listdir(self.folder)), ["config.json", "model.safetensors"])


class FakeLlama:
    """transformers' class as far as reference.py uses it, around the tests' own model."""

    asked = {}

    @classmethod
    def from_pretrained(cls, folder, **options):
        cls.asked = options
        with open(os.path.join(folder, "config.json")) as file:
            model = older.LlamaForCausalLM(SimpleNamespace(**json.load(file)))
        weights = reference.read_file(os.path.join(folder, "model.safetensors"))
        model.load_state_dict({name: value.float() for name, value in weights.items()})
        made = cls()
        made.model = model
        return made

    def eval(self):
        return self

    def __call__(self, input_ids, output_attentions):
        maps = []

        def keep(function):
            def softmax(*arguments, **options):
                maps.append(function(*arguments, **options))
                return maps[-1]
            return softmax

        whole = older.F.softmax
        older.F.softmax = keep(whole)
        try:
            output = self.model(input_ids)
        finally:
            older.F.softmax = whole
        return SimpleNamespace(logits=output.logits, attentions=tuple(maps) if output_attentions else None)


class FakeTokenizer:
    @staticmethod
    def from_pretrained(folder):
        return lambda text: {"input_ids": [ord(letter) % 50 for letter in text]}


class Transformers(Written):
    def setUp(self):
        super().setUp()
        module = types.ModuleType("transformers")
        module.__version__ = "4.55.0"
        module.AutoConfig = SimpleNamespace(from_pretrained=lambda folder: SimpleNamespace(**LLAMA))
        module.AutoTokenizer = FakeTokenizer
        module.LlamaForCausalLM = FakeLlama
        self.hide("transformers", module)
        self.module = module

    def test_its_class_computes(self):
        self.checkpoint("llama_rope.safetensors", LLAMA)
        self.assertIn("by transformers 4.55.0", self.run_it("--text", "To be, or not to be"))
        self.assertEqual(FakeLlama.asked, {"attn_implementation": "eager", "torch_dtype": torch.float32})
        self.expect_verified()
        self.module.__version__ = "5.0.0.dev0"
        self.run_it("--ids", "1,2,3")
        self.assertEqual(FakeLlama.asked, {"attn_implementation": "eager", "dtype": torch.float32})
        self.expect_verified()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
