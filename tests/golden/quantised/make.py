#!/usr/bin/env python3
"""make.py: remakes the folders beside this file: tiny checkpoints with quantised weights, in the forms of published ones.

NAME holds config.json and model.safetensors, and expected.safetensors with input_ids [T] and logits [T, V] of the library's
plain float32 model with the weights that the stored numbers mean, and weights.json with the SHA-256 of each of those
weights as float32. The weights are unpacked in float64 from the stored bytes alone, by the formulas of the formats, and
rounded once; those of compressed-tensors were also written, and are compared, with that library.

Needs torch, safetensors, transformers and compressed-tensors (2.13, 0.8, 5.24 and 0.20 made what is here); the tests need
none of them."""
import hashlib, json, os, shutil
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


def write(name, model, tensors, weights, quantization):
    """`tensors` replace the model's own of `weights`, which are what they mean: float32 arrays by name."""
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for key, value in weights.items():
        model.get_parameter(key).data.copy_(torch.from_numpy(value))
    config = json.loads(model.config.to_json_string())
    config.pop("experts_implementation", None)
    config.update(architectures=[type(model).__name__], dtype="float32", quantization_config=quantization)
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


SMALL = dict(hidden_size=48, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
GROUPED = dict(SMALL, hidden_size=64, intermediate_size=96)
GPTQ = {"quant_method": "gptq", "bits": 4, "sym": False, "true_sequential": True, "damp_percent": 0.01, "static_groups": False}

if __name__ == "__main__":
    float8_blocks("fp8-blocks", "qwen3", 1, (128, 128),
                  {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [128, 128],
                   "modules_to_not_convert": ["lm_head", "model.layers.0.input_layernorm"]},
                  hidden_size=96, intermediate_size=256, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, head_dim=40)
    float8_blocks("fp8-static", "mistral", 2, (1 << 20, 1 << 20),
                  {"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["lm_head"]}, "_scale", torch.bfloat16,
                  **dict(SMALL, hidden_size=64))
    float8_channels()
    mxfp4()
    int4("gptq", 6, 32, dict(GPTQ, group_size=32, desc_act=False), **GROUPED)
    int4("gptq-order", 7, 32, dict(GPTQ, group_size=32, desc_act=True), shuffled=True, **GROUPED)
    int4("gptq-v2", 8, -1, dict(GPTQ, group_size=-1, desc_act=False, checkpoint_format="gptq_v2"), less_one=False, **GROUPED)
    int4("awq", 9, 32, {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True,
                        "modules_to_not_convert": None}, awq=True, **GROUPED)
