#!/usr/bin/env python3
"""make.py: remakes the folders beside this file: tiny checkpoints with quantised weights, in the forms of published ones.

NAME holds config.json and model.safetensors, and expected.safetensors with input_ids [T] and logits [T, V] of the library's
plain float32 model with the weights that the stored numbers mean, and weights.json with the SHA-256 of each of those
weights as float32. The weights are unpacked in float64 from the stored bytes alone, by the formulas of the formats, and
rounded once; those of compressed-tensors, MLX and bitsandbytes were also written, and are compared, with those libraries.

Needs torch, safetensors, transformers, compressed-tensors, mlx and bitsandbytes (2.13, 0.8, 5.24, 0.20, 0.32 and 0.50 made what is here); the tests need none of them. Folders that are named are remade,
else all."""
import hashlib, json, os, shutil, sys
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import numpy as np, torch, transformers
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))


def model_of(kind, seed, **fields):
    config = transformers.AutoConfig.for_model(kind, vocab_size=40, pad_token_id=0, **fields)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    torch.manual_seed(seed)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.normal_(0, 1.5 / parameter.shape[-1] ** 0.5)
        else:
            parameter.data.add_(0.1 * torch.randn_like(parameter))
    return model


def write(name, model, tensors, weights, quantization, field="quantization_config"):
    """`tensors` replace the model's own of `weights`, which are what they mean: float32 arrays by name."""
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for key, value in weights.items():
        model.get_parameter(key).data.copy_(torch.from_numpy(value))
    config = json.loads(model.config.to_json_string())
    config.pop("experts_implementation", None)
    config.update(architectures=[type(model).__name__], dtype="float32", quantization_config=quantization)
    if field != "quantization_config":
        config[field] = quantization
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1)
    plain = {key: value.detach().contiguous() for key, value in model.state_dict().items() if key not in weights}
    save_file(plain | {key: value.contiguous() for key, value in tensors.items()}, os.path.join(folder, "model.safetensors"))
    ids = torch.arange(9)[None] * 7 % 31 + 3
    with torch.no_grad():
        out = model(input_ids=ids)
    save_file({"input_ids": ids[0], "logits": out.logits[0].contiguous()}, os.path.join(folder, "expected.safetensors"))
    digests = {key: hashlib.sha256(value.astype("<f4").tobytes()).hexdigest() for key, value in weights.items()}
    with open(os.path.join(folder, "weights.json"), "w") as file:
        json.dump(digests, file, indent=1)


def matrices(model):
    """Names and float64 values of what is quantised."""
    return {key: value.detach().double().numpy() for key, value in model.named_parameters() if "_proj" in key and value.dim() > 1}


# ---- FP8

def float8_numbers(array):
    """Bytes as float64 numbers, by the definition of e4m3fn."""
    bits = array.view(np.uint8).astype(np.int64)
    exponent, fraction = bits >> 3 & 15, bits & 7
    size = np.where(exponent == 0, fraction * 2.0**-9, (1 + fraction / 8) * 2.0 ** (exponent - 7))
    size = np.where((bits & 127) == 127, np.nan, size)
    return np.where(bits > 127, -size, size)


def float8_of(values):
    return torch.from_numpy(values).float().to(torch.float8_e4m3fn)


def bytes_of(tensor):
    return tensor.view(torch.uint8).numpy()


def spread(scales, block, shape):
    """Scales of blocks as one number for each number of the matrix."""
    return scales[np.arange(shape[0]) // block[0]][:, np.arange(shape[1]) // block[1]]


def float8_blocks(name, kind, seed, block, said, ending="_scale_inv", dtype=torch.float32, **fields):
    model = model_of(kind, seed, **fields)
    tensors, weights = {}, {}
    for key, value in matrices(model).items():
        rows, columns = -(-value.shape[0] // block[0]), -(-value.shape[1] // block[1])
        largest = np.array([[np.abs(value[r * block[0]:(r + 1) * block[0], c * block[1]:(c + 1) * block[1]]).max()
                             for c in range(columns)] for r in range(rows)])
        scales = torch.from_numpy(largest / 448).to(dtype)
        each = spread(scales.double().numpy(), block, value.shape)
        numbers = float8_of(value / each)
        weights[key] = (float8_numbers(bytes_of(numbers)) * each).astype(np.float32)
        tensors[key], tensors[key + ending] = numbers, scales
        if "static" in name:
            tensors[key + ending] = scales.reshape(())
            tensors[key.replace(".weight", ".input_scale")] = torch.tensor(0.25)
    write(name, model, tensors, weights, said)


def float8_channels():
    """By the library: one scale a row, bfloat16."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    model = model_of("llama", 3, **SMALL)
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=8, type="float", strategy="channel"),
                                input_activations=QuantizationArgs(num_bits=8, type="float", strategy="token", dynamic=True))
    compressor = BaseCompressor.get_value_from_registry("float-quantized")
    tensors, weights = {}, {}
    for key, value in matrices(model).items():
        weight = torch.from_numpy(value).float()
        scales = (weight.abs().amax(1, keepdim=True) / 448).bfloat16()
        made = compressor.compress({"weight": weight, "weight_scale": scales}, scheme)
        back = compressor.decompress(dict(made), scheme)["weight"]
        tensors[key], tensors[key + "_scale"] = made["weight"], made["weight_scale"]
        weights[key] = (float8_numbers(bytes_of(made["weight"])) * made["weight_scale"].double().numpy()).astype(np.float32)
        assert torch.equal(back, torch.from_numpy(weights[key]).to(back.dtype)), key
    group = json.loads(scheme.model_dump_json())
    write("fp8-channels", model, tensors, weights,
          {"quant_method": "compressed-tensors", "format": "float-quantized", "quantization_status": "compressed", "ignore": ["lm_head"],
           "config_groups": {"group_0": group}, "kv_cache_scheme": None, "global_compression_ratio": None})


# ---- MXFP4

FOUR_BITS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def mxfp4():
    model = model_of("gpt_oss", 5, hidden_size=64, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                     head_dim=16, num_local_experts=3, num_experts_per_tok=2, sliding_window=6, eos_token_id=2,
                     layer_types=["sliding_attention", "full_attention"])
    model.config.experts_implementation = "eager"
    tensors, weights = {}, {}
    for key, parameter in model.named_parameters():
        if not key.endswith(("experts.gate_up_proj", "experts.down_proj")):
            continue
        rows = parameter.detach().double().numpy().transpose(0, 2, 1)  # (E, N, K)
        groups = rows.reshape(*rows.shape[:2], -1, 32)
        exponents = np.floor(np.log2(np.abs(groups).max(-1) / 6)) + 1
        numbers = np.abs(groups[..., None] / 2.0 ** exponents[..., None, None] - FOUR_BITS).argmin(-1)
        blocks = (numbers[..., 0::2] | numbers[..., 1::2] << 4).astype(np.uint8)
        scales = (exponents + 127).astype(np.uint8)
        tensors[key + "_blocks"], tensors[key + "_scales"] = torch.from_numpy(blocks), torch.from_numpy(scales)
        pairs = np.stack([blocks & 15, blocks >> 4], -1).reshape(*blocks.shape[:3], 32)
        values = FOUR_BITS[pairs] * 2.0 ** (scales.astype(np.float64)[..., None] - 127)
        weights[key] = np.ascontiguousarray(values.reshape(rows.shape).transpose(0, 2, 1)).astype(np.float32)
        from transformers.integrations.mxfp4 import convert_moe_packed_tensors
        library = convert_moe_packed_tensors(tensors[key + "_blocks"], tensors[key + "_scales"], dtype=torch.float32)
        assert torch.equal(library, torch.from_numpy(weights[key])), key
    write("mxfp4", model, tensors, weights,
          {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})


# ---- GPTQ and AWQ

def packed(numbers, order=range(8)):
    """Eight numbers of the last dimension a word of int32; `order`: which of them has the place n."""
    words = np.zeros((*numbers.shape[:-1], numbers.shape[-1] // 8), np.uint32)
    for place, which in enumerate(order):
        words |= numbers[..., which::8].astype(np.uint32) << np.uint32(4 * place)
    return torch.from_numpy(words.view(np.int32))


def unpacked(words, order=range(8)):
    bits = words.numpy().view(np.uint32)
    numbers = np.zeros((*bits.shape[:-1], bits.shape[-1] * 8), np.int64)
    for place, which in enumerate(order):
        numbers[..., which::8] = bits >> np.uint32(4 * place) & 15
    return numbers


def int4(name, seed, size, said, awq=False, shuffled=False, less_one=True, **fields):
    model = model_of("llama", seed, **fields)
    rng = np.random.default_rng(seed)
    tensors, weights = {}, {}
    for key, value in matrices(model).items():
        outputs, inputs = value.shape
        size_here = inputs if size < 0 else size
        groups = np.arange(inputs) // size_here
        groups = rng.permutation(groups) if shuffled else groups
        count = groups.max() + 1
        low = np.array([[min(row[groups == g].min(), -1e-3) for row in value] for g in range(count)])  # (G, N)
        high = np.array([[max(row[groups == g].max(), 1e-3) for row in value] for g in range(count)])
        scales = torch.from_numpy((high - low) / 15).half()
        steps = scales.double().numpy()
        zeros = np.clip(np.rint(-low / steps), 1, 15).astype(np.int64)
        numbers = np.clip(np.rint(value / steps[groups].T) + zeros[groups].T, 0, 15).astype(np.int64)  # (N, K)
        stem = key.removesuffix(".weight")
        order = (0, 2, 4, 6, 1, 3, 5, 7) if awq else range(8)
        if awq:
            tensors[stem + ".qweight"] = packed(numbers.T, order)
            read = unpacked(tensors[stem + ".qweight"], order).T
        else:
            tensors[stem + ".qweight"] = packed(numbers).T
            read = unpacked(tensors[stem + ".qweight"].T.contiguous())
            tensors[stem + ".g_idx"] = torch.from_numpy(groups.astype(np.int32))
        tensors[stem + ".qzeros"] = packed(zeros - (0 if awq or not less_one else 1), order)
        tensors[stem + ".scales"] = scales
        stored = unpacked(tensors[stem + ".qzeros"], order) + (0 if awq or not less_one else 1)
        weights[key] = ((read - stored[groups].T) * steps[groups].T).astype(np.float32)
    write(name, model, tensors, weights, said)


# ---- compressed-tensors, whole numbers

def whole(name, seed, bits, group, symmetric, packed, dtype=torch.bfloat16, **fields):
    """Written with the library; the stored numbers are unpacked here."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    model = model_of("llama", seed, **fields)
    strategy = "group" if group else "channel"
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=bits, type="int", strategy=strategy, symmetric=symmetric, group_size=group or None))
    form = "pack-quantized" if packed else "int-quantized"
    compressor = BaseCompressor.get_value_from_registry(form)
    half = 1 << bits - 1
    tensors, weights = {}, {}
    for key, value in matrices(model).items():
        outputs, inputs = value.shape
        size = group or inputs
        groups = value.reshape(outputs, inputs // size, size)
        if symmetric:
            scales, zeros = np.abs(groups).max(-1) / (half - 1), None
        else:
            low, high = np.minimum(groups.min(-1), 0), np.maximum(groups.max(-1), 0)
            scales = (high - low) / (2 * half - 1)
            zeros = np.clip(np.rint(-half - low / scales), -half, half - 1)
        scales = torch.from_numpy(scales).to(dtype)
        state = {"weight": torch.from_numpy(value).float(), "weight_scale": scales}
        if zeros is not None:
            state["weight_zero_point"] = torch.from_numpy(zeros.astype(np.int8))
        made = {part: tensor.clone() for part, tensor in compressor.compress(dict(state), scheme).items() if tensor is not None}
        stem = key.removesuffix(".weight")
        if packed:
            words = made["weight_packed"].numpy().view(np.uint32)
            numbers = bits_of(words, bits)[:, :inputs] - half
            stored = None if zeros is None else bits_of(made["weight_zero_point"].numpy().view(np.uint32).T.copy(), bits).T[:outputs] - half
        else:
            numbers, stored = made["weight"].numpy().astype(np.int64), None if zeros is None else made["weight_zero_point"].numpy().astype(np.int64)
        steps = made["weight_scale"].double().numpy()
        spread_out = lambda array: np.repeat(array, size, 1)
        weights[key] = ((numbers - (0 if stored is None else spread_out(stored))) * spread_out(steps)).astype(np.float32)
        back = compressor.decompress(dict(made), scheme)["weight"]
        assert torch.equal(back, torch.from_numpy(weights[key]).to(back.dtype)), key
        tensors.update({f"{stem}.{part}": tensor for part, tensor in made.items()})
    write(name, model, tensors, weights,
          {"quant_method": "compressed-tensors", "format": form, "quantization_status": "compressed", "ignore": ["lm_head"],
           "config_groups": {"group_0": json.loads(scheme.model_dump_json())}, "kv_cache_scheme": None, "global_compression_ratio": None})


def bits_of(words, bits):
    """Numbers of `bits` bits that follow each other in the little-endian words of each row."""
    rows = np.unpackbits(np.ascontiguousarray(words).view(np.uint8).reshape(len(words), -1), axis=1, bitorder="little")
    rows = rows[:, :rows.shape[1] // bits * bits].reshape(len(words), -1, bits)
    return (rows.astype(np.int64) << np.arange(bits)).sum(-1)


# ---- MLX

def mlx(name, seed, said, dtype, **fields):
    """Written with the library; `said` is its field of the configuration."""
    import mlx.core as mx
    model = model_of("llama", seed, tie_word_embeddings=False, **fields)
    tensors, weights = {}, {}
    for key, value in {**matrices(model), "model.embed_tokens.weight": model.get_parameter("model.embed_tokens.weight").detach().double().numpy()}.items():
        stem = key.removesuffix(".weight")
        own = said.get(stem, said)
        if own is False:
            continue
        bits, group = own["bits"], own["group_size"]
        made = mx.quantize(mx.array(value.astype(np.float32)).astype(dtype), group_size=group, bits=bits, mode=own.get("mode", "affine"))
        words, scales = np.array(made[0]), torch.from_numpy(np.array(made[1].astype(mx.float32) if made[1].dtype != mx.uint8 else made[1]))
        numbers = bits_of(words, bits)
        spread_out = lambda array: np.repeat(array.double().numpy(), group, 1)
        half = torch.bfloat16 if dtype == mx.bfloat16 else torch.float16
        tensors[stem + ".weight"] = torch.from_numpy(words.view(np.uint32))
        if own.get("mode") == "mxfp4":
            tensors[stem + ".scales"] = scales
            weights[key] = (FOUR_BITS[numbers] * 2.0 ** (spread_out(scales) - 127)).astype(np.float32)
        else:
            biases = torch.from_numpy(np.array(made[2].astype(mx.float32)))
            tensors[stem + ".scales"], tensors[stem + ".biases"] = scales.to(half), biases.to(half)
            weights[key] = ((numbers * spread_out(scales)).astype(np.float32) + spread_out(biases)).astype(np.float32)
            exact = numbers * spread_out(scales) + spread_out(biases)
            assert np.abs(weights[key] - exact).max() <= 2.0**-24 * np.abs(exact).max(), key
        back = np.array(mx.dequantize(*made, group_size=group, bits=bits, mode=own.get("mode", "affine")).astype(mx.float32))
        assert np.abs(back - weights[key]).max() <= 2.0**-7 * np.abs(back).max(), key
    write(name, model, tensors, weights, said, "quantization")


# ---- bitsandbytes

def four_bits(name, seed, kind, nested, **fields):
    from bitsandbytes import functional
    model = model_of("llama", seed, **fields)
    tensors, weights = {}, {}
    for key, value in matrices(model).items():
        numbers, state = functional.quantize_4bit(torch.from_numpy(value).float(), blocksize=64, compress_statistics=nested, quant_type=kind)
        own = {f"{key}.{part}": tensor for part, tensor in state.as_dict(packed=True).items()}
        tensors.update({key: numbers}, **own)
        both = numbers.flatten().numpy()
        which = np.stack([both >> 4, both & 15], -1).flatten()
        code = own[key + ".quant_map"].numpy()
        scales = own[key + ".absmax"]
        if nested:
            said = json.loads(bytes(own[f"{key}.quant_state.bitsandbytes__{kind}"].numpy()))
            outer = np.repeat(own[key + ".nested_absmax"].numpy(), said["nested_blocksize"])[:len(scales)]
            scales = own[key + ".nested_quant_map"].numpy()[scales.numpy()] * outer + np.float32(said["nested_offset"])
            assert scales.dtype == np.float32
        else:
            scales = scales.numpy()
        weights[key] = (code[which] * np.repeat(scales, 64)[:len(which)]).reshape(value.shape).astype(np.float32)
        back = functional.dequantize_4bit(numbers, state).numpy()
        assert np.abs(back - weights[key]).max() <= 1e-6 * np.abs(back).max(), key
    write(name, model, tensors, weights,
          {"quant_method": "bitsandbytes", "_load_in_4bit": True, "_load_in_8bit": False, "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_compute_dtype": "bfloat16",
           "bnb_4bit_quant_storage": "uint8", "bnb_4bit_quant_type": kind, "bnb_4bit_use_double_quant": nested, "llm_int8_enable_fp32_cpu_offload": False,
           "llm_int8_has_fp16_weight": False, "llm_int8_skip_modules": None, "llm_int8_threshold": 6.0})


def eight_bits(seed):
    from bitsandbytes import functional
    model = model_of("llama", seed, **GROUPED)
    tensors, weights = {}, {}
    for key, value in matrices(model).items():
        numbers, sizes, _ = functional.int8_vectorwise_quant(torch.from_numpy(value).half())
        stem = key.removesuffix(".weight")
        tensors.update({key: numbers, stem + ".SCB": sizes.float(), stem + ".weight_format": torch.tensor(0, dtype=torch.uint8)})
        weights[key] = numbers.numpy().astype(np.float32) * (sizes.numpy().astype(np.float32) / np.float32(127))[:, None]
        exact = numbers.double().numpy() * sizes.double().numpy()[:, None] / 127
        assert np.abs(exact - weights[key]).max() <= 2.0**-23 * np.abs(exact).max(), key
    write("llm-int8", model, tensors, weights,
          {"quant_method": "bitsandbytes", "_load_in_4bit": False, "_load_in_8bit": True, "load_in_4bit": False, "load_in_8bit": True, "llm_int8_skip_modules": None, "llm_int8_threshold": 6.0})


SMALL = dict(hidden_size=48, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
GROUPED = dict(SMALL, hidden_size=64, intermediate_size=96)
GPTQ = {"quant_method": "gptq", "bits": 4, "sym": False, "true_sequential": True, "damp_percent": 0.01, "static_groups": False}

FP8 = {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [128, 128],
       "modules_to_not_convert": ["lm_head", "model.layers.0.input_layernorm"]}
WIDE = dict(GROUPED, hidden_size=128, intermediate_size=192, num_hidden_layers=1)


def mlx_folders():
    import mlx.core as mx
    return {
        "mlx-4bit": lambda: mlx("mlx-4bit", 12, {"group_size": 64, "bits": 4, "mode": "affine"}, mx.bfloat16, **WIDE),
        "mlx-mixed": lambda: mlx("mlx-mixed", 13, {"group_size": 32, "bits": 8, "model.embed_tokens": {"group_size": 32, "bits": 3},
                                                    "model.layers.0.mlp.down_proj": {"group_size": 32, "bits": 4, "mode": "mxfp4"},
                                                    "model.layers.0.self_attn.q_proj": {"group_size": 64, "bits": 6},
                                                    "model.layers.0.self_attn.k_proj": False}, mx.float16, **WIDE),
    }


FOLDERS = {
    "fp8-blocks": lambda: float8_blocks("fp8-blocks", "qwen3", 1, (128, 128), FP8, hidden_size=96, intermediate_size=256, num_hidden_layers=1, num_attention_heads=4,
                                        num_key_value_heads=2, head_dim=40),
    "fp8-static": lambda: float8_blocks("fp8-static", "mistral", 2, (1 << 20, 1 << 20), {"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["lm_head"]},
                                        "_scale", torch.bfloat16, **dict(SMALL, hidden_size=64)),
    "fp8-channels": float8_channels,
    "mxfp4": mxfp4,
    "gptq": lambda: int4("gptq", 6, 32, dict(GPTQ, group_size=32, desc_act=False), **GROUPED),
    "gptq-order": lambda: int4("gptq-order", 7, 32, dict(GPTQ, group_size=32, desc_act=True), shuffled=True, **GROUPED),
    "gptq-v2": lambda: int4("gptq-v2", 8, -1, dict(GPTQ, group_size=-1, desc_act=False, checkpoint_format="gptq_v2"), less_one=False, **GROUPED),
    "awq": lambda: int4("awq", 9, 32, {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True, "modules_to_not_convert": None}, awq=True,
                        **GROUPED),
    "packed-int4": lambda: whole("packed-int4", 10, 4, 32, False, True, **GROUPED),
    "packed-int8": lambda: whole("packed-int8", 15, 8, 0, True, True, torch.float16, **GROUPED),
    "int8-channels": lambda: whole("int8-channels", 11, 8, 0, True, False, **GROUPED),
    "nf4": lambda: four_bits("nf4", 14, "nf4", True, **dict(GROUPED, intermediate_size=128)),
    "fp4": lambda: four_bits("fp4", 16, "fp4", False, **SMALL),
    "llm-int8": lambda: eight_bits(17),
}

if __name__ == "__main__":
    wanted = sys.argv[1:]
    for name, make in {**FOLDERS, **(mlx_folders() if not wanted or any("mlx" in name for name in wanted) else {})}.items():
        if not wanted or name in wanted:
            make()
