#!/usr/bin/env python3
"""cases.py [PATTERN...]   records models of the libraries that people use, as the manual says it, and compares each trace with what the
                        same model gives at once, with its own maps

unittest's options apply (-k PATTERN). A library that is not installed is one line."""
import json
import linecache
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(HERE, "..", "..", "assets", "python"), os.path.join(HERE, "..", "conformance"), HERE]
import torch  # noqa: E402
import locus_trace  # noqa: E402
import make  # noqa: E402
from maps import maps_of, read  # noqa: E402
from sweep import drawn, library_maps  # noqa: E402


SETTINGS = {row["type"]: row["settings"] for row in make.table()}


def model_of(name, implementation=None, seed=3):
    from transformers import CONFIG_MAPPING
    config = make.small(CONFIG_MAPPING[name], SETTINGS.get(name, {}))
    torch.manual_seed(seed)
    options = {"attn_implementation": implementation} if implementation else {}
    return drawn(make.kinds()[name][1].from_config(config, **options).float(), seed)


class Case(unittest.TestCase):
    def library(self, name):
        try:
            return __import__(name)
        except Exception as error:
            self.skipTest(f"{name}: {type(error).__name__}")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "run.safetensors")
        self.ids = torch.randint(3, 90, (1, 11), generator=torch.Generator().manual_seed(1))

    def expect_maps(self, wanted, tolerance=2e-4):
        found = maps_of(self.path)
        self.assertEqual(set(wanted) - set(found), set())
        for name, value in wanted.items():
            self.assertEqual(list(found[name].shape), list(value.shape), name)
            self.assertLess(float((found[name] - value.double()).abs().max()), tolerance, name)

    def maps_at_once(self, model, ids, **more):
        before = model.config._attn_implementation
        model.set_attn_implementation("eager")
        with torch.no_grad():
            out = model(ids, output_attentions=True, **more)
        model.set_attn_implementation(before)
        return library_maps(out, model.config)


class Transformers(Case):
    def test_generation(self):
        for name, implementation in (("llama", "sdpa"), ("llama", "eager"), ("gemma3_text", "sdpa"), ("gpt2", "sdpa"), ("qwen3_next", "sdpa")):
            for more in ({}, {"cache_implementation": "static"}):
                if more and name in ("gpt2", "qwen3_next"):
                    continue
                with self.subTest(name=name, implementation=implementation, **more):
                    model = model_of(name, implementation)
                    plain = model.generate(self.ids, max_new_tokens=5, do_sample=False, **more)
                    with locus_trace.record(self.path) as trace:
                        written = model.generate(self.ids, max_new_tokens=5, do_sample=False, **more)
                    self.assertEqual(written.tolist(), plain.tolist())
                    ids = read(self.path)[0]["input_ids"]
                    self.assertEqual(ids.tolist(), written[0, :len(ids)].tolist(), trace)
                    self.assertEqual(len(ids), written.shape[1] - 1)
                    self.expect_maps(self.maps_at_once(model, ids[None]))

    def test_flex_attention(self):
        for name in ("llama", "gemma3_text"):
            with self.subTest(name=name):
                model = model_of(name, "flex_attention")
                with torch.no_grad(), locus_trace.record(self.path):
                    model(self.ids)
                self.expect_maps(self.maps_at_once(model, self.ids))

    def test_a_mask_that_differs_in_one_row_of_a_long_text(self):
        for implementation in ("eager", "sdpa"):
            model = model_of("gpt_neox", implementation)
            model.config.max_position_embeddings = 400
            ids = torch.randint(3, 90, (1, 300))
            mask = torch.ones(300, 300, dtype=torch.bool).tril()
            mask[123, 5] = False
            given = torch.zeros(1, 1, 300, 300).masked_fill(~mask, -1e30)
            with torch.no_grad(), locus_trace.record(self.path) as trace:
                model(ids, attention_mask=given)
            self.assertIn("the map is stored", str(trace))
            self.assertEqual(float(maps_of(self.path)["layers.1.attention"][:, 123, 5].max()), 0)

    def test_beams_are_refused(self):
        model = model_of("llama")
        with self.assertRaisesRegex(locus_trace.TraceError, "batch|beams"):
            with locus_trace.record(self.path):
                model.generate(self.ids, max_new_tokens=8, num_beams=4, do_sample=False)

    def test_a_cache_by_any_name(self):
        from transformers import DynamicCache
        model, cache = model_of("llama"), None
        cache = DynamicCache(config=model.config)
        with torch.no_grad(), locus_trace.record(self.path):
            for begin in (0, 6):
                model(self.ids[:, begin:begin + 6], past_key_values=cache)
        self.expect_maps(self.maps_at_once(model, self.ids))

    def test_padding(self):
        for name in ("llama", "gpt2", "bert"):
            for implementation in ("eager", "sdpa"):
                for left in (True, False):
                    with self.subTest(name=name, implementation=implementation, left=left):
                        model = model_of(name, implementation)
                        pad = torch.zeros(1, 4, dtype=torch.int64)
                        row = torch.cat((pad, self.ids) if left else (self.ids, pad), 1)
                        mask = (row > 0).long()
                        batch = torch.cat((row, torch.full_like(row, 7)))
                        with torch.no_grad(), locus_trace.record(self.path):
                            model(batch, attention_mask=torch.cat((mask, torch.ones_like(mask))))
                        model.set_attn_implementation("eager")
                        with torch.no_grad():
                            maps = library_maps(model(row, attention_mask=mask, output_attentions=True), model.config)
                        kept = mask[0].bool()
                        self.expect_maps({key: value[:, kept][:, :, kept] for key, value in maps.items()})
                        self.assertEqual(read(self.path)[0]["input_ids"].tolist(), self.ids[0].tolist())

    def test_an_encoder_decoder(self):
        for name in ("t5", "bart"):
            with self.subTest(name=name):
                model = model_of(name)
                with locus_trace.record(self.path) as trace:
                    written = model.generate(self.ids, max_new_tokens=5, min_new_tokens=5, do_sample=False, decoder_start_token_id=0)
                tensors = read(self.path)[0]
                self.assertEqual(tensors["input_ids"].tolist(), self.ids[0].tolist(), trace)
                self.assertEqual(tensors["decoder_input_ids"].tolist(), written[0, :-1].tolist())
                model.set_attn_implementation("eager")
                with torch.no_grad():
                    out = model(self.ids, decoder_input_ids=written[:, :-1], output_attentions=True)
                self.expect_maps(library_maps(out, model.config))

    def test_a_compiled_model(self):
        model = model_of("llama")
        compiled = torch.compile(model, backend="eager")
        with torch.no_grad():
            before = compiled(self.ids).logits
            with locus_trace.capture(compiled, self.path):
                during = compiled(self.ids).logits
            self.assertTrue(torch.allclose(before, during, atol=1e-5))
            self.assertTrue(torch.allclose(before, compiled(self.ids).logits, atol=1e-5))
        self.expect_maps(self.maps_at_once(model, self.ids))

    def test_numbers_of_16_bits(self):
        model = model_of("llama").bfloat16()
        with torch.no_grad(), locus_trace.record(self.path):
            model(self.ids)
        self.expect_maps(self.maps_at_once(model, self.ids), 0.1)
        self.assertEqual(read(self.path)[0]["layers.0.k"].dtype, torch.bfloat16)

    def test_a_step_of_training(self):
        model = model_of("llama").train()
        model.gradient_checkpointing_enable()
        with locus_trace.record(self.path):
            model(self.ids, labels=self.ids).loss.backward()
        self.expect_maps(self.maps_at_once(model.eval(), self.ids))

    def test_an_error_of_the_recorder_waits_for_the_end(self):
        model = model_of("llama")
        with torch.no_grad():
            cache = model(self.ids[:, :4], use_cache=True).past_key_values
            with self.assertRaisesRegex(locus_trace.TraceError, "begin the recording before the first call"):
                with locus_trace.record(self.path):
                    done = model(self.ids[:, 4:], past_key_values=cache)
        self.assertEqual(done.logits.shape[1], 7)
        self.assertFalse(os.path.exists(self.path))

    def test_encodings_are_checked(self):
        for name, expected in (("llama", "half"), ("cohere", "interleaved"), ("ernie4_5_moe", "interleaved"), ("gptj", "interleaved")):
            with self.subTest(name=name):
                model = model_of(name)
                with torch.no_grad(), locus_trace.record(self.path) as trace:
                    model(self.ids)
                self.assertIn("checked", str(trace))
                self.assertIn(f'"layout": "{expected}"', read(self.path)[1]["encoding"])

    def test_positions_that_are_added_are_those_of_the_table(self):
        from transformers import CONFIG_MAPPING
        for name, expected in (("gpt2", "learned"), ("jamba", "none"), ("ctrl", "sinusoidal"), ("roformer", "rope"), ("marian", "sinusoidal")):
            with self.subTest(name=name):
                model = make.kinds()[name][1].from_config(make.small(CONFIG_MAPPING[name], SETTINGS.get(name, {}))).float().eval()
                more = {"decoder_input_ids": self.ids[:, :5]} if name == "marian" else {}
                with torch.no_grad(), locus_trace.record(self.path) as trace:
                    model(self.ids, **more)
                encoding = json.loads(read(self.path)[1]["decoder.encoding" if more else "encoding"])
                self.assertEqual(encoding["name"], expected, trace)

    def test_several_sequences_and_speculation(self):
        model = model_of("llama")
        with locus_trace.record(self.path):
            written = model.generate(self.ids, max_new_tokens=4, do_sample=True, num_return_sequences=3)
        ids = read(self.path)[0]["input_ids"]
        self.assertEqual(ids.tolist(), written[0, :-1].tolist())
        self.expect_maps(self.maps_at_once(model, ids[None]))
        for more in ({"assistant_model": model_of("llama", seed=4)}, {"prompt_lookup_num_tokens": 3}):
            with locus_trace.capture(model, self.path):
                written = model.generate(self.ids.repeat(1, 2), max_new_tokens=6, do_sample=False, **more)
            ids = read(self.path)[0]["input_ids"]  # and what the last call tried
            self.assertEqual(ids[:written.shape[1] - 1].tolist(), written[0, :-1].tolist())
            self.expect_maps(self.maps_at_once(model, ids[None]))

    def test_packed_texts_keep_their_maps(self):
        model, places = model_of("llama"), torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5]])
        with torch.no_grad(), locus_trace.record(self.path):
            model(self.ids, position_ids=places)
        self.expect_maps(self.maps_at_once(model, self.ids, position_ids=places))

    def test_low_rank_adapters(self):
        peft = self.library("peft")
        model = model_of("llama")
        adapted = peft.get_peft_model(model, peft.LoraConfig(target_modules=["q_proj", "k_proj"], init_lora_weights=False))
        with torch.no_grad(), locus_trace.record(self.path) as trace:
            adapted(input_ids=self.ids)
        self.expect_maps(self.maps_at_once(adapted.merge_and_unload(), self.ids))
        self.assertIn("rope 10000 checked", str(trace))


class Plain(Case):
    """Modules written by hand, with torch alone."""

    def expect_plain(self, attend, causal=True):
        class Attention(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.wq, self.wk, self.wv = (torch.nn.Linear(32, 32) for _ in range(3))

            def forward(self, x):
                q, k, v = (each(x).view(*x.shape[:2], 4, 8).transpose(1, 2) for each in (self.wq, self.wk, self.wv))
                found = attend(q, k, v)
                return x + found.transpose(1, 2).reshape(x.shape)

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.blocks = torch.nn.Embedding(90, 32), torch.nn.ModuleList(Attention() for _ in range(3))

            def forward(self, tokens):
                x = self.embed(tokens)
                for block in self.blocks:
                    x = block(x)
                return x

        torch.manual_seed(2)
        model, kept = Model(), []
        for block in model.blocks:
            block.register_forward_hook(lambda module, given, output: kept.append((module, given[0])))
        with torch.no_grad(), locus_trace.record(self.path) as trace:
            model(self.ids)
        wanted = {}
        with torch.no_grad():
            for layer, (module, x) in enumerate(kept):
                q, k = (each(x).view(*x.shape[:2], 4, 8).transpose(1, 2)[0] for each in (module.wq, module.wk))
                logits = q @ k.transpose(1, 2) / 8 ** 0.5
                logits = logits.masked_fill(torch.ones_like(logits).triu(1).bool(), -torch.inf) if causal else logits
                wanted[f"layers.{layer}.attention"] = torch.softmax(logits, -1)
        self.expect_maps(wanted)
        self.assertEqual(read(self.path)[0]["input_ids"].tolist(), self.ids[0].tolist())
        self.assertIn("layers.2.q", read(self.path)[0], trace)

    def test_sdpa(self):
        self.expect_plain(lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))

    def test_matmul(self):
        self.expect_plain(lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) / 8 ** 0.5, -1) @ v, causal=False)

    def test_einsum(self):
        hidden = torch.ones(11, 11, dtype=torch.bool).triu(1)
        self.expect_plain(lambda q, k, v: torch.einsum("bhij,bhjd->bhid", (torch.einsum("bhid,bhjd->bhij", q, k) * 8 ** -0.5)
                                                       .masked_fill(hidden, -1e9).softmax(-1), v))

    def test_transformer_encoder(self):
        torch.manual_seed(2)
        encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2).eval()
        x = torch.randn(1, 9, 32)
        with torch.no_grad(), locus_trace.record(self.path):
            encoder(x)
        wanted = {}
        with torch.no_grad():
            for layer, block in enumerate(encoder.layers):
                wanted[f"layers.{layer}.attention"] = block.self_attn(x, x, x, average_attn_weights=False)[1][0]
                x = block(x)
        self.expect_maps(wanted)


def words():
    """A tokenizer of w0 to w89."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    own = Tokenizer(models.WordLevel({f"w{n}": n for n in range(90)}, unk_token="w0"))
    own.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=own, unk_token="w0", pad_token="w1", eos_token="w2", bos_token="w2")


class Manual(Case):
    """The lines of the manual's page on recording, as they stand there, with a tiny model in the place of one from the hub."""
    def setUp(self):
        super().setUp()
        with open(os.path.join(HERE, "..", "..", "assets", "manual", "recorder.md")) as file:
            self.blocks = file.read().split("```\n")[1::2]
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(os.path.dirname(self.path))

    def lines(self, part):
        found = [block for block in self.blocks if part in block]
        self.assertEqual(len(found), 1, part)
        return found[0]

    def run_lines(self, part, names, *changes):
        """Runs a block from a file, where nnsight reads it again."""
        text = self.lines(part)
        for change in changes:
            text = text.replace(*change)
        with open("lines.py", "w") as file:
            file.write(text)
        linecache.clearcache()
        exec(compile(text, os.path.abspath("lines.py"), "exec"), names)

    def test_no_block_is_left_out(self):
        parts = ("model.generate(", "layers, 15 tokens", "TransformerBridge", "from_cache(", "nnsight", "--convert", "--check")
        for block in self.blocks:
            self.assertEqual(sum(part in block for part in parts), 1, block)

    def test_any_model(self):
        model, tokenizer = model_of("llama"), words()
        inputs = {"input_ids": self.ids}
        self.run_lines("model.generate(", {"model": model, "tokenizer": tokenizer, "inputs": inputs})
        ids = read(self.path)[0]["input_ids"]
        self.expect_maps(self.maps_at_once(model, ids[None]))
        self.assertEqual(json.loads(read(self.path)[1]["tokens"])[:11], [f"w{n}" for n in self.ids[0].tolist()])

    def test_transformer_lens(self):
        self.library("transformer_lens")
        from transformer_lens.model_bridge import TransformerBridge
        boot = TransformerBridge.boot_transformers
        for name in ("gpt2", "llama", "mistral", "gemma2", "gpt_neox", "phi", "qwen3"):
            with self.subTest(name=name):
                model = model_of(name)
                model.save_pretrained("hub")
                words().save_pretrained("hub")
                from transformers import AutoTokenizer
                bridge = boot("hub", hf_model=model, tokenizer=AutoTokenizer.from_pretrained("hub"))
                names = {"to_tokens": None}
                with mock.patch.object(TransformerBridge, "boot_transformers", lambda *_: bridge), \
                        mock.patch.object(type(bridge), "to_tokens", lambda *_: self.ids):
                    self.run_lines("TransformerBridge", names)
                wanted = {f"layers.{n}.attention": names["cache"][f"blocks.{n}.attn.hook_pattern"][0] for n in range(model.config.num_hidden_layers)}
                self.expect_maps(wanted)
                encoding = json.loads(read(self.path)[1]["encoding"])
                os.unlink(self.path)
                self.run_lines("from_cache(", names)
                self.expect_maps(wanted)
                own = json.loads(read(self.path)[1]["encoding"])
                if "rope" == own["name"] == encoding["name"]:  # else one of them does not tell
                    self.assertEqual(own, encoding)

    def test_nnsight(self):
        nnsight = self.library("nnsight")
        model, own = model_of("gpt2"), nnsight.LanguageModel
        with mock.patch.object(nnsight, "LanguageModel", lambda *_, **more: own(model, tokenizer=words())):
            self.run_lines("nnsight", {}, ("To be, or not to be", "w5 w6 w7 w8"))
        self.expect_maps(self.maps_at_once(model, torch.tensor([[5, 6, 7, 8]])))

    def test_files(self):
        import numpy
        model = model_of("llama")
        with torch.no_grad(), locus_trace.record(self.path):
            model(self.ids)
        wanted = maps_of(self.path)
        arrays = {name: value for name, value in read(self.path)[0].items() if name.startswith("layers") or name == "input_ids"}
        numpy.savez("cache.npz", **{name: value.numpy() for name, value in arrays.items()})
        torch.save(arrays, "cache.pt")
        script = os.path.join(HERE, "..", "..", "assets", "python", "locus_trace.py")
        for line in (self.lines("--convert") + self.lines("--check")).splitlines():
            done = subprocess.run(line.replace("python3 locus_trace.py", f"{sys.executable} {script}"), shell=True, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), line)
            self.expect_maps(wanted, 1e-6)


class OtherLibraries(Case):
    def test_nnsight_generates(self):
        nnsight = self.library("nnsight")
        model = model_of("llama")
        lens = nnsight.LanguageModel(model, tokenizer=words())
        with locus_trace.record(self.path):
            with lens.generate("w5 w6 w7", max_new_tokens=4, do_sample=False):
                written = lens.generator.output.save()
        ids = read(self.path)[0]["input_ids"]
        self.assertEqual(ids.tolist(), written[0, :-1].tolist())
        self.expect_maps(self.maps_at_once(model, ids[None]))

    def test_sentence_transformers(self):
        library = self.library("sentence_transformers")
        model, folder = model_of("bert"), os.path.dirname(self.path)
        model.save_pretrained(folder)
        words().save_pretrained(folder)
        from sentence_transformers import models
        sentences = library.SentenceTransformer(modules=[models.Transformer(folder), models.Pooling(64)], device="cpu")
        with locus_trace.record(self.path, tokenizer=sentences.tokenizer):
            sentences.encode(["w5 w6 w7 w8 w9"], show_progress_bar=False)
        self.expect_maps(self.maps_at_once(model, read(self.path)[0]["input_ids"][None]))

    def test_timm(self):
        timm = self.library("timm")
        for name, more in (("vit_tiny_patch16_224", {}), ("vit_small_patch14_reg4_dinov2", {}), ("deit_tiny_distilled_patch16_224", {}), ("beit_base_patch16_224", {})):
            with self.subTest(name=name):
                model = timm.create_model(name, pretrained=False, img_size=56, depth=2, embed_dim=48, num_heads=3, **more).eval()
                with torch.no_grad(), locus_trace.record(self.path) as trace:
                    model(torch.randn(1, 3, 56, 56))
                self.assertIn('"rows": 3' if "patch16" in name else '"rows": 4', read(self.path)[1].get("image_grid", ""), trace)

    def test_x_transformers(self):
        library = self.library("x_transformers")
        for flash in (False, True):
            with self.subTest(flash=flash):
                model = library.TransformerWrapper(num_tokens=90, max_seq_len=32, attn_layers=library.Decoder(
                    dim=32, depth=2, heads=4, attn_dim_head=8, rotary_pos_emb=True, attn_flash=flash)).eval()
                with torch.no_grad(), locus_trace.record(self.path) as trace:
                    model(self.ids)
                self.assertEqual(read(self.path)[0]["input_ids"].tolist(), self.ids[0].tolist(), trace)
                self.assertIn("layers.0.q", read(self.path)[0])


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(5)
    unittest.main()
