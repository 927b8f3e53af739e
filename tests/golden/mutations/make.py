#!/usr/bin/env python3
"""make.py [TYPE...]: remakes the folders beside this file with the installed transformers.

Each folder holds one tiny random checkpoint of a type (config.json, model.safetensors), changes.json, which lists configurations that
differ from its own in one field or one rotary block, and expected.safetensors: for change N the library's own float32 eager values,
"N.outcome" (logits, or states of a model without a head) and "N.layers.L.attention". A change that the library refuses has none.
Needs torch, safetensors and transformers (5.24.0 made what is here); the tests need none of them."""
import json, os, random, sys, tempfile
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import torch, transformers
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, CONFIG_MAPPING

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = dict(vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=64,
             bos_token_id=1, eos_token_id=2, pad_token_id=0)
TYPES = {
    "llama": (AutoModelForCausalLM, dict(num_key_value_heads=2)),
    "mistral": (AutoModelForCausalLM, dict(num_key_value_heads=2, head_dim=8, sliding_window=5)),
    "qwen3": (AutoModelForCausalLM, dict(num_key_value_heads=2, head_dim=8)),
    "gemma3_text": (AutoModelForCausalLM, dict(num_key_value_heads=2, head_dim=8, sliding_window=6,
                                               layer_types=["sliding_attention", "full_attention"])),
    "cohere": (AutoModelForCausalLM, dict(num_key_value_heads=2)),
    "gpt_neox": (AutoModelForCausalLM, dict(hidden_dropout=0.0, attention_dropout=0.0)),
    "phi3": (AutoModelForCausalLM, dict(num_key_value_heads=2)),
    "bert": (AutoModelForMaskedLM, dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)),
    "qwen2": (AutoModelForCausalLM, dict(num_key_value_heads=2)),
    "gemma2": (AutoModelForCausalLM, dict(num_key_value_heads=2, head_dim=8, sliding_window=6, query_pre_attn_scalar=8,
                                          layer_types=["sliding_attention", "full_attention"])),
    "deepseek_v3": (AutoModelForCausalLM, dict(num_key_value_heads=4, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8,
                                               v_head_dim=8, head_dim=8, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2,
                                               n_group=1, topk_group=1, first_k_dense_replace=1, moe_intermediate_size=24)),
}
PAIRS = 4  # of a head, which has 8 channels
LATER = dict(original_max_position_embeddings=16)
BLOCKS = {
    "linear": dict(rope_type="linear", factor=4.0),
    "dynamic": dict(rope_type="dynamic", factor=4.0),
    "yarn": dict(rope_type="yarn", factor=4.0, **LATER),
    "yarn, trained length": dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64),
    "yarn, mscale": dict(rope_type="yarn", factor=4.0, mscale=1.0, mscale_all_dim=0.5, **LATER),
    "yarn, attention_factor": dict(rope_type="yarn", factor=4.0, attention_factor=1.0, **LATER),
    "yarn, truncate": dict(rope_type="yarn", factor=4.0, truncate=False, **LATER),
    "yarn, beta": dict(rope_type="yarn", factor=4.0, beta_fast=16.0, beta_slow=2.0, **LATER),
    "llama3": dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, **LATER),
    "longrope": dict(rope_type="longrope", short_factor=[1.0 + 0.1 * i for i in range(PAIRS)],
                     long_factor=[2.0 + 0.5 * i for i in range(PAIRS)], **LATER),
    "longrope, factor": dict(rope_type="longrope", factor=3.0, short_factor=[1.0] * PAIRS, long_factor=[2.0] * PAIRS,
                             original_max_position_embeddings=8),
    "partial": dict(rope_type="default", partial_rotary_factor=0.5),
    "unknown": dict(rope_type="spiral", factor=2.0),
}
ADDED = dict(is_causal=False, is_decoder=True, rotary_dim=4, partial_rotary_factor=0.5, use_bidirectional_attention=True, alibi=True,
             layer_types=["full_attention", "sliding_attention"], sliding_window=6, attention_bias=True, logit_scale=0.5,
             attn_logit_softcapping=5.0, query_pre_attn_scalar=30, embedding_multiplier=3.0, rope_theta=777.0)
KEPT = {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "head_dim", "num_key_value_heads",
        "max_position_embeddings", "type_vocab_size", "use_cache", "initializer_range", "is_decoder"}


def changes(config):
    """Pairs of what differs and the fields that replace those of the configuration; null takes a field away."""
    for name, value in config.items():
        if name in KEPT or name.endswith("_token_id") or "drop" in name:
            continue
        if isinstance(value, bool):
            yield f"{name}={not value}", {name: not value}
        elif isinstance(value, float):
            yield f"{name}={1.5 * value}", {name: 1.5 * value}
    block = config.get("rope_parameters")
    if block and "rope_theta" in block:
        for what, other in BLOCKS.items():
            yield f"rope_parameters: {what}", {"rope_parameters": {"rope_theta": block["rope_theta"], **other}}
            yield f"rope_scaling beside rope_parameters: {what}", {"rope_scaling": other}
            yield f"rope_scaling: {what}", {"rope_parameters": None, "rope_theta": block["rope_theta"], "rope_scaling": other}
        kinds = {"full_attention": {"rope_type": "default", "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
        yield "rope_parameters by layer type", {"rope_parameters": kinds}
    if "use_bidirectional_attention" in config:
        yield "use_bidirectional_attention, not causal", dict(use_bidirectional_attention=True, is_causal=False)
    for name, value in ADDED.items():
        if name not in config:
            yield f"{name}={value}", {name: value}


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            r = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 1:
                parameter.copy_((1 if "norm" in name.lower() and name.endswith("weight") and "gemma" not in model.config.model_type else 0) + 0.1 * r)
            elif "embed" in name:
                parameter.copy_(0.5 * r)
            else:
                parameter.copy_(r * 1.6 / parameter.shape[-1] ** 0.5)


def values(auto, folder, ids):
    model = auto.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        out = model(input_ids=torch.tensor([ids]), output_attentions=True, return_dict=True)
    result = {f"layers.{n}.attention": a[0].contiguous() for n, a in enumerate(out.attentions)}
    result["outcome"] = out.logits[0].contiguous()
    return result


def make(name, seed):
    auto, own = TYPES[name]
    config = CONFIG_MAPPING[name](**{**SIZES, **own})
    model = auto.from_config(config, attn_implementation="eager").float()
    randomise(model, seed)
    ids = [random.Random(seed).randrange(3, 40) for _ in range(20)]
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        config = json.load(open(f"{place}/config.json"))
        os.replace(f"{place}/model.safetensors", f"{folder}/model.safetensors")
        json.dump(config, open(f"{folder}/config.json", "w"), indent=1)
        os.symlink(f"{folder}/model.safetensors", f"{place}/model.safetensors")
        plain = values(auto, folder, ids)
        tensors = {f"0.{k}": v for k, v in plain.items()}
        listed = [dict(what="as it is", fields={}, library="runs", same=True)]
        for what, fields in changes(config):
            changed = {k: v for k, v in {**config, **fields}.items() if v is not None or k not in fields}
            json.dump(changed, open(f"{place}/config.json", "w"))
            try:
                found = values(auto, place, ids)
            except Exception as error:
                listed.append(dict(what=what, fields=fields, library="refuses"))
                continue
            same = all(torch.allclose(found[k], v, atol=1e-6) for k, v in plain.items())
            if not same:
                tensors.update({f"{len(listed)}.{k}": v for k, v in found.items()})
            listed.append(dict(what=what, fields=fields, library="runs", same=same))
    save_file(tensors, f"{folder}/expected.safetensors", {"by": f"transformers {transformers.__version__}"})
    json.dump(dict(by=f"transformers {transformers.__version__}", input_ids=ids, changes=listed), open(f"{folder}/changes.json", "w"), indent=1)
    print(name, len(listed), "configurations")


if __name__ == "__main__":
    for seed, name in enumerate(TYPES):
        if not sys.argv[1:] or name in sys.argv[1:]:
            make(name, seed)
