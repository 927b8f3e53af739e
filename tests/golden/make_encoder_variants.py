#!/usr/bin/python3
"""Makes folders of tests/golden/families for which there are no values by the authors' code: umt5, beit-both,
deberta-v2-conv and electra-discriminator, with random weights and what encoder_reference.py computes from them. That
reference first recomputes the authors' values of the families these extend.

usage: make_encoder_variants.py NAME...            (needs python3-numpy)
"""
import json
import math
import pathlib
import sys

import numpy as np

import encoder_reference as reference

BERT = {"attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 36,
        "initializer_range": 0.02, "intermediate_size": 52, "num_attention_heads": 3, "num_hidden_layers": 3,
        "pad_token_id": 0, "torch_dtype": "float32", "transformers_version": "4.51.0"}


class Weights(dict):
    def __init__(self, seed):
        super().__init__()
        self.random = np.random.default_rng(seed)

    def put(self, name, shape, scale=1.0, mean=0.0):
        self[name] = (mean + scale * self.random.standard_normal(shape)).astype(np.float32)

    def linear(self, name, out, into, bias=True, gain=1.3):
        self.put(name + ".weight", (out, into), gain / math.sqrt(into))
        if bias:
            self.put(name + ".bias", out, 0.2)

    def norm(self, name, width, bias=True):
        self.put(name + ".weight", width, 0.2, 1.0)
        if bias:
            self.put(name + ".bias", width, 0.2)


def bert_layers(weights, prefix, config, names):
    width, inner = config["hidden_size"], config["intermediate_size"]
    for n in range(config["num_hidden_layers"]):
        layer = f"{prefix}.encoder.layer.{n}."
        for each in names:
            weights.linear(f"{layer}attention.self.{each}", width, width)
        weights.linear(layer + "attention.output.dense", width, width)
        weights.norm(layer + "attention.output.LayerNorm", width)
        weights.linear(layer + "intermediate.dense", inner, width)
        weights.linear(layer + "output.dense", width, inner)
        weights.norm(layer + "output.LayerNorm", width)


def electra_discriminator():
    config = {**BERT, "architectures": ["ElectraForPreTraining"], "classifier_dropout": None, "embedding_size": 20,
              "layer_norm_eps": 1e-12, "max_position_embeddings": 26, "model_type": "electra",
              "position_embedding_type": "absolute", "summary_activation": "gelu", "summary_last_dropout": 0.1,
              "summary_type": "first", "summary_use_proj": True, "type_vocab_size": 2, "use_cache": True,
              "vocab_size": 57}
    weights, name = Weights(11), "electra.embeddings"
    for table, rows in (("word", 57), ("position", 26), ("token_type", 2)):
        weights.put(f"{name}.{table}_embeddings.weight", (rows, 20), 0.05)
    weights.norm(name + ".LayerNorm", 20)
    weights.linear(name + "_project", 36, 20)
    bert_layers(weights, "electra", config, ("query", "key", "value"))
    weights.linear("discriminator_predictions.dense", 36, 36)
    weights.linear("discriminator_predictions.dense_prediction", 1, 36)
    return config, weights, {"input_ids": weights.random.integers(0, 57, 19)}


def deberta_v2_conv():
    config = {**BERT, "architectures": ["DebertaV2ForMaskedLM"], "conv_act": "tanh", "conv_groups": 2,
              "conv_kernel_size": 5, "layer_norm_eps": 1e-7, "max_position_embeddings": 40,
              "max_relative_positions": -1, "model_type": "deberta-v2", "norm_rel_ebd": "layer_norm",
              "pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "position_buckets": 6,
              "relative_attention": True, "share_att_key": False, "type_vocab_size": 2, "vocab_size": 59}
    weights = Weights(12)
    weights.put("deberta.embeddings.word_embeddings.weight", (59, 36), 0.05)
    weights.put("deberta.embeddings.token_type_embeddings.weight", (2, 36), 0.05)
    weights.norm("deberta.embeddings.LayerNorm", 36)
    weights.put("deberta.encoder.rel_embeddings.weight", (12, 36), 0.05)
    weights.norm("deberta.encoder.LayerNorm", 36)
    weights.put("deberta.encoder.conv.conv.weight", (36, 18, 5), 0.2)
    weights.put("deberta.encoder.conv.conv.bias", 36, 0.2)
    weights.norm("deberta.encoder.conv.LayerNorm", 36)
    bert_layers(weights, "deberta", config,
                ("query_proj", "key_proj", "value_proj", "pos_key_proj", "pos_query_proj"))
    weights.linear("lm_predictions.lm_head.dense", 36, 36)
    weights.norm("lm_predictions.lm_head.LayerNorm", 36)
    weights.put("lm_predictions.lm_head.bias", 59, 0.2)
    return config, weights, {"input_ids": weights.random.integers(0, 59, 22)}


def beit_both():
    labels = {str(n): f"LABEL_{n}" for n in range(7)}
    config = {**BERT, "architectures": ["BeitForImageClassification"], "id2label": labels, "image_size": 24,
              "label2id": {label: int(n) for n, label in labels.items()}, "layer_norm_eps": 1e-12,
              "layer_scale_init_value": 0.1, "model_type": "beit", "num_channels": 3, "patch_size": 6,
              "use_absolute_position_embeddings": True, "use_mask_token": False, "use_mean_pooling": False,
              "use_relative_position_bias": True, "use_shared_relative_position_bias": True}
    del config["pad_token_id"]
    weights, width, rows = Weights(13), 36, 7 * 7 + 3
    table = "relative_position_bias.relative_position_bias_table"
    weights.put("beit.embeddings.cls_token", (1, 1, width), 0.3)
    weights.put("beit.embeddings.position_embeddings", (1, 17, width), 0.3)
    weights.put("beit.embeddings.patch_embeddings.projection.weight", (width, 3, 6, 6), 0.1)
    weights.put("beit.embeddings.patch_embeddings.projection.bias", width, 0.2)
    weights.put("beit.encoder." + table, (rows, 3), 1.0)
    for n in range(3):
        layer = f"beit.encoder.layer.{n}."
        weights.norm(layer + "layernorm_before", width)
        for each in ("query", "key", "value"):
            weights.linear(f"{layer}attention.attention.{each}", width, width, each != "key")
        weights.put(f"{layer}attention.attention.{table}", (rows, 3), 1.0)
        weights.linear(layer + "attention.output.dense", width, width)
        weights.norm(layer + "layernorm_after", width)
        weights.linear(layer + "intermediate.dense", 52, width)
        weights.linear(layer + "output.dense", width, 52)
        weights.put(layer + "lambda_1", width, 0.3, 0.7)
        weights.put(layer + "lambda_2", width, 0.3, 0.7)
    weights.norm("beit.layernorm", width)
    weights.linear("classifier", 7, width)
    return config, weights, {"pixel_values": weights.random.standard_normal((3, 24, 24)).astype(np.float32)}


def umt5():
    config = {"architectures": ["UMT5ForConditionalGeneration"], "classifier_dropout": 0.0, "d_ff": 44, "d_kv": 10,
              "d_model": 36, "decoder_start_token_id": 0, "dense_act_fn": "gelu_new", "dropout_rate": 0.1,
              "eos_token_id": 1, "feed_forward_proj": "gated-gelu", "initializer_factor": 1.0,
              "is_encoder_decoder": True, "is_gated_act": True, "layer_norm_epsilon": 1e-6, "model_type": "umt5",
              "num_decoder_layers": 3, "num_heads": 3, "num_layers": 2, "pad_token_id": 0,
              "relative_attention_max_distance": 15, "relative_attention_num_buckets": 8, "scalable_attention": True,
              "tie_word_embeddings": False, "torch_dtype": "float32",
              "transformers_version": "4.51.0", "use_cache": True, "vocab_size": 53}
    weights, width, wide = Weights(14), 36, 30
    weights.put("shared.weight", (53, width), 0.7)
    weights.put("lm_head.weight", (53, width), 0.2)
    for side, layers in (("encoder", 2), ("decoder", 3)):
        for n in range(layers):
            parts = ("SelfAttention",) if side == "encoder" else ("SelfAttention", "EncDecAttention")
            for at, part in enumerate(parts):
                layer = f"{side}.block.{n}.layer.{at}."
                weights.norm(layer + "layer_norm", width, False)
                for each in "qkv":
                    weights.linear(f"{layer}{part}.{each}", wide, width, False, 0.6 if each == "q" else 1.0)
                weights.linear(f"{layer}{part}.o", width, wide, False)
            weights.put(f"{side}.block.{n}.layer.0.SelfAttention.relative_attention_bias.weight", (8, 3), 1.0)
            last = f"{side}.block.{n}.layer.{len(parts)}."
            weights.norm(last + "layer_norm", width, False)
            for each in ("wi_0", "wi_1"):
                weights.linear(f"{last}DenseReluDense.{each}", 44, width, False)
            weights.linear(last + "DenseReluDense.wo", width, 44, False)
        weights.norm(side + ".final_layer_norm", width, False)
    random = weights.random
    return config, weights, {"input_ids": random.integers(0, 53, 21), "decoder_input_ids": random.integers(0, 53, 17)}


MAKERS = {"electra-discriminator": ("electra", electra_discriminator), "deberta-v2-conv": ("deberta-v2", deberta_v2_conv),
          "beit-both": ("beit", beit_both), "umt5": ("t5", umt5)}


def main():
    for name in sys.argv[1:]:
        known, maker = MAKERS[name]
        reference.check(known)
        config, weights, given = maker()
        folder = pathlib.Path(reference.FAMILIES) / name
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        reference.write(folder / "model.safetensors", weights)
        seen = reference.compute(config, reference.read(folder / "model.safetensors"), given)
        reference.write(folder / "expected.safetensors", {**given, **seen})
        for key, value in seen.items():
            rows = f", largest weight of a row {value.max(-1).mean():.2f}" if "attention" in key else ""
            print(f"{name}: {key} {value.shape}, deviation {value.std():.3f}{rows}")


if __name__ == "__main__":
    main()
