#!/usr/bin/env python3
"""make.py: remakes the folders beside this file with the installed transformers.

tasks/NAME holds a tiny random checkpoint of a class without an output head (config.json, model.safetensors) and
expected.safetensors: input_ids [T], hidden [T, C], layers.N.attention [H, T, T], the library's own float32 eager values.
sentence/NAME is a folder as sentence-transformers writes it (modules.json, the model, 1_Pooling, 2_Dense, …) with a
transformer of two layers; expected.safetensors holds input_ids and vector, made by the arithmetic of its modules.

adapters/NAME is an adapter as PEFT writes it (adapter_config.json, adapter_model.safetensors) of adapters/base, whose own values are in its expected.safetensors;
expected.safetensors holds input_ids and logits of the library's model with the sum W + scale · B A (DoRA: with its columns
at their stored lengths; IA3: with scaled rows or columns) in place of W, made by PEFT's arithmetic in float64.

native/NAME holds a checkpoint under the names of Meta (consolidated.NN.pth, two parts, and params.json) or of Mistral
(consolidated.safetensors and params.json), and expected.safetensors with input_ids and logits of the library's model with
the same weights.

pairs/NAME is a model that compares pictures with texts, with a vocabulary of letters; pixels.safetensors holds a picture,
expected.safetensors the ids of the texts of PAIR_TEXTS, and what the library makes of both: image_embeds, text_embeds and
logits_per_image, and of each half hidden.KIND and KIND.layers.N.attention [H, T, T] (KIND: image, text0, text1).

Needs torch, safetensors and transformers (5.24.0 made what is here); the tests need none of them."""
import json, os, re, shutil
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import torch, transformers
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
ENCODER = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=20)
DECODER = dict(ENCODER, num_attention_heads=4, num_key_value_heads=2)
TYPES = {
    "bert": ENCODER, "roberta": ENCODER, "distilbert": dict(dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=20),
    "electra": dict(ENCODER, embedding_size=12),
    "deberta-v2": dict(ENCODER, relative_attention=True, position_buckets=4, norm_rel_ebd="layer_norm", share_att_key=True,
                       pos_att_type=["p2c", "c2p"], position_biased_input=False, type_vocab_size=0, pooler_hidden_size=16),
    "modernbert": dict(ENCODER, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2, local_attention=4),
    "llama": DECODER, "qwen2": DECODER, "qwen3": dict(DECODER, head_dim=6), "mistral": dict(DECODER, sliding_window=4),
    "gemma2": dict(DECODER, head_dim=6, sliding_window=4), "gpt2": dict(n_embd=16, n_layer=2, n_head=2, n_positions=20),
    "opt": dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=24, word_embed_proj_dim=16, max_position_embeddings=20),
}
TASKS = {"model": "AutoModel", "sequence": "AutoModelForSequenceClassification", "token": "AutoModelForTokenClassification",
         "question": "AutoModelForQuestionAnswering", "choice": "AutoModelForMultipleChoice"}
TYPES |= {"clip_text_model": ENCODER, "siglip_text_model": ENCODER}
WANTED = ["bert-model", "bert-sequence", "bert-question", "roberta-sequence", "distilbert-token", "electra-choice", "deberta-v2-sequence",
          "clip_text_model-model", "siglip_text_model-model", "modernbert-sequence", "llama-model", "llama-sequence", "llama-question", "qwen2-token", "qwen3-sequence", "mistral-sequence",
          "gemma2-sequence", "gpt2-model", "gpt2-question", "opt-sequence"]


def randomise(model, seed):
    torch.manual_seed(seed)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.normal_(0, 0.4)
        else:
            parameter.data.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def expected(model, folder, count=9):
    ids = torch.arange(count)[None] * 7 % 31 + 3
    with torch.no_grad():
        out = model(input_ids=ids, output_attentions=True)
    tensors = {"input_ids": ids[0], "hidden": out.last_hidden_state[0].contiguous()}
    tensors |= {f"layers.{n}.attention": each[0].contiguous() for n, each in enumerate(out.attentions)}
    save_file(tensors, os.path.join(folder, "expected.safetensors"))


def config_of(kind):
    config = transformers.AutoConfig.for_model(kind, vocab_size=40, **TYPES[kind])
    config.pad_token_id = 0
    return config


def make_tasks():
    for name in WANTED:
        kind, task = name.rsplit("-", 1)
        config = config_of(kind)
        if task in ("sequence", "token"):
            config.id2label, config.label2id = {0: "no", 1: "maybe", 2: "yes"}, {"no": 0, "maybe": 1, "yes": 2}
        if kind == "siglip_text_model":  # no AutoModel
            model = transformers.SiglipTextModel._from_config(config, attn_implementation="eager")
        else:
            model = getattr(transformers, TASKS[task]).from_config(config, attn_implementation="eager")
        model = randomise(model, len(name))
        folder = os.path.join(HERE, "tasks", name)
        shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(folder)
        expected(model if task == "model" else model.base_model, folder)


def fresh(*names):
    folder = os.path.join(HERE, *names)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def write_json(folder, name, value):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as file:
        json.dump(value, file, indent=1)
        file.write("\n")


# Poolings in the order in which sentence-transformers joins them.
MODES = ["cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
POOLS = {
    "cls_token": lambda x: x[0], "max_tokens": lambda x: x.max(0).values, "mean_tokens": lambda x: x.mean(0),
    "mean_sqrt_len_tokens": lambda x: x.sum(0) / len(x) ** 0.5, "lasttoken": lambda x: x[-1],
    "weightedmean_tokens": lambda x: (torch.arange(1, len(x) + 1)[:, None] * x).sum(0) / torch.arange(1, len(x) + 1).sum(),
}
SENTENCES = {  # transformer, its folder, modes, activation of a dense layer of 5 outputs, whether the length is made 1
    "mean-normalised": ("bert-model", "", ["mean_tokens"], None, True),
    "cls-dense": ("bert-model", "0_Transformer", ["cls_token"], "torch.nn.modules.activation.Tanh", False),
    "max-and-mean": ("bert-model", "", ["max_tokens", "mean_tokens"], "torch.nn.modules.linear.Identity", True),
    "last": ("qwen3-model", "", ["lasttoken"], None, True),
    "weighted": ("gpt2-model", "", ["weightedmean_tokens", "mean_sqrt_len_tokens"], None, False),
}


def make_sentences():
    for name, (source, place, modes, dense, unit) in SENTENCES.items():
        kind = source.rsplit("-", 1)[0]
        auto = transformers.AutoModelForCausalLM if kind == "qwen3" else transformers.AutoModel
        model = randomise(auto.from_config(config_of(kind), attn_implementation="eager"), len(name))
        folder = fresh("sentence", name)
        model.save_pretrained(os.path.join(folder, place))
        ids = torch.arange(7)[None] * 5 % 31 + 3
        with torch.no_grad():
            states = (model.model if kind == "qwen3" else model)(input_ids=ids).last_hidden_state[0]
        kinds = "sentence_transformers.models."
        modules = [dict(idx=0, name="0", path=place, type=kinds + "Transformer"),
                   dict(idx=1, name="1", path="1_Pooling", type=kinds + "Pooling")]
        write_json(os.path.join(folder, "1_Pooling"), "config.json",
                   {"word_embedding_dimension": 16} | {"pooling_mode_" + mode: mode in modes for mode in MODES})
        value = torch.cat([POOLS[mode](states) for mode in MODES if mode in modes])
        if dense:
            layer = torch.nn.Linear(len(value), 5)
            modules.append(dict(idx=2, name="2", path="2_Dense", type=kinds + "Dense"))
            write_json(os.path.join(folder, "2_Dense"), "config.json",
                       dict(in_features=len(value), out_features=5, bias=True, activation_function=dense))
            save_file({"linear." + name: each.detach() for name, each in layer.named_parameters()},
                      os.path.join(folder, "2_Dense", "model.safetensors"))
            value = layer(value).detach()
            value = value.tanh() if dense.endswith("Tanh") else value
        if unit:
            modules.append(dict(idx=len(modules), name=str(len(modules)), path=f"{len(modules)}_Normalize", type=kinds + "Normalize"))
            value = torch.nn.functional.normalize(value, dim=0)
        write_json(folder, "modules.json", modules)
        wanted = {"input_ids": ids[0], "vector": value.contiguous()}
        if name == "mean-normalised":  # also two texts, by a vocabulary of letters
            words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [chr(ord("a") + n) for n in range(26)]
            with open(os.path.join(folder, "vocab.txt"), "w") as file:
                file.write("\n".join(words + [f"[unused{n}]" for n in range(40 - len(words))]) + "\n")
            texts = [torch.tensor([[2] + [words.index(word) for word in text.split()] + [3]]) for text in ("a b c", "a d")]
            with torch.no_grad():
                vectors = [model(input_ids=text).last_hidden_state[0].mean(0) for text in texts]
            wanted["cosine"] = torch.nn.functional.cosine_similarity(*vectors, dim=0)[None]
        save_file(wanted, os.path.join(folder, "expected.safetensors"))


def logits_of(model):
    ids = torch.arange(7)[None] * 5 % 31 + 3
    with torch.no_grad():
        return {"input_ids": ids[0], "logits": model(input_ids=ids).logits[0].contiguous()}


def make_adapters():
    base = fresh("adapters", "base")
    model = randomise(transformers.AutoModelForCausalLM.from_config(config_of("llama"), attn_implementation="eager"), 7)
    model.save_pretrained(base)
    save_file(logits_of(model), os.path.join(base, "expected.safetensors"))
    gpt2 = fresh("adapters", "base-gpt2")
    conv = randomise(transformers.AutoModelForCausalLM.from_config(config_of("gpt2"), attn_implementation="eager"), 8)
    conv.save_pretrained(gpt2)
    plain = dict(peft_type="LORA", task_type="CAUSAL_LM", r=3, lora_alpha=6, lora_dropout=0.1, bias="none", fan_in_fan_out=False,
                 target_modules=["q_proj", "v_proj", "down_proj"], inference_mode=True, base_model_name_or_path="../base")
    adapters = {
        "lora": plain,
        "rslora": plain | dict(use_rslora=True, rank_pattern={"v_proj": 2}, alpha_pattern={"layers.1.self_attn.q_proj": 10}),
        "dora": plain | dict(use_dora=True),
        "ia3": dict(peft_type="IA3", target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"],
                    fan_in_fan_out=False, base_model_name_or_path="../base"),
        "lora-gpt2": plain | dict(target_modules=["c_attn"], fan_in_fan_out=True, base_model_name_or_path="../base-gpt2"),
    }
    for name, config in adapters.items():
        torch.manual_seed(len(name))
        adapted = transformers.AutoModelForCausalLM.from_pretrained(
            os.path.join(HERE, "adapters", config["base_model_name_or_path"][3:]), attn_implementation="eager").eval()
        folder, tensors = fresh("adapters", name), {}
        for path, weight in adapted.named_parameters():
            module = path.removesuffix(".weight")
            if not path.endswith(".weight") or module.split(".")[-1] not in config["target_modules"]:
                continue
            key, w = "base_model.model." + module, weight.data.double()
            w = w.T if config["fan_in_fan_out"] else w
            if config["peft_type"] == "IA3":
                feed = module.split(".")[-1] in config["feedforward_modules"]
                scale = 1 + 0.5 * torch.randn(1, w.shape[1]) if feed else 1 + 0.5 * torch.randn(w.shape[0], 1)
                tensors[key + ".ia3_l"] = scale
                w = w * scale.double()
            else:
                ends = lambda patterns, usual: next((v for k, v in patterns.items() if re.match(rf"(.*\.)?({k})$", module)), usual)
                r = ends(config.get("rank_pattern", {}), config["r"])
                alpha = ends(config.get("alpha_pattern", {}), config["lora_alpha"])
                a, b = torch.randn(r, w.shape[1]) * 0.4, torch.randn(w.shape[0], r) * 0.4
                tensors[key + ".lora_A.weight"], tensors[key + ".lora_B.weight"] = a, b
                w = w + alpha / (r ** 0.5 if config.get("use_rslora") else r) * (b.double() @ a.double())
                if config.get("use_dora"):
                    length = w.norm(dim=1).float() * (1 + 0.3 * torch.rand(w.shape[0]))
                    tensors[key + ".lora_magnitude_vector.weight"] = length
                    w = length.double()[:, None] / w.norm(dim=1, keepdim=True) * w
            weight.data = (w.T if config["fan_in_fan_out"] else w).float().contiguous()
        save_file(tensors, os.path.join(folder, "adapter_model.safetensors"))
        write_json(folder, "adapter_config.json", config)
        save_file(logits_of(adapted), os.path.join(folder, "expected.safetensors"))


def neighbours(weight, heads):
    """Rows of each head as pairs of neighbours: the order before transformers' conversion."""
    rows = weight.shape[0] // heads
    return weight.view(heads, 2, rows // 2, -1).transpose(1, 2).reshape(weight.shape)


META = {"model.embed_tokens": ("tok_embeddings", 1), "model.norm": ("norm", None), "lm_head": ("output", 0),
        "self_attn.q_proj": ("attention.wq", 0), "self_attn.k_proj": ("attention.wk", 0), "self_attn.v_proj": ("attention.wv", 0),
        "self_attn.o_proj": ("attention.wo", 1), "mlp.gate_proj": ("feed_forward.w1", 0), "mlp.down_proj": ("feed_forward.w2", 1),
        "mlp.up_proj": ("feed_forward.w3", 0), "input_layernorm": ("attention_norm", None), "post_attention_layernorm": ("ffn_norm", None)}


def make_native():
    config = config_of("llama")
    config.rms_norm_eps, config.rope_parameters = 1e-5, dict(rope_type="default", rope_theta=5000.0)
    model = randomise(transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager"), 9)
    whole, cuts = {}, {}
    for name, weight in model.state_dict().items():
        own = name.removesuffix(".weight")
        for theirs, (meta, cut) in META.items():
            if own == theirs or own.endswith("." + theirs):
                layer = own.split(".")[2] if ".layers." in own else None
                key = (f"layers.{layer}." if layer else "") + meta + ".weight"
                heads = 4 if "q_proj" in own else 2 if "k_proj" in own else 0
                whole[key] = neighbours(weight, heads).clone() if heads else weight.clone()
                cuts[key] = cut
    fields = dict(dim=16, n_layers=2, n_heads=4, n_kv_heads=2, vocab_size=40, norm_eps=1e-5, rope_theta=5000.0)
    meta = fresh("native", "meta")
    for part in range(2):
        torch.save({k: w if cuts[k] is None else w.chunk(2, cuts[k])[part].clone() for k, w in whole.items()},
                   os.path.join(meta, f"consolidated.{part:02}.pth"))
    write_json(meta, "params.json", fields | dict(multiple_of=8, ffn_dim_multiplier=1.0))
    mistral = fresh("native", "mistral")
    save_file(whole, os.path.join(mistral, "consolidated.safetensors"))
    write_json(mistral, "params.json", fields | dict(hidden_dim=24, head_dim=4, sliding_window=None))
    for folder in (meta, mistral):
        save_file(logits_of(model), os.path.join(folder, "expected.safetensors"))


PAIR_TEXTS = ("a b c", "d a")
PAIR_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [chr(ord("a") + n) for n in range(26)]
PAIR_HALF = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24)
PAIRS = {  # the end token's id in the configuration
    "clip": 3, "clip-first": 2, "metaclip_2": 3, "chinese_clip": None, "siglip": None, "siglip2": None,
}


def make_pairs():
    for name, end in PAIRS.items():
        kind, siglip = name.removesuffix("-first"), name.startswith("siglip")
        words = PAIR_WORDS if name != "clip-first" else PAIR_WORDS + [f"[unused{n}]" for n in range(8)] + ["[END]"]
        text = dict(PAIR_HALF, vocab_size=len(words), max_position_embeddings=12, pad_token_id=0)
        text |= {} if end is None else dict(eos_token_id=end)
        text |= dict(projection_size=16) if siglip else {}
        vision = dict(PAIR_HALF, hidden_size=16 if siglip else 20, patch_size=8) | (dict(num_patches=4) if name == "siglip2" else dict(image_size=16))
        config = transformers.AutoConfig.for_model(kind, text_config=text, vision_config=vision, **({} if siglip else dict(projection_dim=6)))
        model = randomise(transformers.AutoModel.from_config(config, attn_implementation="eager"), len(name))
        with torch.no_grad():
            model.logit_scale.fill_(1.3)
            if siglip:
                model.logit_bias.fill_(-2.1)
        folder = fresh("pairs", name)
        model.save_pretrained(folder)
        with open(os.path.join(folder, "vocab.txt"), "w") as file:
            file.write("\n".join(words) + "\n")
        write_json(folder, "tokenizer_config.json", dict(tokenizer_class="BertTokenizer", cls_token="[CLS]", sep_token="[END]" if name == "clip-first" else "[SEP]",
                                                         pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]"))
        last = words.index("[END]") if name == "clip-first" else 3
        ids = [[2] + [words.index(word) for word in each.split()] + [last] for each in PAIR_TEXTS]
        if siglip:  # as its processor does
            ids = [each + [0] * (12 - len(each)) for each in ids]
        pixels = torch.randn(1, 3, 16, 16)
        given = dict(pixel_values=pixels)
        if name == "siglip2":
            patches = pixels.unfold(2, 8, 8).unfold(3, 8, 8).permute(0, 2, 3, 4, 5, 1).reshape(1, 4, 192)
            given = dict(pixel_values=patches.contiguous(), pixel_attention_mask=torch.ones(1, 4, dtype=torch.long), spatial_shapes=torch.tensor([[2, 2]]))
        save_file({"pixel_values": pixels[0].contiguous()}, os.path.join(folder, "pixels.safetensors"))
        wanted, outs = {}, []
        with torch.no_grad():
            for n, each in enumerate(ids):
                tokens = torch.tensor([each])
                wanted[f"text{n}.input_ids"] = tokens[0]
                outs.append(model(input_ids=tokens, **given))
                half = model.text_model(input_ids=tokens, output_attentions=True)
                wanted |= {f"text{n}.layers.{k}.attention": map[0].contiguous() for k, map in enumerate(half.attentions)}
                wanted[f"hidden.text{n}"] = half.last_hidden_state[0].contiguous()
            if name == "siglip2":
                half = model.vision_model(**given, output_attentions=True)
            else:
                half = model.vision_model(pixel_values=pixels, output_attentions=True)
        wanted |= {f"image.layers.{k}.attention": map[0].contiguous() for k, map in enumerate(half.attentions)}
        wanted["image_embeds"] = outs[0].image_embeds[0].contiguous()
        wanted["text_embeds"] = torch.cat([out.text_embeds for out in outs]).contiguous()
        wanted["logits_per_image"] = torch.cat([out.logits_per_image[0] for out in outs]).contiguous()
        save_file(wanted, os.path.join(folder, "expected.safetensors"))


if __name__ == "__main__":
    make_tasks()
    make_sentences()
    make_adapters()
    make_native()
    make_pairs()
