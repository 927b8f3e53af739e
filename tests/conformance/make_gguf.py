#!/usr/bin/env python3
"""make_gguf.py LLAMA.CPP [NAME...]   remakes gguf/ with the converter of llama.cpp, whose folder of source text is given

gguf/NAME.json and gguf/NAME.safetensors are as in values/ (make.py), of a smaller model; gguf/NAME.gguf is what the converter writes of its
checkpoint, in float32, without a tokenizer. Needs torch, transformers and gguf; the tests need none of them."""
import json, os, re, sys, tempfile
from pathlib import Path
import numpy
import make

SIZES = dict(vocab_size=96, hidden_size=32, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1, head_dim=16, intermediate_size=32,
             moe_intermediate_size=16, shared_expert_intermediate_size=24, num_experts=3, num_local_experts=3, n_routed_experts=3,
             linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8, mamba_d_state=8, mamba_n_heads=4,
             mamba_d_head=16, mamba_num_heads=4, mamba_head_dim=16, ssm_state_size=8, state_size=8, kv_lora_rank=16, q_lora_rank=None,
             qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8, linear_num_heads=2, linear_head_dim=8)
MIXED = ["linear_attention", "full_attention", "linear_attention"]
CONV = ["conv", "full_attention", "conv"]
GRANITE = dict(layer_types=MIXED, mamba_n_groups=2, position_embedding_type="nope", shared_intermediate_size=24, embedding_multiplier=3.0,
               residual_multiplier=0.5, attention_multiplier=0.3, logits_scaling=2.0)
FALCON = dict(mamba_d_ssm=64, mamba_n_groups=2, num_hidden_layers=2, ssm_multipliers=[0.7, 1.2, 0.8, 1.1, 0.5], mlp_multipliers=[0.7, 0.6],
              key_multiplier=0.5, attention_in_multiplier=0.9, attention_out_multiplier=0.8, ssm_in_multiplier=1.1, ssm_out_multiplier=0.6,
              embedding_multiplier=2.0, lm_head_multiplier=0.5, mamba_norm_before_gate=False)
NEMOTRON = dict(n_groups=2, moe_shared_expert_intermediate_size=24, num_hidden_layers="drop")
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=8, beta_fast=32.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0)
LATENT = dict(num_key_value_heads=2, n_shared_experts=1, num_experts_per_tok=2, n_routed_experts=4, head_dim=8, first_k_dense_replace=1,
              mlp_layer_types=["dense", "sparse", "sparse"], layer_types="drop")
SIGMOID = dict(scoring_func="sigmoid", topk_method="noaux_tc", first_k_dense_replace=1)
NOMIC = dict(n_positions=8192, max_trained_positions=2048, activation_function="swiglu", causal=False, rotary_emb_fraction=1.0, qkv_proj_bias=False,
             mlp_fc1_bias=False, mlp_fc2_bias=False, prenorm=False, rotary_emb_base=1000.0, rotary_emb_interleaved=False, rotary_emb_scale_base=None)
WINDOWS = dict(num_hidden_layers=4, sliding_window=5, layer_types=["sliding_attention"] * 3 + ["full_attention"])
GEMMA4 = dict(num_hidden_layers=4, layer_types=["sliding_attention", "full_attention"] * 2, global_head_dim=32, sliding_window=5)
# Name of the file: the library's type, settings of the tiny configuration, and fields as the published configurations have them, which the
# converter reads.
FILES = {
    "qwen3next": ("qwen3_next", dict(layer_types=MIXED), dict(full_attention_interval=2)),
    "qwen35": ("qwen3_5_text", dict(layer_types=MIXED), dict(full_attention_interval=2, mtp_num_hidden_layers=1)),
    "qwen35moe": ("qwen3_5_moe_text", dict(layer_types=MIXED), dict(full_attention_interval=2)),
    "granitehybrid": ("granitemoehybrid", dict(GRANITE, num_local_experts=0, num_experts_per_tok=0), dict(layer_types=["mamba", "attention", "mamba"])),
    "granitehybrid-moe": ("granitemoehybrid", dict(GRANITE, intermediate_size=16), dict(layer_types=["mamba", "attention", "mamba"])),
    "bamba": ("bamba", dict(attn_layer_indices=[1]), dict(attn_rotary_emb=8)),
    "nemotron_h": ("nemotron_h", dict(NEMOTRON, layers_block_type=["linear_attention", "mlp", "full_attention", "mlp"]),
                   dict(hybrid_override_pattern="M-*-", num_experts_per_tok=None)),
    "nemotron_h_moe": ("nemotron_h", dict(NEMOTRON, layers_block_type=["linear_attention", "moe", "full_attention", "moe"], routed_scaling_factor=1.5), {}),
    "falcon-h1": ("falcon_h1", dict(FALCON, mamba_rms_norm=False), dict(head_dim=16)),
    "falcon-h1-norm": ("falcon_h1", dict(FALCON, mamba_rms_norm=True), dict(head_dim=16)),
    "lfm2": ("lfm2", dict(layer_types=CONV, block_multiple_of=16), {}),
    "lfm2moe": ("lfm2_moe", dict(layer_types=CONV, num_dense_layers=1), {}),
    "kimi-linear": ("kimi_linear", dict(layer_types=MIXED, mlp_layer_types=["dense", "sparse", "sparse"], num_key_value_heads=2, num_experts=3, num_experts_per_token=2),
                    dict(linear_attn_config=dict(num_heads=2, head_dim=8, short_conv_kernel_size=4, full_attn_layers=[2], kda_layers=[1, 3]),
                         num_key_value_heads=2, first_k_dense_replace=1, moe_router_activation_func="sigmoid")),
    "jamba": ("jamba", dict(attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, use_mamba_kernels=False,
                            mamba_dt_rank=4, num_hidden_layers=4, intermediate_size=24), {}),
    "mixtral": ("mixtral", dict(sliding_window="drop"), {}),
    "qwen2moe": ("qwen2_moe", dict(num_hidden_layers=4), {}),
    "qwen3moe": ("qwen3_moe", dict(num_hidden_layers=4, norm_topk_prob=True), {}),
    "olmoe": ("olmoe", dict(num_hidden_layers=4), {}),
    "gpt-oss": ("gpt_oss", dict(num_hidden_layers=4, sliding_window=5), {}),
    "glm4moe": ("glm4_moe", dict(first_k_dense_replace=1, n_shared_experts=1, num_hidden_layers=4, partial_rotary_factor=0.5), {}),
    "glm4": ("glm4", dict(num_hidden_layers=4), {}),
    "gemma": ("gemma", dict(num_hidden_layers=4), {}),
    "granite": ("granite", dict(num_hidden_layers=4, embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.3, logits_scaling=2.0), {}),
    "command-r": ("cohere", dict(num_hidden_layers=4), {}),
    "cohere2": ("cohere2", dict(num_hidden_layers=4, sliding_window=5, layer_types=["sliding_attention"] * 3 + ["full_attention"]), dict(rotary_pct=1.0)),
    "olmo": ("olmo", dict(num_hidden_layers=4), {}),
    "olmo2": ("olmo2", dict(num_hidden_layers=4), {}),
    "exaone4": ("exaone4", dict(num_hidden_layers=4, sliding_window=5, layer_types=["sliding_attention"] * 3 + ["full_attention"]), {}),
    "smollm3": ("smollm3", dict(num_hidden_layers=4), {}),
    "starcoder2": ("starcoder2", dict(num_hidden_layers=4, sliding_window="drop"), {}),
    "stablelm": ("stablelm", dict(num_hidden_layers=4), {}),
    "nemotron": ("nemotron", dict(num_hidden_layers=4), {}),
    "arcee": ("arcee", dict(num_hidden_layers=4), {}),
    "seed_oss": ("seed_oss", dict(num_hidden_layers=4), {}),
    "deepseek2": ("deepseek_v3", dict(LATENT, q_lora_rank=12, n_group=2, topk_group=1, routed_scaling_factor=1.5, norm_topk_prob=True, rope_parameters=YARN), SIGMOID),
    "deepseek2-lite": ("deepseek_v2", dict(LATENT, n_group=1, topk_group=1, topk_method="greedy", rope_parameters=dict(YARN, mscale=0.707, mscale_all_dim=0.707)),
                       dict(scoring_func="softmax")),
    "deepseek2-dense": ("youtu", dict(num_key_value_heads=2, head_dim=8, pad_token_id=None, q_lora_rank=12, num_hidden_layers=2), {}),
    "deepseek2-early": ("deepseek_v2", dict(LATENT, q_lora_rank=12, n_group=2, topk_group=1, topk_method="group_limited_greedy", routed_scaling_factor=1.5),
                        dict(scoring_func="softmax")),
    "deepseek32": ("deepseek_v32", dict(LATENT, q_lora_rank=12, index_n_heads=2, index_head_dim=16, n_group=2, topk_group=1), SIGMOID),
    "glm-dsa": ("glm_moe_dsa", dict(LATENT, q_lora_rank=12, index_n_heads=2, index_head_dim=16), SIGMOID),
    "minicpm3": ("minicpm3", dict(num_key_value_heads=2, head_dim=8, q_lora_rank=12, v_head_dim=16, scale_emb=12, scale_depth=1.4, dim_model_base=256), {}),
    "llama4": ("llama4_text", dict(num_hidden_layers=4, intermediate_size_mlp=48, intermediate_size=24, interleave_moe_layer_step=2, attention_chunk_size=8192), {}),
    "ernie4_5": ("ernie4_5", {}, {}),
    "ernie4_5-moe": ("ernie4_5_moe", dict(moe_num_experts=3, moe_k=2, moe_layer_start_index=1, moe_num_shared_experts=2), dict(moe_layer_interval=1)),
    "olmo3": ("olmo3", dict(WINDOWS, rope_parameters=dict(full_attention=dict(YARN, attention_factor=1.3), sliding_attention=dict(rope_type="default", rope_theta=500.0))), {}),
    "granitemoe": ("granitemoe", dict(num_hidden_layers=2, embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.3, logits_scaling=2.0,
                                      num_experts_per_tok=2), {}),
    "granitemoe-shared": ("granitemoeshared", dict(num_hidden_layers=2, shared_intermediate_size=24, num_experts_per_tok=2), {}),
    "chatglm": ("glm", {}, dict(layernorm_epsilon=1.5625e-7)),
    "exaone": ("exaone", {}, dict(architectures=["ExaoneForCausalLM"], activation_function="silu")),
    "exaone-moe": ("exaone_moe", dict(WINDOWS, mlp_layer_types=["dense"] + ["sparse"] * 3), SIGMOID),
    "hy_v3": ("hy_v3", dict(mlp_layer_types=["dense", "sparse", "sparse"]), dict(first_k_dense_replace=1)),
    "afmoe": ("afmoe", dict(WINDOWS, mup_enabled=True, route_scale=1.5, num_dense_layers=1), dict(score_func="sigmoid")),
    "cohere2moe": ("cohere2_moe", dict(WINDOWS, num_shared_experts=1, mlp_layer_types=["dense"] + ["sparse"] * 3, prefix_dense_intermediate_size=40,
                                       intermediate_size=24, expert_selection_fn="sigmoid"), {}),
    "mellum": ("mellum", dict(num_hidden_layers=4, sliding_window=5, layer_types=["full_attention", "sliding_attention"] * 2), {}),
    "jais2": ("jais2", {}, {}),
    "phi2": ("phi", {}, {}),
    "minimax-m2": ("minimax_m2", dict(num_hidden_layers=2), dict(scoring_func="sigmoid", rotary_dim=16)),
    "hunyuan-dense": ("hunyuan_v1_dense", dict(max_position_embeddings=32768, rope_parameters=dict(rope_type="dynamic", alpha=4.0, factor=1.0, rope_theta=10000.0)), {}),
    "hunyuan-moe": ("hunyuan_v1_moe", dict(num_hidden_layers=2, moe_topk=2, num_experts=3),
                    dict(moe_intermediate_size=[32] * 2, moe_topk=[2] * 2, num_shared_expert=[1] * 2)),
    "mistral3": ("ministral3", dict(rope_parameters=dict(YARN, beta_slow=0.1, mscale_all_dim=0.5, llama_4_scaling_beta=0.3)), {}),
    "qwen2vl": ("qwen2", dict(num_hidden_layers=4), dict(architectures=["Qwen2VLForConditionalGeneration"])),
    "qwen3vl": ("qwen3", dict(num_hidden_layers=4), dict(architectures=["Qwen3VLForConditionalGeneration"], vision_config=dict(deepstack_visual_indexes=[]))),
    "qwen3vlmoe": ("qwen3_moe", dict(num_hidden_layers=2, norm_topk_prob=True),
                   dict(architectures=["Qwen3VLMoeForConditionalGeneration"], vision_config=dict(deepstack_visual_indexes=[]))),
    "gemma4": ("gemma4_text", dict(GEMMA4, num_global_key_value_heads=1, num_kv_shared_layers=2, use_double_wide_mlp=True, vocab_size_per_layer_input=96,
                                   hidden_size_per_layer_input=8, final_logit_softcapping=20.0), dict(moe_intermediate_size=None)),
    "gemma4-keys": ("gemma4_text", dict(GEMMA4, num_attention_heads=4, num_key_value_heads=4, num_global_key_value_heads=2, attention_k_eq_v=True,
                                        num_kv_shared_layers=0, hidden_size_per_layer_input=0), dict(moe_intermediate_size=None)),
    "starcoder": ("gpt_bigcode", dict(n_layer=2, n_embd=32, n_head=2, n_inner=128, n_positions=64), {}),
    "mpt": ("mpt", dict(n_layers=2, d_model=32, n_heads=2), dict(architectures=["MPTForCausalLM"])),
    "gpt2": ("gpt2", dict(n_layer=2, n_embd=32, n_head=2, n_inner=None, n_positions=64), dict(n_ctx=64)),
    "gptneox": ("gpt_neox", {}, dict(rotary_pct=0.25)),
    "gptneox-serial": ("gpt_neox", dict(num_hidden_layers=2, use_parallel_residual=False), dict(rotary_pct=0.25)),
    "falcon": ("falcon", dict(num_hidden_layers=2, num_attention_heads=4, new_decoder_architecture=True, num_kv_heads=2, ffn_hidden_size=96), {}),
    "falcon-one": ("falcon", dict(num_hidden_layers=2, ffn_hidden_size=128), dict(num_kv_heads=1)),
    "bloom": ("bloom", dict(n_layer=2, hidden_size=32, n_head=2), {}),
    "bert": ("bert", {}, {}),
    "bert-roberta": ("roberta", dict(num_hidden_layers=2, pad_token_id=1), {}),
    "bert-distil": ("distilbert", dict(dim=32, hidden_dim=32, n_layers=2, n_heads=2), {}),
    "modern-bert": ("modernbert", dict(num_hidden_layers=4, local_attention=6, layer_types=["full_attention"] + ["sliding_attention"] * 2 + ["full_attention"]),
                    dict(global_attn_every_n_layers=3)),
    "eurobert": ("eurobert", {}, dict(classifier_pooling="mean")),
    "nomic-bert": ("nomic_bert", dict(num_hidden_layers=2), NOMIC),
    "gemma-embedding": ("gemma3_text", dict(num_hidden_layers=6, layer_types=["sliding_attention"] * 5 + ["full_attention"], sliding_window=6,
                                            query_pre_attn_scalar=16, use_bidirectional_attention=True), dict(architectures=["Gemma3TextModel"])),
    "dots1": ("dots1", dict(first_k_dense_replace=1, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, routed_scaling_factor=1.5,
                            norm_topk_prob=True, layer_types="drop"), dict(scoring_func="sigmoid", topk_method="noaux_tc")),
}
WITHOUT_HEAD = ("bert", "roberta", "distilbert", "modernbert", "eurobert", "nomic_bert", "gemma3_text")  # types whose heads the converter leaves out


# Names of tensors as published, where the library writes others; and where it writes none: blocks that predict further tokens.
PUBLISHED = {"kimi_linear": [(r"(layers\.0\.)block_sparse_moe\.", r"\1mlp.")]}
FURTHER = {"qwen3_5_text": dict(block="mtp.layers.0.", like="model.layers.1.", beside=["mtp.norm", "mtp.pre_fc_norm_embedding", "mtp.pre_fc_norm_hidden"], joins="mtp.fc.weight")}


def as_published(kind, folder):
    from safetensors.numpy import load_file, save_file
    tensors = load_file(f"{folder}/model.safetensors")
    for pattern, name in PUBLISHED.get(kind, []):
        tensors = {re.sub(pattern, name, own): value for own, value in tensors.items()}
    if further := FURTHER.get(kind):
        tensors.update({name.replace(further["like"], further["block"]): value for name, value in tensors.items() if name.startswith(further["like"])})
        width = len(tensors["model.norm.weight"])
        tensors.update({f"{name}.weight": numpy.ones(width, numpy.float32) for name in further["beside"]})
        tensors[further["joins"]] = numpy.ones((width, 2 * width), numpy.float32)
    save_file(tensors, f"{folder}/model.safetensors", {"format": "pt"})


def as_early(path):
    """Makes a file with latent attention what converters wrote before they divided its up projection."""
    import gguf
    read = gguf.GGUFReader(path)
    out = gguf.GGUFWriter(f"{path}.early", read.fields["general.architecture"].contents())
    for key, field in read.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture" or key.endswith("_mla"):
            continue
        widths = key.endswith(("attention.key_length", "attention.value_length"))
        out.add_key_value(key, read.fields[f"{key}_mla" if widths else key].contents(), field.types[0])
    tensors = {tensor.name: numpy.array(tensor.data) for tensor in read.tensors}
    for name, data in tensors.items():
        if name.endswith("attn_k_b.weight"):
            values = tensors[name.replace("attn_k_b", "attn_v_b")]
            data = numpy.concatenate([data.transpose(0, 2, 1), values], 1).reshape(-1, values.shape[-1])
        if not name.endswith("attn_v_b.weight"):
            out.add_tensor(name.replace("attn_k_b", "attn_kv_b"), numpy.ascontiguousarray(data))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    os.replace(f"{path}.early", path)


def convert(program, folder, config, out):
    """Writes the folder's checkpoint, whose configuration has these fields, with the converter, without a tokenizer."""
    sys.path[:0] = [path for path in (f"{program}/gguf-py", program) if path not in sys.path]
    import gguf, torch
    from conversion import ModelBase, ModelType, get_model_architecture, get_model_class
    json.dump(config, open(f"{folder}/config.json", "w"))
    ModelBase.load_hparams = staticmethod(lambda *_, **__: json.loads(json.dumps(config)))
    kind = get_model_class(get_model_architecture(config, ModelType.TEXT))
    for each in (kind, getattr(kind, "Ministral3Model", kind)):
        each.set_vocab = lambda self: None
    # Of the tokenizer, the converter reads the number of tokens.
    json.dump(dict(model=dict(type="WordPiece", vocab={str(n): n for n in range(config["vocab_size"])}), added_tokens=[]), open(f"{folder}/tokenizer.json", "w"))
    kind.no_mtp = "mtp_num_hidden_layers" not in config
    with torch.inference_mode():
        kind(Path(folder), gguf.LlamaFileType.ALL_F32, Path(out), eager=True, model_name=Path(out).stem).write()


def main():
    from transformers.utils import logging
    logging.disable_progress_bar()
    program, names = sys.argv[1], sys.argv[2:]
    import transformers
    known = {**make.kinds(), **{kind: ("base", transformers.AutoModel) for kind in WITHOUT_HEAD}}
    make.SIZES.update(SIZES)
    folder = f"{make.HERE}/gguf"
    os.makedirs(folder, exist_ok=True)
    for name, (kind, settings, published) in FILES.items():
        if names and name not in names:
            continue
        row = dict(type=kind, settings=settings, changes=False)
        data = make.make(row, *known[kind], f"{folder}/{name}")
        config = {**data["config"], **published}
        with tempfile.TemporaryDirectory() as place:
            make.write_checkpoint(place, config, data["tensors"])
            as_published(kind, place)
            convert(program, place, {field: value for field, value in config.items() if value is not None or field in published}, f"{folder}/{name}.gguf")
        if name.endswith("-early"):
            as_early(f"{folder}/{name}.gguf")
        os.chmod(f"{folder}/{name}.gguf", 0o644)
        print(name, data["arithmetic"], data.get("float32_is_off_by", ""), os.path.getsize(f"{folder}/{name}.gguf"), flush=True)


if __name__ == "__main__":
    main()
