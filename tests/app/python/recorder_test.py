"""Traces that assets/python/locus_trace.py records, against those of the program for the same weights and input.

recorder_test.py SOURCE LOCUS: the tree, and the program. Status 77 where Python has no PyTorch.
"""

import contextlib
import functools
import html
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from types import SimpleNamespace

try:
    import torch
except ImportError:
    print("recorder_test: PyTorch for Python is not installed")
    sys.exit(77)

SOURCE, LOCUS = sys.argv[1:3]
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SOURCE, "assets/python"), os.path.dirname(os.path.abspath(__file__))]
import locus_trace  # noqa: E402
import interface_models as interface  # noqa: E402
import older_models as older  # noqa: E402

TOLERANCE = 1e-4
DTYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "BF16": torch.bfloat16, "F16": torch.float16}


def read(path):
    """The tensors and the metadata of a safetensors file."""
    header, metadata = locus_trace.read_header(path)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    begin = len(data) - max((info["data_offsets"][1] for info in header.values()), default=0)
    tensors = {}
    for name, info in header.items():
        count = torch.Size(info["shape"]).numel()
        tensors[name] = torch.frombuffer(data, dtype=DTYPES[info["dtype"]], count=count,
                                         offset=begin + info["data_offsets"][0]).view(info["shape"])
    return tensors, metadata


def golden(name):
    return read(os.path.join(SOURCE, "tests/golden", name))[0]


def locus(*arguments, fails=False):
    done = subprocess.run([LOCUS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if (done.returncode != 0) != fails:
        raise AssertionError(f"locus {' '.join(arguments)}: status {done.returncode}: {done.stdout}")
    return done.stdout


class Recorded(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def checkpoint(self, model, config):
        """The folder that the program opens."""
        os.makedirs(self.path("checkpoint"), exist_ok=True)
        with open(self.path("checkpoint/config.json"), "w") as file:
            json.dump(config, file)
        weights = {name: value.detach() for name, value in model.state_dict().items()}
        locus_trace.write_safetensors(self.path("checkpoint/model.safetensors"), weights, {"format": "pt"})
        return self.path("checkpoint")

    def model(self, kind, config, weights):
        model = kind(SimpleNamespace(**config))
        missing, unexpected = model.load_state_dict(weights, strict=False)
        self.assertEqual([*missing, *unexpected], [])
        return model.eval()

    def expect_like_the_program(self, trace, checkpoint, ids, content=True):
        """The tensors of a trace, and the maps that the program makes of it, against a run of the program."""
        words = ["--ids", ",".join(map(str, ids))] if isinstance(ids, list) else ["--pixels", ids]
        keep = "q,k,q_content,k_content,logits" if content else "q,k,logits"
        locus("run", checkpoint, *words, "--trace", self.path("own.safetensors"), "--keep", keep)
        found, metadata = read(trace)
        wanted, described = read(self.path("own.safetensors"))
        count = json.loads(described["shape"])["layers"]
        mine, own = (json.loads(each.get("layer_encodings", f"[{','.join([each['encoding']] * count)}]")) for each in (metadata, described))
        turns = [(each or {}).get("name") == "rope" for each in own]
        for name, value in wanted.items():
            if name.endswith("log_sum_exp") or (name == "position_ids" and "image_grid" in metadata):
                continue
            if name.endswith("_content") and name not in found:  # where nothing turns, q and k are the content; else compared below
                if turns[int(name.split(".")[1])]:
                    continue
                name = name[:-len("_content")]
            self.assertIn(name, list(found))
            value = value[-1:] if name == "logits" and value.dim() == 2 else value
            self.expect_close(found[name], value, name)
        self.assertEqual([], [name for name in found if name not in wanted])
        for key in ("causal", "window", "family"):
            self.assertEqual(metadata[key], described[key], key)
        for key, one in (("windows", "window"), ("soft_caps", None), ("image_grid", None)):
            fallback = json.dumps([int(metadata[one])] * count) if one else "null"
            self.assertEqual(*(json.loads(each.get(key, fallback)) for each in (metadata, described)), key)
        for one, other in zip(mine, own):
            self.assertEqual(one is None, other is None)
            self.assertLessEqual((one or {}).items(), (other or {}).items())
        self.assertRegex(locus_trace.check(trace), r"^\d+ layers, \d+ heads, \d+ tokens$")
        said = json.loads(locus("verify", checkpoint, *words, "--against", trace, "--json"))
        self.assertTrue(said["passed"], said)
        compared = {f"layers.{n}.attention" for n in range(count)} | {f"layers.{n}.content" for n in range(count) if turns[n]}
        self.assertLessEqual(compared, {row["name"] for row in said["rows"]})

    def expect_same(self, trace, other):
        """Two traces that hold the same."""
        (tensors, metadata), (wanted, described) = read(trace), read(other)
        self.assertEqual(metadata, described)
        self.assertEqual(sorted(tensors), sorted(wanted))
        for name, value in wanted.items():
            self.expect_close(tensors[name], value, name)

    def expect_close(self, found, wanted, name):
        self.assertEqual(list(found.shape), list(wanted.shape), name)
        difference = ((found.double() - wanted.double()).abs() / (1 + wanted.double().abs())).max().item()
        self.assertLessEqual(difference, TOLERANCE, name)


LLAMA = {"model_type": "llama", "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 4, "intermediate_size": 48, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
         "max_position_embeddings": 64}
GPT2 = {"model_type": "gpt2", "vocab_size": 40, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
        "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 64}
NEOX = {"model_type": "gpt_neox", "vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 64, "rotary_pct": 0.25, "rotary_emb_base": 10000, "use_parallel_residual": True,
        "layer_norm_eps": 1e-5, "max_position_embeddings": 64}
BLOOM = {"model_type": "bloom", "vocab_size": 40, "hidden_size": 32, "n_layer": 2, "n_head": 4, "num_attention_heads": 4,
         "layer_norm_epsilon": 1e-5, "seq_length": 64}
VIT = {"model_type": "vit", "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40,
       "image_size": 32, "patch_size": 8, "layer_norm_eps": 1e-12, "id2label": {str(n): str(n) for n in range(5)}}


def weights_of(name):
    tensors = golden(name)
    return {key[2:]: value for key, value in tensors.items() if key.startswith("w.")}, tensors


class OlderModules(Recorded):
    def llama(self):
        weights, tensors = weights_of("llama_rope.safetensors")
        return self.model(older.LlamaForCausalLM, LLAMA, weights), tensors["input_ids"][:1]

    def gpt2(self):
        weights, tensors = weights_of("gpt2_vanilla.safetensors")
        return self.model(older.GPT2LMHeadModel, GPT2, weights), tensors["input_ids"][:1]

    def test_llama(self):
        model, ids = self.llama()
        with locus_trace.capture(model, self.path("t.safetensors")) as recording:
            model(input_ids=ids)
        self.assertEqual(recording.written, self.path("t.safetensors"))
        self.expect_like_the_program(self.path("t.safetensors"), self.checkpoint(model, LLAMA), ids[0].tolist())

    def test_logits_are_compared_by_the_size_of_their_row(self):
        model, ids = self.llama()
        model.lm_head.weight = torch.nn.Parameter(100 * model.lm_head.weight)
        with locus_trace.capture(model, self.path("t.safetensors")):
            model(input_ids=ids)
        tensors, metadata = read(self.path("t.safetensors"))
        row, size = tensors["logits"].flatten(), tensors["logits"].square().mean().sqrt()
        at = row.abs().argmin()
        self.assertGreater(size, 10 * (1 + row[at].abs()))
        words = ["verify", self.checkpoint(model, LLAMA), "--ids", ",".join(map(str, ids[0].tolist())), "--against", self.path("u.safetensors")]
        for factor, fails in ((5e-5, False), (3e-4, True)):
            changed = tensors["logits"].clone()
            changed.view(-1)[at] += factor * size
            locus_trace.write_safetensors(self.path("u.safetensors"), {**tensors, "logits": changed}, metadata)
            said = locus(*words, fails=fails)
            self.assertRegex(said, ("FAILED" if fails else "ok") + " .*logits against the trace")

    def test_gpt2(self):
        model, ids = self.gpt2()
        with locus_trace.capture(model, self.path("t.safetensors")):
            model(ids)
        self.expect_like_the_program(self.path("t.safetensors"), self.checkpoint(model, GPT2), ids[0].tolist(), content=False)

    def test_gpt_neox(self):
        weights, tensors = weights_of("gpt_neox_parallel.safetensors")
        model, ids = self.model(older.GPTNeoXForCausalLM, NEOX, weights), tensors["input_ids"][:1]
        with locus_trace.capture(model, self.path("t.safetensors")):
            model(ids)
        self.expect_like_the_program(self.path("t.safetensors"), self.checkpoint(model, NEOX), ids[0].tolist())

    def test_bloom(self):
        model, ids = older.BloomForCausalLM(SimpleNamespace(**BLOOM)).eval(), torch.arange(5, 16).unsqueeze(0)
        with locus_trace.capture(model, self.path("t.safetensors")):
            model(ids)
        self.expect_like_the_program(self.path("t.safetensors"), self.checkpoint(model, BLOOM), ids[0].tolist())

    def test_vit(self):
        model = older.ViTForImageClassification(SimpleNamespace(**VIT)).eval()
        pixels = torch.randn(1, 3, 32, 32)
        with locus_trace.capture(model, self.path("t.safetensors")):
            model(pixel_values=pixels)
        locus_trace.write_safetensors(self.path("pixels.safetensors"), {"pixel_values": pixels[0]}, {})
        self.expect_like_the_program(self.path("t.safetensors"), self.checkpoint(model, VIT), self.path("pixels.safetensors"),
                                     content=False)
        grid = {"rows": 4, "columns": 4, "cls": 1, "registers": 0}
        self.assertEqual(json.loads(read(self.path("t.safetensors"))[1]["image_grid"]), grid)

    def test_tokens_are_shown_as_the_tokenizer_says(self):
        model, ids = self.llama()
        tokenizer = SimpleNamespace(decode=lambda ids: "\ufffd" if ids[0] % 2 else f" w{ids[0]}",
                                    convert_ids_to_tokens=lambda ids: [f"<{ids[0]}>"])
        with locus_trace.capture(model, self.path("t.safetensors"), tokenizer=tokenizer, dtype=torch.bfloat16):
            model(ids)
        tensors, metadata = read(self.path("t.safetensors"))
        self.assertEqual(json.loads(metadata["tokens"]), [f"<{n}>" if n % 2 else f" w{n}" for n in ids[0].tolist()])
        self.assertEqual(tensors["layers.1.k"].dtype, torch.bfloat16)

    def test_the_text_and_the_bytes_of_each_token(self):
        pieces = {0: b"<s>", 1: b"A", 2: b" caf", 3: b"\xc3", 4: b"\xa9", 5: "数".encode(), 6: b" x"}
        tokenizer = SimpleNamespace(decode=lambda ids: b"".join(pieces[n] for n in ids).decode(errors="replace"), all_special_ids=[0])
        model, _ = self.llama()
        with locus_trace.capture(model, self.path("t.safetensors"), tokenizer=tokenizer):
            model(torch.tensor([[0, 1, 2, 3, 4, 5, 6]]))
        tensors, metadata = read(self.path("t.safetensors"))
        self.assertEqual(metadata["text"], "A café数 x")
        self.assertEqual(tensors["token_bytes"].tolist(), [[0, 0], [0, 1], [1, 5], [5, 7], [5, 7], [7, 10], [10, 12]])
        # A tokenizer that strips what the text has keeps to its labels.
        tokenizer.decode = lambda ids: b"".join(pieces[n] for n in ids).decode(errors="replace").lower()[1 - len(ids) % 2:]
        with locus_trace.capture(model, self.path("t.safetensors"), tokenizer=tokenizer):
            model(torch.tensor([[0, 1, 2, 5, 6]]))
        self.assertNotIn("text", read(self.path("t.safetensors"))[1])

    def test_the_model_is_as_before(self):
        model, ids = self.llama()
        before = model(ids).logits
        with self.assertRaisesRegex(ZeroDivisionError, "stopped"):
            with locus_trace.capture(model, self.path("t.safetensors")):
                self.assertTrue(torch.equal(model(ids).logits, before))
                raise ZeroDivisionError("stopped")
        self.assertFalse(os.path.exists(self.path("t.safetensors")))
        for module in model.modules():
            self.assertNotIn("forward", vars(module))
            self.assertEqual(len(module._forward_hooks), 0)

    def test_chosen_layers_count_from_0(self):
        model, ids = self.llama()
        with locus_trace.capture(model, self.path("t.safetensors"), layers=[1]):
            model(ids)
        with locus_trace.capture(model, self.path("all.safetensors")):
            model(ids)
        tensors, metadata = read(self.path("t.safetensors"))
        self.assertTrue(torch.equal(tensors["layers.0.q"], read(self.path("all.safetensors"))[0]["layers.1.q"]))
        self.assertEqual(metadata["recorded_layers"], "[1]")
        with self.assertRaisesRegex(locus_trace.TraceError, r"layers: expected some of \[0, 1\], found \[2\]"):
            locus_trace.capture(model, self.path("t.safetensors"), layers=[2])

    def test_padding_is_left_out(self):
        model, ids = self.llama()
        padded = torch.cat((torch.zeros(1, 3, dtype=torch.int64), ids), 1)
        batch = torch.cat((padded, torch.ones_like(padded)))
        mask = torch.ones_like(batch)
        mask[0, :3] = 0
        positions = (mask.cumsum(1) - 1).clamp_min(0)
        with locus_trace.capture(model, self.path("t.safetensors")):
            cache = model(input_ids=batch[:, :8], attention_mask=mask[:, :8], position_ids=positions[:, :8], use_cache=True)
            model(input_ids=batch[:, 8:], attention_mask=mask, position_ids=positions[:, 8:], past_key_values=cache.past_key_values)
        with locus_trace.capture(model, self.path("once.safetensors")):
            model(input_ids=ids)
        self.expect_same(self.path("t.safetensors"), self.path("once.safetensors"))

    def maps_under(self, mask):
        """The maps that the model computes with another mask, the tensors and metadata of its trace, and what was told."""
        model, ids = self.llama()
        usual, soft_max, maps = older.causal_mask, torch.nn.functional.softmax, []

        @functools.wraps(soft_max)
        def kept(*given, **named):
            maps.append(soft_max(*given, **named))
            return maps[-1]

        try:
            older.causal_mask, torch.nn.functional.softmax = lambda *a, **k: mask(usual, *a, **k), kept
            with torch.no_grad():
                model(ids)
            wanted = [each[0] for each in maps]
            with locus_trace.capture(model, self.path("t.safetensors")) as trace:
                model(ids)
        finally:
            older.causal_mask, torch.nn.functional.softmax = usual, soft_max
        return wanted, *read(self.path("t.safetensors")), str(trace)

    def test_what_q_and_k_do_not_give_is_kept_as_a_map(self):
        count = self.llama()[1].shape[1]
        tokens = torch.arange(count)
        blocked = torch.zeros(count, count).masked_fill(tokens[:, None] // 3 != tokens // 3, -1e9)
        for bias in (0.25 * tokens, 0.25 * tokens ** 2, blocked):
            wanted, found, _, told = self.maps_under(lambda usual, *a, **k: usual(*a, **k) + bias)
            self.assertRegex(told, "1 note: layers 0–1: the map is stored")
            self.assertEqual([name for name in found if name.startswith("layers.")], ["layers.0.attention", "layers.1.attention"])
            for layer in range(2):
                self.expect_close(found[f"layers.{layer}.attention"], wanted[layer], f"map of layer {layer}")
            self.assertEqual(locus_trace.check(self.path("t.safetensors")), f"2 layers, 4 heads, {count} tokens")
            locus("figure", "attention", self.path("t.safetensors"), "--layer", "1", "--out", self.path("t.svg"))

    def test_a_window_is_found_in_the_map(self):
        wanted, found, metadata, _ = self.maps_under(lambda usual, *a, **k: usual(*a, window=3, **k))
        self.assertEqual(metadata["window"], "3")
        for layer in range(2):
            q, k = (found[f"layers.{layer}.{part}"] for part in "qk")
            hidden = ~(torch.ones(q.shape[1], q.shape[1]).tril() - torch.ones(q.shape[1], q.shape[1]).tril(-3)).bool()
            own = torch.softmax((q @ k.transpose(1, 2) / 8 ** 0.5).masked_fill(hidden, -torch.inf), -1)
            self.expect_close(own, wanted[layer], f"map of layer {layer}")
            self.assertTrue(bool((wanted[layer][:, hidden] < 1e-6).all()))

    def test_what_is_no_score_of_q_and_k_is_refused(self):
        model, ids = self.llama()
        attention = model.model.layers[1].self_attn
        attention.forward = lambda hidden_states, **kwargs: (hidden_states,)
        with self.assertRaisesRegex(locus_trace.TraceError, "model.layers.1.self_attn: expected a score of q and k"):
            with locus_trace.capture(model, self.path("t.safetensors")):
                model(ids)


class Interface(Recorded):
    """Models that take their attention from a table of functions."""

    def family(self, name, implementation):
        folder = os.path.join("families", name)
        with open(os.path.join(SOURCE, "tests/golden", folder, "config.json")) as file:
            config = json.load(file)
        config["_attn_implementation"] = implementation
        model = self.model(interface.ForCausalLM, config, golden(os.path.join(folder, "model.safetensors")))
        return model, golden(os.path.join(folder, "expected.safetensors"))["input_ids"].unsqueeze(0), os.path.join(
            SOURCE, "tests/golden", folder)

    def expect_family(self, name, implementation):
        model, ids, folder = self.family(name, implementation)
        eager, functions = interface.eager_attention_forward, dict(interface.ALL_ATTENTION_FUNCTIONS._local_mapping)
        with locus_trace.capture(model, self.path("t.safetensors")):
            model(input_ids=ids)
        self.assertIs(interface.eager_attention_forward, eager)
        self.assertEqual(interface.ALL_ATTENTION_FUNCTIONS._local_mapping, functions)
        self.expect_like_the_program(self.path("t.safetensors"), folder, ids[0].tolist())

    def test_norms_of_q_and_k_and_grouped_heads(self):
        self.expect_family("qwen3", "sdpa")

    def test_layers_without_positions(self):
        self.expect_family("smollm3", "eager")

    def test_windows_caps_and_a_scale_of_its_own(self):
        self.expect_family("gemma2", "eager")


    def test_a_fused_score(self):
        fused = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
        fused = fused or torch.nn.functional._scaled_dot_product_attention  # PyTorch 1.13's, with two results

        def attend(attention, hidden_states, attention_mask=None, position_ids=None, **kwargs):
            shape = (*hidden_states.shape[:2], -1, attention.head_dim)
            query, key, value = (part(hidden_states).view(shape).transpose(1, 2)
                                 for part in (attention.q_proj, attention.k_proj, attention.v_proj))
            cos, sin = (each.unsqueeze(1) for each in attention.rotary_emb(value, position_ids))
            masks = {"is_causal": True} if attention.layer_idx == 0 else {"attn_mask": attention_mask}
            output = fused(older.rotated(query, cos, sin), older.rotated(key, cos, sin), value, **masks)
            output = output[0] if isinstance(output, tuple) else output
            return attention.o_proj(output.transpose(1, 2).reshape(hidden_states.shape)), None

        model, ids = OlderModules.llama(self)
        with locus_trace.capture(model, self.path("once.safetensors")):
            model(ids)
        for layer in model.model.layers:
            layer.self_attn.forward = functools.partial(attend, layer.self_attn)
        with locus_trace.capture(model, self.path("t.safetensors")):
            model(ids)
        self.expect_same(self.path("t.safetensors"), self.path("once.safetensors"))

    def test_a_scale_that_only_the_module_knows(self):
        model, ids, _ = self.family("qwen3", "eager")
        with locus_trace.capture(model, self.path("once.safetensors")):
            model(ids)
        for layer in model.model.layers:
            layer.self_attn.scaling, layer.self_attn.scale_attn_by_inverse_layer_idx = None, True
        attend = interface._attend
        self.addCleanup(setattr, interface, "_attend", attend)
        layers = iter((1, 2))
        interface._attend = lambda *given: attend(*given[:4], 0.25 / next(layers), None)
        with locus_trace.capture(model, self.path("t.safetensors")):
            model(ids)
        halved, usual = (read(self.path(name))[0]["layers.1.q"] for name in ("t.safetensors", "once.safetensors"))
        self.expect_close(2 * halved, usual, "q of layer 1")

    def test_a_mask_of_padding_alone_says_nothing_of_order(self):
        model, ids, _ = self.family("qwen3", "eager")
        with locus_trace.capture(model, self.path("once.safetensors")):
            model(ids)
        mask, attend = interface.causal_mask, interface._attend
        self.addCleanup(setattr, interface, "causal_mask", mask)
        self.addCleanup(setattr, interface, "_attend", attend)
        interface.causal_mask = lambda rows, keys, begin, like, window=0: torch.zeros(1, 1, 1, keys)
        interface._attend = lambda query, key, value, padding, *rest: attend(
            query, key, value, padding + mask(query.shape[2], key.shape[2], 0, query), *rest)
        with locus_trace.capture(model, self.path("t.safetensors")):
            model(ids)
        self.expect_same(self.path("t.safetensors"), self.path("once.safetensors"))

    def test_sinks(self):
        with open(os.path.join(SOURCE, "tests/golden/families/qwen3/config.json")) as file:
            config = {**json.load(file), "_attn_implementation": "eager", "model_type": "gemma2", "query_pre_attn_scalar": 16,
                      "attn_logit_softcapping": None, "sliding_window": 3}
        model = interface.ForCausalLM(SimpleNamespace(**config)).eval()
        for layer in model.model.layers:
            layer.self_attn.sinks = torch.nn.Parameter(torch.randn(4))
        self.addCleanup(setattr, interface, "eager_attention_forward", interface.eager_attention_forward)
        interface.eager_attention_forward = attend_with_sinks
        with locus_trace.capture(model, self.path("t.safetensors")):
            model(torch.arange(9).unsqueeze(0))
        found = read(self.path("t.safetensors"))[0]
        locus("figure", "attention", self.path("t.safetensors"), "--layer", "0", "--head", "3", "--out", self.path("t.svg"),
              "--data", self.path("t.csv"))
        logits = found["layers.0.q"][3] @ found["layers.0.k"][1].t() / 4
        seen = torch.ones(9, 9).tril() - torch.ones(9, 9).tril(-3)
        logits = torch.cat((logits.masked_fill(seen == 0, -torch.inf), found["layers.0.sinks"][3].expand(9, 1)), 1)
        with open(self.path("t.csv")) as file:
            rows = [[float(cell) for cell in line.split(",")] for line in file if not line.startswith("#")]
        self.expect_close(torch.tensor(rows), torch.softmax(logits, 1)[:, :9], "attention with a sink")

    def test_configurations_say_what_the_program_says(self):
        for family in ("gemma3_text", "cohere2", "phi3"):
            folder = os.path.join(SOURCE, "tests/golden/families", family)
            with open(os.path.join(folder, "config.json")) as file:
                config = SimpleNamespace(**json.load(file))
            info = json.loads(locus("info", folder, "--json"))
            of_layers = info.get("layer_encodings", [0] * info["layers"])
            windows = info.get("windows", [0] * info["layers"])
            for n, (index, window) in enumerate(zip(of_layers, windows)):
                own = None if index < 0 else info.get("encodings", [info["encoding"]])[index]
                found = locus_trace.encoding_of(config, n)
                for option, value in found.items() if own is not None else ():  # a recording finds layouts, and layers without
                    if option != "layout":
                        self.assertEqual(own[option], value, f"{family} {n}: {option}")
                self.assertEqual(locus_trace.window_of(config, n), window, f"{family} {n}")


def attend_with_sinks(module, query, key, value, attention_mask, scaling, **kwargs):
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    logits = query @ key.transpose(2, 3) * scaling + attention_mask[..., :key.shape[2]]
    sinks = module.sinks.reshape(1, -1, 1, 1).expand(*logits.shape[:3], 1)
    weights = torch.softmax(torch.cat((logits, sinks), -1), -1)[..., :-1]
    return (weights @ value).transpose(1, 2), weights


class Steps(Recorded):
    """Calls that append to a cache, against one call over all tokens."""

    def expect_same_as_at_once(self, model, ids, run):
        with locus_trace.capture(model, self.path("once.safetensors")):
            model(input_ids=ids)
        with locus_trace.capture(model, self.path("steps.safetensors")):
            run(model, ids)
        self.expect_same(self.path("steps.safetensors"), self.path("once.safetensors"))

    def step_by_step(self, model, ids, cache=None):
        for begin, end in [(0, 3)] + [(n, n + 1) for n in range(3, ids.shape[1])]:
            cache = model(input_ids=ids[:, begin:end], past_key_values=cache, use_cache=True).past_key_values

    def test_a_cache_of_tuples(self):
        model, ids = OlderModules.gpt2(self)

        def run(model, ids):
            cache = None
            for begin in range(0, ids.shape[1], 2):
                cache = model(ids[:, begin:begin + 2], past_key_values=cache).past_key_values

        self.expect_same_as_at_once(model, ids, run)

    def test_a_growing_and_a_static_cache(self):
        model, ids = OlderModules.llama(self)
        for room in (0, 12):
            self.expect_same_as_at_once(model, ids, lambda model, ids: self.step_by_step(model, ids, older.Cache(room)))

    def test_windows_by_the_interface(self):
        model, ids, _ = Interface.family(self, "gemma2", "sdpa")
        for cache in (None, older.Cache(room=ids.shape[1] + 3)):
            self.expect_same_as_at_once(model, ids, lambda model, ids: self.step_by_step(model, ids, cache))

    def test_another_text_replaces_the_one_before(self):
        model, ids = OlderModules.llama(self)

        def run(model, ids):  # all tokens anew at each step, after another text
            model(input_ids=ids.flip(1))
            for end in range(3, ids.shape[1] + 1):
                model(input_ids=ids[:, :end])

        self.expect_same_as_at_once(model, ids, run)

    def test_a_cache_from_before_is_refused(self):
        model, ids = OlderModules.llama(self)
        cache = model(input_ids=ids[:, :4], use_cache=True).past_key_values
        with self.assertRaisesRegex(locus_trace.TraceError, "expected a cache of 0 tokens, found 4: begin the recording before"):
            with locus_trace.capture(model, self.path("t.safetensors")):
                model(input_ids=ids[:, 4:], past_key_values=cache)


class SumOfRanks(torch.nn.Module):
    """A rank's columns of a projection; its output is the sum of all ranks', each of which runs in a thread."""

    def __init__(self, weight, rank, shared, barrier):
        super().__init__()
        self.weight, self.rank, self.shared, self.barrier = torch.nn.Parameter(weight), rank, shared, barrier

    def forward(self, x):
        self.shared[self.rank] = torch.nn.functional.linear(x, self.weight)
        self.barrier.wait(60)
        total = sum(self.shared)
        self.barrier.wait(60)
        return total


class Ranks(Recorded):
    """Sharded runs: each rank has a part of the heads, or of the layers."""

    def model_and_ids(self):
        config = {**LLAMA, "num_key_value_heads": 2}
        return older.LlamaForCausalLM(SimpleNamespace(**config)).eval(), config, torch.arange(3, 14).unsqueeze(0)

    def shard(self, model, config, rank, shared, barrier):
        own = older.LlamaForCausalLM(SimpleNamespace(**config)).eval()
        own.load_state_dict(model.state_dict())
        for layer in own.model.layers:
            attention = layer.self_attn
            for name in ("q_proj", "k_proj", "v_proj"):
                part = getattr(attention, name)
                part.weight = torch.nn.Parameter(part.weight.chunk(2)[rank])
            attention.num_heads, attention.num_key_value_heads = 2, 1
            attention.o_proj = SumOfRanks(attention.o_proj.weight.chunk(2, 1)[rank], rank, shared, barrier)
        return own

    def expect_one_trace(self, model, config, ids):
        for rank in range(2):
            self.assertRegex(locus_trace.check(self.path(f"t.rank{rank}of2.safetensors")), f"^rank {rank} of 2, ")
        checkpoint, words = self.checkpoint(model, config), ["--ids", ",".join(map(str, ids[0].tolist()))]
        said = json.loads(locus("verify", checkpoint, *words, "--against", self.path("t.rank1of2.safetensors"), "--json"))
        self.assertTrue(said["passed"], said)
        self.assertLessEqual({"layers.0.attention", "layers.1.attention"}, {row["name"] for row in said["rows"]})

    def test_heads(self):
        model, config, ids = self.model_and_ids()
        shared, barrier, errors = [None, None], threading.Barrier(2), []

        def run(rank):
            try:
                own = self.shard(model, config, rank, shared, barrier)
                with locus_trace.capture(own, self.path("t.safetensors"), rank=rank, ranks=2):
                    own(input_ids=ids)
            except Exception as error:
                errors.append(error)
                barrier.abort()

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(json.loads(read(self.path("t.rank1of2.safetensors"))[1]["shard"]),
                         {"rank": 1, "ranks": 2, "layers": [0, 1], "heads": [2, 4], "of": 4})
        self.expect_one_trace(model, config, ids)
        os.remove(self.path("t.rank0of2.safetensors"))
        said = locus("verify", self.path("checkpoint"), "--ids", "3,4", "--against", self.path("t.rank1of2.safetensors"), fails=True)
        self.assertEqual(said, f"locus: error: {self.path('t.rank0of2.safetensors')}: expected the file of rank 0 of 2, found none\n")

    def test_layers(self):
        model, config, ids = self.model_and_ids()
        layers = list(model.model.layers)
        del model.model.layers
        vars(model.model)["layers"] = layers  # called, but no modules that can be found, but for a rank's own
        for rank in range(2):
            model.model.own = torch.nn.ModuleDict({str(rank): layers[rank]})
            with locus_trace.capture(model, self.path("t.safetensors"), rank=rank, ranks=2):
                model(input_ids=ids)
        del model.model.own, vars(model.model)["layers"]
        model.model.layers = torch.nn.ModuleList(layers)
        self.expect_one_trace(model, config, ids)


class FromCache(Recorded):
    """Caches of TransformerLens: dicts by the names of its hooks, [batch, T, heads, D] and [batch, heads, T, T]."""

    def setUp(self):
        super().setUp()
        self.llama, self.ids = OlderModules.llama(self)
        locus("run", self.checkpoint(self.llama, LLAMA), "--ids", ",".join(map(str, self.ids[0].tolist())),
              "--trace", self.path("once.safetensors"), "--keep", "q,k,q_content,k_content")
        self.once = read(self.path("once.safetensors"))[0]
        self.model = SimpleNamespace(cfg=SimpleNamespace(
            positional_embedding_type="rotary", d_head=8, rotary_dim=8, rotary_base=10000, rotary_adjacent_pairs=False, d_model=32,
            n_ctx=64, d_vocab=50, attention_dir="causal", attn_scale=8 ** 0.5, model_name="small", attn_scores_soft_cap=-1.0))
        self.cache = {"hook_embed": torch.zeros(1, 7, 32)}
        hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
        for n in range(2):
            names = {"q": "hook_rot_q", "k": "hook_rot_k", "q_content": "hook_q", "k_content": "hook_k"}
            for name, hook in names.items():
                self.cache[f"blocks.{n}.attn.{hook}"] = self.once[f"layers.{n}.{name}"].transpose(0, 1).unsqueeze(0)
            logits = self.once[f"layers.{n}.q"] @ self.once[f"layers.{n}.k"].transpose(1, 2) / 8 ** 0.5
            self.cache[f"blocks.{n}.attn.hook_pattern"] = torch.softmax(logits.masked_fill(hidden, -torch.inf), -1).unsqueeze(0)

    def expect_maps_of_the_program(self):
        self.assertEqual(locus_trace.check(self.path("t.safetensors")), "2 layers, 4 heads, 7 tokens")
        said = json.loads(locus("verify", self.checkpoint(self.llama, LLAMA), "--ids", ",".join(map(str, self.ids[0].tolist())),
                                "--against", self.path("t.safetensors"), "--json"))
        self.assertTrue(said["passed"], said)
        self.assertLessEqual({"layers.0.attention", "layers.1.attention"}, {row["name"] for row in said["rows"]})

    def test_q_and_k(self):
        locus_trace.from_cache(self.cache, self.path("t.safetensors"), model=self.model, tokens=self.ids)
        found, metadata = read(self.path("t.safetensors"))
        for name, value in found.items():
            self.assertTrue(torch.equal(value, self.once[name]), name)
        self.assertEqual(len([name for name in found if "content" in name]), 4)
        self.model.cfg.rotary_dim = 4  # not what turned q and k: no encoding rather than a wrong one
        locus_trace.from_cache(self.cache, self.path("t.safetensors"), model=self.model, tokens=self.ids)
        self.assertEqual(json.loads(read(self.path("t.safetensors"))[1]["encoding"]), {"name": "none"})
        self.model.cfg.rotary_dim, self.model.cfg.rotary_adjacent_pairs = 8, True  # other pairs: those that turned
        locus_trace.from_cache(self.cache, self.path("t.safetensors"), model=self.model, tokens=self.ids)
        found, metadata = read(self.path("t.safetensors"))
        self.assertEqual(json.loads(metadata["encoding"]), {"name": "rope", "base": 10000.0, "layout": "half", "fraction": 1.0})
        self.expect_maps_of_the_program()

    def test_maps_alone(self):
        maps = {name: value for name, value in self.cache.items() if name.endswith("pattern")}
        locus_trace.from_cache(maps, self.path("t.safetensors"), tokens=self.ids[0].tolist())
        self.expect_maps_of_the_program()

    def test_q_and_k_that_do_not_give_the_map_leave_it(self):
        unturned = {name: value for name, value in self.cache.items() if "rot" not in name}
        locus_trace.from_cache(unturned, self.path("t.safetensors"), model=self.model, tokens=self.ids)
        self.assertEqual([name for name in read(self.path("t.safetensors"))[0] if "layers" in name], ["layers.0.attention", "layers.1.attention"])
        self.expect_maps_of_the_program()

    def test_a_scale_and_a_window_are_those_of_the_map(self):
        for n in range(2):
            logits = self.once[f"layers.{n}.q"] @ self.once[f"layers.{n}.k"].transpose(1, 2) / 3
            seen = torch.ones(7, 7).tril() - torch.ones(7, 7).tril(-3)
            self.cache[f"blocks.{n}.attn.hook_pattern"] = torch.softmax(logits.masked_fill(seen == 0, -torch.inf), -1).unsqueeze(0)
        locus_trace.from_cache(self.cache, self.path("t.safetensors"), model=self.model, tokens=self.ids)
        found, metadata = read(self.path("t.safetensors"))
        self.assertEqual(metadata["window"], "3")
        self.expect_close(found["layers.1.q"], self.once["layers.1.q"] * 8 ** 0.5 / 3, "q")

    def test_what_does_not_fit_is_refused(self):
        plain = {name: value for name, value in self.cache.items() if "rot" not in name and "pattern" not in name}
        for said, cache, arguments in (
                ("found layers none", {}, {}),
                ("tokens: expected 7, found 3", self.cache, {"tokens": ["a", "b", "c"]}),
                ("expected hook_pattern to be the soft-max", self.cache, {"scale": 1.0}),
                ("expected hook_pattern to be the soft-max", self.cache, {"causal": False}),
                ("expected hook_rot_q and hook_rot_k", plain, {}),
                ("expected an encoding that turns hook_q", self.cache, {"encoding": {"name": "rope", "base": 500.0}}),
                ("expected hook_q and hook_k", {name: self.cache[name] for name in self.cache if name.endswith("hook_q")}, {})):
            with self.assertRaisesRegex(locus_trace.TraceError, said):
                locus_trace.from_cache(cache, self.path("t.safetensors"), model=self.model, **arguments)
        self.assertFalse(os.path.exists(self.path("t.safetensors")))


class Convert(FromCache):
    """Caches and arrays in files, by --convert as a user types it."""

    test_q_and_k = test_maps_alone = test_what_does_not_fit_is_refused = None  # FromCache's

    def convert(self, source, *options, fails=False):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = locus_trace.main(["--convert", self.path(source), self.path("t.safetensors"), *options])
        self.assertEqual(status, 1 if fails else 0, said.getvalue())
        self.assertEqual(said.getvalue().count("\n"), 1, said.getvalue())
        return said.getvalue()

    def arrays(self, **more):
        named = {name: value for name, value in {**self.cache, "tokens": self.ids, **more}.items() if value is not None}
        return {name: value.numpy() for name, value in named.items()}

    def test_a_cache_as_npz(self):
        import numpy
        for save in (numpy.savez, numpy.savez_compressed):
            save(self.path("cache.npz"), **self.arrays())
            said = self.convert("cache.npz", "--encoding", '{"name": "rope", "base": 10000.0}')
            self.assertIn("2 layers, 4 heads, 7 tokens", said)
            found, metadata = read(self.path("t.safetensors"))
            for name, value in found.items():
                self.assertTrue(torch.equal(value, self.once[name]), name)
            self.assertEqual(json.loads(metadata["encoding"]), {"name": "rope", "base": 10000.0})
            self.expect_maps_of_the_program()

    def test_a_cache_as_torch_saves_it(self):
        torch.save({**self.cache, "tokens": self.ids}, self.path("cache.pt"))
        script = os.path.join(SOURCE, "assets/python/locus_trace.py")  # by itself, where PyTorch is imported late
        subprocess.run([sys.executable, script, "--convert", self.path("cache.pt"), self.path("t.safetensors")], check=True,
                       stdout=subprocess.DEVNULL)
        self.expect_maps_of_the_program()

    def test_arrays_by_a_traces_names(self):
        import numpy
        named = {name: value.numpy() for name, value in self.once.items() if ".q" in name or ".k" in name}
        columns_first = {name: numpy.asfortranarray(value) for name, value in named.items()}
        for arrays in (named, columns_first, {name: value[None] for name, value in named.items()}):
            numpy.savez(self.path("plain.npz"), input_ids=self.ids[0].numpy(), **arrays)
            self.convert("plain.npz")
            self.expect_maps_of_the_program()
        # Before the scale: q·k·s = (q·s·√D)·k/√D.
        divided = {name: value / 2 if ".q" in name else value for name, value in named.items()}
        numpy.savez(self.path("plain.npz"), input_ids=self.ids[0].numpy(), **divided)
        self.convert("plain.npz", "--scale", str(2 / 8 ** 0.5))
        self.expect_maps_of_the_program()
        maps = {f"layers.{n}.attention": self.cache[f"blocks.{n}.attn.hook_pattern"].numpy() for n in range(2)}
        numpy.savez(self.path("maps.npz"), tokens=self.ids.numpy(), **maps)
        self.convert("maps.npz")
        self.expect_maps_of_the_program()

    def test_what_is_no_such_file_is_refused_and_nothing_written(self):
        import numpy
        import pickle
        numpy.savez(self.path("objects.npz"), **{"layers.0.q": numpy.array([{}], dtype=object)})
        numpy.savez(self.path("few.npz"), **{"layers.0.q": numpy.zeros((4, 7, 8), dtype="f4")})
        numpy.savez(self.path("other.npz"), a=numpy.zeros(3))
        numpy.savez(self.path("big.npz"), **{"layers.0.q": numpy.zeros((4, 7, 8), dtype=">f4")})
        with open(self.path("evil.pt"), "wb") as file:
            pickle.dump({"a": Executed(self.path("executed"))}, file)
        with open(self.path("objects.npz"), "rb") as whole, open(self.path("cut.npz"), "wb") as file:
            file.write(whole.read()[:200])
        for name, said in (("objects.npz", "array layers.0.q: expected numbers"), ("few.npz", "tensor layers.0.k: expected it"),
                           ("other.npz", "expected blocks.N.attn.hook_q and hook_k, or layers.N.q"), ("big.npz", "expected numbers of <f8"),
                           ("cut.npz", "expected an archive"), ("evil.pt", "cannot be read without running it"),
                           ("none.npz", "No such file")):
            self.assertIn(said, self.convert(name, fails=True), name)
        self.assertFalse(os.path.exists(self.path("executed")))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("t.safetensors")], [])


class Executed:
    """Makes a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


class Check(Recorded):
    """python3 locus_trace.py --check"""

    def setUp(self):
        super().setUp()
        self.tensors = {"layers.0.q": torch.randn(4, 5, 6), "layers.0.k": torch.randn(2, 5, 6), "input_ids": torch.arange(5)}
        self.metadata = {"locus.format": "trace/1", "tokens": json.dumps(list("abcde")), "causal": "true"}

    def checked(self, path):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "assets/python/locus_trace.py"), "--check", path],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        return done.returncode, done.stdout, done.stderr

    def test_a_trace_is_told_in_a_line(self):
        locus_trace.write_safetensors(self.path("t.safetensors"), self.tensors, self.metadata)
        self.assertEqual(self.checked(self.path("t.safetensors")),
                         (0, f"{self.path('t.safetensors')}: 1 layer, 4 heads, 5 tokens\n", ""))
        self.assertEqual(os.listdir(self.folder), ["t.safetensors"])
        self.assertEqual(self.checked(self.path("none"))[::2],
                         (1, f"locus_trace: error: {self.path('none')}: No such file or directory\n"))

    def expect_refused(self, said, tensors=None, **metadata):
        metadata = {key.replace("_format", ".format"): value for key, value in metadata.items()}
        locus_trace.write_safetensors(self.path("t.safetensors"), {**self.tensors, **(tensors or {})}, {**self.metadata, **metadata})
        with self.assertRaisesRegex(locus_trace.TraceError, said):
            locus_trace.check(self.path("t.safetensors"))

    def test_wrong_tensors(self):
        self.expect_refused(r"tensor layers.0.k: expected shape \[any, 5, 6\], found \[2, 4, 6\]", {"layers.0.k": torch.randn(2, 4, 6)})
        self.expect_refused(r"tensor layers.0.k: expected heads that divide 4, found 3", {"layers.0.k": torch.randn(3, 5, 6)})
        self.expect_refused(r"tensor layers.1.k: expected it, or layers.1.attention, found none", {"layers.1.q": torch.randn(4, 5, 6)})
        self.expect_refused(r"expected the layers from 0 on, found \[0, 2\]", {"layers.2.q": torch.randn(4, 5, 6)})
        self.expect_refused(r"tensor input_ids: expected shape \[5\], found \[4\]", {"input_ids": torch.arange(4)})
        self.expect_refused(r"tensor layers.0.q: expected \[H, T, D\]", {"layers.0.q": torch.randn(4)})

    def test_wrong_metadata(self):
        self.expect_refused("metadata locus.format: expected trace/1, found trace/9", locus_format="trace/9")
        self.expect_refused("metadata tokens: expected 5 texts, found 1 entries", tokens='["a"]')
        self.expect_refused("metadata tokens: expected a JSON list", tokens="a")
        self.expect_refused("metadata causal: expected true or false, found maybe", causal="maybe")
        self.expect_refused("metadata window: expected a whole number, found -1", window="-1")
        self.expect_refused("metadata windows: expected a list of 1 entries, one per layer, found ", windows="[1, 2]")
        self.expect_refused("metadata encoding: name: expected a text", encoding="{}")
        self.expect_refused("metadata image_grid: expected rows", image_grid='{"rows": 2, "columns": 2}')

    def test_damaged_files(self):
        path = self.path("t.safetensors")
        locus_trace.write_safetensors(path, self.tensors, self.metadata)
        with open(path, "rb") as file:
            whole = file.read()
        length = int.from_bytes(whole[:8], "little")
        for said, data in (("header: expected at most", b""), ("header: expected at most", whole[:7]), ("header: expected", whole[:100]),
                           ("expected two offsets up to", whole[:-1]), ("bytes behind the header", whole + b"a"),
                           ("header: expected JSON", whole[:8] + b"\xff" * length + whole[8 + length:]),
                           ("header: expected JSON", whole[:8] + b"[" * length + whole[8 + length:]),
                           ("expected a dtype of", whole.replace(b'"F32"', b'"F99"', 1)),
                           ("whole numbers of at least 0", whole.replace(b"[4,5,6]", b"[4,-5,6]", 1).replace(b"}} ", b"}}", 1)),
                           ("bytes for", whole.replace(b"[4,5,6]", b"[4,5,7]", 1)),
                           ("expected bytes from", whole.replace(b"[0,40]", b"[8,48]", 1))):
            with open(path, "wb") as file:
                file.write(data)
            with self.assertRaisesRegex(locus_trace.TraceError, said):
                locus_trace.check(path)
        status, out, error = self.checked(path)
        self.assertEqual((status, out), (1, ""))
        self.assertRegex(error, f"^locus_trace: error: {path}: tensor input_ids: expected bytes from 0 on, found 8\n$")


class Shown(Recorded):
    """What a cell of a notebook gets of a recording."""

    def recorded(self):
        class Heads(torch.nn.Module):
            def forward(self, states):
                scores = states @ states.transpose(-2, -1) / states.shape[-1] ** 0.5
                future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
                return scores.masked_fill(future, -torch.inf).softmax(-1) @ states

        model = Heads()
        with locus_trace.record(self.path("shown.safetensors")) as trace:
            with self.assertRaisesRegex(locus_trace.TraceError, "block has not ended"):
                locus_trace.show(trace, program=LOCUS)
            model(torch.randn(1, 2, 6, 8))
        return trace

    def test_a_recording_is_the_programs_page_in_a_frame(self):
        trace = self.recorded()
        figure = locus_trace.show(trace, layer=0, head=1, ignore_first=True, hide=None, program=LOCUS, height=400)
        locus("figure", "attention", trace.written, "--layer", "0", "--head", "1", "--ignore-first", "--out", self.path("page.html"))
        with open(self.path("page.html"), encoding="utf-8") as file:
            self.assertEqual(figure.page, file.read())
        cell = figure._repr_html_()
        self.assertRegex(cell, '^<iframe sandbox="allow-scripts" width="100%" height="400" ')
        inside = cell.split('srcdoc="', 1)[1].split('"', 1)[0]  # no quote of the page ends it
        self.assertEqual(html.unescape(inside), figure.page)
        figure.save(self.path("saved.html"))
        with open(self.path("saved.html"), encoding="utf-8") as file:
            self.assertEqual(file.read(), figure.page)
        self.assertEqual(locus_trace.show(trace.written, layer=0, head=1, ignore_first=True, program=LOCUS).page, figure.page)

    def test_what_the_program_refuses_is_told(self):
        trace = self.recorded()
        with self.assertRaisesRegex(locus_trace.TraceError, "head"):
            locus_trace.show(trace, head=7, program=LOCUS)
        with self.assertRaisesRegex(locus_trace.TraceError, "no-such-view"):
            locus_trace.show(trace, view="no-such-view", program=LOCUS)
        with self.assertRaisesRegex(locus_trace.TraceError, "expected a trace to show"):
            locus_trace.show(program=LOCUS)

    def test_without_the_program(self):
        trace = self.recorded()
        before = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        os.environ["PATH"] = self.folder
        if importlib.util.find_spec("locus_scope") is None:
            with self.assertRaisesRegex(locus_trace.TraceError, "expected the program locus"):
                locus_trace.show(trace)


if __name__ == "__main__":
    torch.manual_seed(5)
    torch.set_num_threads(1)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
