#!/usr/bin/env python3
"""make.py [TYPE...]        remakes values/ and the manual's page of models with the installed transformers
make.py --page           the page alone
make.py --opens LOCUS    sets in types.txt, by running the program LOCUS, which types open; then the page

types.txt lists the types, one a line. For each, values/TYPE.json holds the configuration of a tiny model, the names and shapes of its
tensors, the input, and, where the line says `changes`, configurations with one field changed; values/TYPE.safetensors what the library
computes: some rows of every attention map and of the logits (`probes` below). Weights are not stored: tensors.py makes them from names.
Needs torch and transformers; the tests need neither."""
import contextlib, copy, importlib, json, os, re, signal, subprocess, sys, tempfile, types
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import numpy
import windows
from tensors import bits, tensor

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "assets", "manual", "models.md")
SECONDS = 90  # for one type or one changed configuration

# ---- the table


def table():
    """The lines of types.txt: dicts of type, models, state, note, changes, settings."""
    rows = []
    for line in open(f"{HERE}/types.txt", encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            cells = [cell.strip() for cell in line.rstrip("\n").split("|")] + ["", ""]
            state, _, note = cells[2].partition(":")
            rows.append(dict(type=cells[0], models=cells[1], state=state.strip(), note=note.strip(), changes="changes" in cells[3].split(), elsewhere="elsewhere" in cells[3].split(),
                             settings=json.loads(cells[4] or "{}")))
    return rows


def stored(name):
    path = f"{HERE}/values/{name}.json"
    return json.load(open(path, encoding="utf-8")) if os.path.exists(path) else None


# ---- small configurations

SIZES = dict(
    vocab_size=96, hidden_size=64, d_model=64, n_embd=64, dim=64, embed_dim=64, embedding_size=64, word_embed_proj_dim=64, emb_dim=64,
    num_hidden_layers=4, n_layer=4, num_layers=4, n_layers=4, num_decoder_layers=4, encoder_layers=3, decoder_layers=3,
    num_attention_heads=4, n_head=4, num_heads=4, n_heads=4, encoder_attention_heads=4, decoder_attention_heads=4, num_key_value_heads=2,
    n_head_kv=2, num_kv_heads=2, head_dim=16, d_kv=16, kv_channels=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16,
    kv_lora_rank=24, q_lora_rank=32, global_head_dim=32, attention_head_dim=16, intermediate_size=96, ffn_dim=96, encoder_ffn_dim=96,
    decoder_ffn_dim=96, n_inner=96, d_ff=96, hidden_dim=96, ffn_hidden_size=96, moe_intermediate_size=48, shared_expert_intermediate_size=48,
    intermediate_size_mlp=96, max_position_embeddings=64, n_positions=64, n_ctx=64, max_seq_len=64, max_sequence_length=64, seq_length=64,
    max_source_positions=64, max_target_positions=64, image_size=32, patch_size=8, num_channels=3, pooling_size=4, mask_ratio=0.0,
    sliding_window=6, attention_chunk_size=8, local_attention=6, window_size=6, num_experts=4, num_local_experts=4, n_routed_experts=4,
    moe_num_experts=4, num_experts_per_tok=2, num_experts_per_token=2, moe_k=2, top_k_experts=2, n_shared_experts=1, n_group=1, topk_group=1,
    first_k_dense_replace=1, moe_layer_start_index=1, type_vocab_size=2, num_global_layers=1, linear_num_key_heads=2,
    linear_num_value_heads=4, linear_key_head_dim=16, linear_value_head_dim=16, mamba_d_state=16, mamba_d_head=16, mamba_n_heads=8,
    mamba_expand=2, mamba_num_heads=8, mamba_head_dim=16, ssm_state_size=16, state_size=16, vocab_size_per_layer_input=96,
    hidden_size_per_layer_input=16, num_kv_shared_layers=0, laurel_rank=8, altup_num_inputs=2, relative_attention_num_buckets=8,
    relative_attention_max_distance=16)
DROPOUTS = ("attention_dropout hidden_dropout dropout resid_pdrop embd_pdrop attn_pdrop hidden_dropout_prob attention_probs_dropout_prob "
            "activation_dropout layerdrop dropout_rate embedding_dropout").split()
TOKENS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=0, forced_eos_token_id=None, forced_bos_token_id=None)
NULL_MEANS_DERIVED = ("head_dim", "num_key_value_heads", "pad_token_id", "n_inner", "q_lora_rank")
COMPUTED = ("rotary_embeddings.inv_freq", "roformer.encoder.embed_positions.weight", "self_attn.slope_rate", "self_attn.query_decay",
            "self_attn.key_decay", "self_attn.diagonal_decay")  # though ESM-2, RoFormer and MiniMax 01 store it
LARGEST = 5_000_000  # parameters of a tiny model
PICTURES = set("""vit vit_mae vit_msn deit beit data2vec-vision dinov2 dinov2_with_registers dinov3_vit ijepa siglip_vision_model
siglip2_vision_model clip_vision_model chinese_clip metaclip_2 siglip2 aimv2_vision_model aimv2 pixtral hiera swin swinv2 yolos vitdet dpt pixio chinese_clip_vision_model mlcd
mlcd_vision_model metaclip_2_vision_model internvl_vision idefics3_vision idefics2_vision smolvlm_vision blip_vision_model""".split())
# Types that AutoModel has no class for.
CLASSES = dict(metaclip_2_vision_model="MetaClip2VisionModel", idefics2_vision="Idefics2VisionTransformer")
# Height and width of the input of towers that take pictures of any size.
EXTENTS = dict.fromkeys("pixtral mlcd mlcd_vision_model internvl_vision idefics2_vision idefics3_vision smolvlm_vision siglip2 siglip2_vision_model".split(), (24, 40))


def small(config_class, settings):
    """The class's configuration at the sizes above; `settings` of the table replace fields, "drop" leaves one as it is."""
    have = config_class().to_dict()
    fields = {}
    for name, value in {**SIZES, **dict.fromkeys(DROPOUTS, 0.0)}.items():
        if name in have and not isinstance(have[name], (dict, list)) and (have[name] is not None or name in NULL_MEANS_DERIVED):
            fields[name] = value
    fields.update({name: value for name, value in TOKENS.items() if name in have})
    for name in ("layer_types", "mlp_layer_types"):
        if have.get(name):
            fields[name] = (list(dict.fromkeys(have[name])) * 4)[:4]
    if "kv_lora_rank" in have:
        fields["num_key_value_heads"] = 4
        fields.update({"head_dim": 8} if "head_dim" in fields else {})
    fields.update(settings)
    return config_class(**{name: value for name, value in fields.items() if value != "drop"})


def kinds():
    """Type → kind of input and output, and the library's class of it."""
    from transformers.models.auto import modeling_auto as m
    import transformers
    order = [("seq2seq", m.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, transformers.AutoModelForSeq2SeqLM),
             ("masked", m.MODEL_FOR_MASKED_LM_MAPPING_NAMES, transformers.AutoModelForMaskedLM),
             ("causal", m.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, transformers.AutoModelForCausalLM),
             ("base", m.MODEL_MAPPING_NAMES, transformers.AutoModel)]
    found = {}
    for kind, names, auto in order:
        for name in names:
            found.setdefault(name, ("pixels" if kind == "base" and name in PICTURES else kind, auto))
    for name, own in CLASSES.items():
        module = importlib.import_module(transformers.CONFIG_MAPPING[name].__module__.replace("configuration", "modeling"))
        one = getattr(module, own)
        found[name] = ("pixels", types.SimpleNamespace(from_config=one._from_config, from_pretrained=one.from_pretrained))
    return found


# ---- weights


def rule(name, initial):
    """[offset, scale] of a tensor: matrices by their last dimension, vectors around the constant that the library begins with."""
    if initial.ndim > 1:
        if name.endswith("attention.self.logit_scale"):  # Swin v2's: some are above the limit, the logarithm of 100
            return [1.7, 1.7]
        if name.endswith("Attention.q.weight"):  # T5's, which does not divide scores by √D: as small as the library begins with
            return [0, round(1.6 / (initial.shape[-1] * initial.shape[-2] / 4) ** 0.5, 3)]
        embeds = any(part in name.lower() for part in ("embed", "wte", "wpe", "shared"))
        return [0, 0.5] if embeds else [0, round(1.6 / max(1, initial.shape[-1]) ** 0.5, 3)]
    if not initial.size or not numpy.isfinite(initial).all() or numpy.abs(initial).max() > 100:
        return [0, 0.1]
    return [round(float(numpy.mean(initial, dtype=numpy.float64)), 1) + 0.0, 0.1]


def folded(tensors):
    """Names that differ in a number alone, of the same shape and rule, as one: "layers.{0-3}.weight"."""
    for place in range(3):
        groups = {}
        for name, spec in tensors.items():
            parts = re.split(r"(?<=\.)(\d+|\{\d+-\d+\})(?=\.)", name)
            at = 1 + 2 * place
            key = (tuple(parts[:at] + parts[at + 1:]), str(spec)) if len(parts) > at else (name,)
            groups.setdefault(key, []).append((name, parts, spec))
        tensors = {}
        for members in groups.values():
            numbers = [int(parts[1 + 2 * place]) for _, parts, _ in members] if len(members) > 1 else []
            if numbers and sorted(numbers) == list(range(min(numbers), max(numbers) + 1)):
                _, parts, spec = members[0]
                parts = list(parts)
                parts[1 + 2 * place] = f"{{{min(numbers)}-{max(numbers)}}}"
                tensors["".join(parts)] = spec
            else:
                tensors.update({name: spec for name, _, spec in members})
    return tensors


def unfolded(tensors):
    for name, spec in tensors.items():
        found = re.search(r"\{(\d+)-(\d+)\}", name)
        if found:
            yield from unfolded({name[:found.start()] + str(n) + name[found.end():]: spec for n in range(int(found[1]), int(found[2]) + 1)})
        else:
            yield name, spec


def write_checkpoint(folder, config, tensors):
    from safetensors.numpy import save_file
    save_file({name: tensor(name, *spec) for name, spec in unfolded(tensors)}, f"{folder}/model.safetensors", {"format": "pt"})
    with open(f"{folder}/config.json", "w", encoding="utf-8") as file:
        json.dump(config, file)


# ---- the library's values


@contextlib.contextmanager
def in_float64(torch):
    """Reads float32 as float64 wherever the library's own code asks for it: norms, soft-max, angles."""
    kept = torch.float32, torch.float, torch.Tensor.float
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = kept
        torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def limit():
    def late(*_):
        raise TimeoutError(f"{SECONDS} s")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


class Missing(Exception):
    """The checkpoint lacks tensors that the configuration describes; the library would draw them."""


# Types whose eager attention gives the scores in place of the maps.
BEFORE_SOFTMAX = ("squeezebert",)
# Types whose eager attention takes the sink's share off the output alone, and returns the maps before it.
BEFORE_SINKS = ("granite_swa", "granitemoe_swa")


@contextlib.contextmanager
def whole_maps(model):
    """Makes the maps of BEFORE_SINKS those that the values are multiplied with."""
    import torch
    if model.config.model_type not in BEFORE_SINKS:
        yield
        return
    code = sys.modules[type(model).__module__]
    own = code.eager_attention_forward

    def shared(module, query, key, value, mask, scaling, **more):
        output, maps = own(module, query, key, value, mask, scaling, **more)
        scores = query @ code.repeat_kv(key, module.num_key_value_groups).transpose(2, 3) * scaling
        sums = torch.logsumexp(scores if mask is None else scores + mask, dim=-1)
        return output, maps * (sums - module.sinks.view(1, -1, 1)).sigmoid().unsqueeze(-1)
    code.eager_attention_forward = shared
    try:
        yield
    finally:
        code.eager_attention_forward = own


def attending(config, count):
    """The layers that the library's `count` maps are of: of hybrids it lists those with attention alone, or states in place of the others."""
    kinds = getattr(config, "layers_block_type", None) or getattr(config, "layer_types", None)
    if not kinds or not set(kinds) - {"full_attention", "sliding_attention", "chunked_attention", "attention"}:
        return range(count)
    attends = lambda kind: kind in ("hybrid", "hybrid_sliding") or "attention" in kind and kind != "linear_attention"
    layers = [n if attends(kind) else None for n, kind in enumerate(kinds)]
    return layers if len(layers) == count else [n for n in layers if n is not None]


def patches(pixels, side):
    """The input of a tower that takes patches: rows (P, side·side·channels), all of them shown, and the grid."""
    import torch
    channels, rows, columns = pixels.shape[0], pixels.shape[1] // side, pixels.shape[2] // side
    values = pixels.reshape(channels, rows, side, columns, side).permute(1, 3, 2, 4, 0).reshape(1, rows * columns, -1)
    return dict(pixel_values=values, pixel_attention_mask=torch.ones(1, rows * columns, dtype=torch.long), spatial_shapes=torch.tensor([[rows, columns]]))


def computed(model, given, kind):
    """Name → float64 array of a run."""
    import torch
    model.eval()
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")
    options = dict(output_attentions=True, return_dict=True)
    if kind == "pixels":
        options["pixel_values"] = torch.tensor(tensor("pixel_values", given["pixels"], 0, 1))[None].to(next(model.parameters()).dtype)
        if model.config.model_type == "vit_mae":  # patches in their order, which noise decides
            options["noise"] = torch.arange(model.embeddings.patch_embeddings.num_patches, dtype=torch.float64)[None]
        if model.config.model_type.startswith("siglip2"):
            options.update(patches(options["pixel_values"][0], getattr(model.config, "vision_config", model.config).patch_size))
    else:
        options["input_ids"] = torch.tensor([given["ids"]])
    if kind in ("causal", "seq2seq"):
        options["use_cache"] = False
    if kind == "seq2seq":
        options["decoder_input_ids"] = torch.tensor([given["decoder_ids"]])
    staged = windows.recorded(model) if model.config.model_type in windows.TYPES else contextlib.nullcontext()
    with torch.no_grad(), whole_maps(model), staged as stages:
        both_halves = kind == "pixels" and hasattr(model, "text_model")
        out = (model.vision_model if both_halves else model)(**options)
    found = {}

    def put(prefix, maps, name="attention"):
        layers = attending(model.config, len(maps)) if maps and name == "attention" and not prefix else range(len(maps or ()))
        for layer, each in zip(layers, maps or ()):
            if layer is None:
                continue
            if getattr(each, "ndim", 0) == 4:
                found[f"{prefix}layers.{layer}.{name}"] = each[0].softmax(-1) if model.config.model_type in BEFORE_SOFTMAX else each[0]
    if getattr(out, "decoder_attentions", None) is not None:
        put("encoder.", out.encoder_attentions)
        put("decoder.", out.decoder_attentions)
        put("decoder.", getattr(out, "cross_attentions", None), "cross_attention")
    elif stages:
        put("", [each[None] for each, _ in stages[-1]])
    else:
        put("", getattr(out, "attentions", None))
    if not found:
        raise ValueError("the library gives no attention maps")
    if getattr(out, "logits", None) is not None:
        found["logits"] = out.logits[0]
    else:
        found["hidden"] = out.last_hidden_state[0]
    found = {name: value.detach().to(torch.float64).numpy() for name, value in found.items()}
    if not all(numpy.isfinite(value).all() for value in found.values()):
        raise ValueError("values are not finite")
    return found


def both(auto, folder, given, kind, allowed_missing=None):
    """Values in float64 and the largest difference of float32, relative to the largest logit; in float32 where that is all there is.

    The third is the names that the library missed in the file."""
    import torch
    model, loading = auto.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32, output_loading_info=True)
    missing = sorted(loading["missing_keys"])
    if allowed_missing is not None and set(missing) - set(allowed_missing):
        raise Missing(missing[0])
    plain = computed(model.float(), given, kind)
    try:
        with in_float64(torch):
            twin = auto.from_config(copy.deepcopy(model.config), attn_implementation="eager").double()
            twin.load_state_dict(model.state_dict())
            exact = computed(twin, given, kind)
    except TimeoutError:
        raise
    except Exception as error:
        print("  not in float64:", type(error).__name__, str(error)[:150].replace("\n", " "))
        return plain, None, missing
    if set(exact) != set(plain) or any(exact[name].shape != value.shape for name, value in plain.items()):
        return plain, None, missing
    off = max(float(numpy.abs(exact[name] - value).max()) / (1 if "attention" in name else float(numpy.abs(value).max()) or 1) for name, value in plain.items())
    # A bucket or an expert that float64 chooses otherwise is no rounding: the library computes in float32.
    return (exact, off, missing) if off < 1e-3 else (plain, None, missing)


def probed_rows(count):
    return sorted({count // 4, count // 2, count - 1})


def probed_heads(count):
    return list(range(count)) if count <= 4 else [0, 1, count // 2, count - 1]


def probes(found):
    """The stored part: of maps these heads and rows, of logits (or states) these rows."""
    return {name: (value[probed_heads(value.shape[0])][:, probed_rows(value.shape[1])] if value.ndim == 3
                   else value[probed_rows(value.shape[0])]).astype(numpy.float32) for name, value in found.items()}


def narrow(found):
    """What is stored of a changed configuration: of maps one head, and the two last of the rows; of logits the last row."""
    return {name: (value[-1:, -2:] if value.ndim == 3 else value[-1:]) for name, value in probes(found).items()}


# ---- configurations with one field changed

LATER = dict(original_max_position_embeddings=16)
SKIPPED = set("""architectures model_type torch_dtype dtype transformers_version vocab_size hidden_size num_hidden_layers num_attention_heads
intermediate_size bos_token_id eos_token_id pad_token_id use_cache return_dict output_attentions output_hidden_states problem_type id2label
label2id initializer_range is_decoder chunk_size_feed_forward""".split())
ADDED = dict(is_causal=False, is_decoder=True, rotary_dim=8, partial_rotary_factor=0.5, attn_output_gate=True, use_bidirectional_attention=True,
             alibi=True, logit_scale=0.5, no_rope_layers=[0, 1, 0, 1], layer_types=["full_attention", "sliding_attention"] * 2,
             sliding_window=6, use_sliding_window=True, qk_norm=True, use_qk_norm=True, attention_bias=True, rope_interleave=True,
             attn_logit_softcapping=5.0, query_pre_attn_scalar=30, attn_temperature_tuning=True, attention_multiplier=0.3,
             embedding_multiplier=3.0, clip_qkv=0.5, rope_theta=777.0)
# What the library gets wrong in eager attention, the only one that gives maps: its other kinds of attention agree with Locus.
ERRS = {("falcon", "alibi=True"): "adds ALiBi to the scores, and with the mask a second time"}
SET = ("sliding_window", "head_dim", "final_logit_softcapping", "attn_logit_softcapping", "attention_multiplier", "clip_qkv")


def rope_blocks(pairs, trained):
    return {
        "linear": dict(rope_type="linear", factor=4.0),
        "dynamic": dict(rope_type="dynamic", factor=4.0),
        "yarn": dict(rope_type="yarn", factor=4.0, **LATER),
        "yarn, trained length": dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=trained),
        "yarn, mscale": dict(rope_type="yarn", factor=4.0, mscale=1.0, mscale_all_dim=0.5, **LATER),
        "yarn, attention_factor": dict(rope_type="yarn", factor=4.0, attention_factor=1.0, **LATER),
        "yarn, truncate": dict(rope_type="yarn", factor=4.0, truncate=False, **LATER),
        "yarn, beta": dict(rope_type="yarn", factor=4.0, beta_fast=16.0, beta_slow=2.0, **LATER),
        "yarn, no original length": dict(rope_type="yarn", factor=4.0),
        "llama3": dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, **LATER),
        "longrope": dict(rope_type="longrope", short_factor=[1.0 + 0.1 * i for i in range(pairs)],
                         long_factor=[2.0 + 0.5 * i for i in range(pairs)], **LATER),
        "longrope, factor": dict(rope_type="longrope", factor=3.0, short_factor=[1.0] * pairs, long_factor=[2.0] * pairs, **LATER),
        "proportional": dict(rope_type="proportional", partial_rotary_factor=0.5),
        "partial": dict(rope_type="default", partial_rotary_factor=0.5),
        "unknown": dict(rope_type="spiral", factor=2.0),
    }


def changes(config):
    """Pairs of what differs and the fields that replace those of the configuration; null takes a field away."""
    for name, value in config.items():
        if name in SKIPPED or "drop" in name or isinstance(value, (dict, list)):
            continue
        if isinstance(value, bool):
            yield f"{name}={not value}", {name: not value}
        elif isinstance(value, int):
            yield f"{name}={2 * value}", {name: 2 * value}
        elif isinstance(value, float):
            yield f"{name}={1.5 * value}", {name: 1.5 * value}
        elif value is None and name in SET:
            yield f"{name}=6", {name: 6}
    block = config.get("rope_parameters")
    if isinstance(block, dict) and "rope_theta" in block:
        base = block["rope_theta"]
        for what, other in rope_blocks(8, config.get("max_position_embeddings", 64)).items():
            yield f"rope_parameters: {what}", {"rope_parameters": {"rope_theta": base, **other}}
            yield f"rope_scaling beside rope_parameters: {what}", {"rope_scaling": other}
            yield f"rope_scaling: {what}", {"rope_parameters": None, "rope_theta": base, "rope_scaling": other}
    if isinstance(block, dict):
        yield "rope_parameters by layer type", {"rope_parameters": {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in
                                                                     (("full_attention", 1e6), ("sliding_attention", 1e4))}}
    if "use_bidirectional_attention" in config:
        yield "use_bidirectional_attention, not causal", dict(use_bidirectional_attention=True, is_causal=False)
    for name, value in ADDED.items():
        if name not in config:
            yield f"{name}={value}", {name: value}


def changed_values(auto, folder, given, kind, config, plain, allowed_missing):
    """The list of changes, and what the library computes from those that change something: name → [K, …]."""
    listed, columns, stored = [], {name: [] for name in narrow(plain)}, 0
    for what, fields in changes(config):
        changed = {name: value for name, value in {**config, **fields}.items() if value is not None or name not in fields}
        with open(f"{folder}/config.json", "w", encoding="utf-8") as file:
            json.dump(changed, file)
        entry = dict(what=what, fields=fields)
        if (config["model_type"], what) in ERRS:
            entry["library"] = "errs: " + ERRS[config["model_type"], what]
            listed.append(entry)
            continue
        try:
            with limit():
                found, off, _ = both(auto, folder, given, kind, allowed_missing)
        except Exception as error:
            entry["library"] = f"refuses: {type(error).__name__}"
            listed.append(entry)
            continue
        if {name: value.shape for name, value in found.items()} != {name: value.shape for name, value in plain.items()}:
            entry["library"] = "refuses: gives values of other shapes"
        elif all(numpy.abs(found[name] - value).max() < 1e-6 * (1 + numpy.abs(value).max()) for name, value in plain.items()):
            entry["library"] = "runs, and gives the same"
        else:
            entry["library"] = "runs"
            kept = narrow(found)
            same = [n for n in range(stored) if all((columns[name][n] == value).all() for name, value in kept.items())]
            entry["place"] = same[0] if same else stored
            if not same:
                stored += 1
                for name, value in kept.items():
                    columns[name].append(value)
        listed.append(entry)
    return listed, {f"changed.{name}": numpy.stack(values) for name, values in columns.items() if values}


# ---- one type


def make(row, kind, auto, path=None):
    """Writes the configuration and the values of a line of the table to `path`; without one to values/."""
    import torch, transformers
    from safetensors.numpy import load_file, save_file
    from transformers import CONFIG_MAPPING
    name = row["type"]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = small(CONFIG_MAPPING[name], row["settings"])
    with limit():
        with torch.device("meta"):
            size = sum(p.numel() for p in auto.from_config(config, attn_implementation="eager").parameters())
        if size > LARGEST:
            raise ValueError(f"{size} parameters, at most {LARGEST}: settings of the table make it smaller")
        model = auto.from_config(small(CONFIG_MAPPING[name], row["settings"]), attn_implementation="eager").float()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        config = json.load(open(f"{folder}/config.json"))
        initial = load_file(f"{folder}/model.safetensors")
        whole = {n: v for n, v in initial.items() if not numpy.issubdtype(v.dtype, numpy.floating)}
        if whole:
            raise ValueError(f"{next(iter(whole))} is a tensor of whole numbers")
        tensors = {n: [list(v.shape), *rule(n, v)] for n, v in sorted(initial.items()) if not n.endswith(COMPUTED)}
        if kind == "pixels":
            side = config.get("image_size", 32)
            side = side if isinstance(side, int) else side[0]
            given = dict(pixels=[config.get("num_channels", 3), *EXTENTS.get(name, (side, side))])
        else:
            given = dict(ids=[3 + int(z) % 87 for z in bits("input_ids", 24)])
            if kind == "seq2seq":
                given["decoder_ids"] = [config.get("decoder_start_token_id") or 0] + given["ids"][1:7]
        assert dict(unfolded(folded(tensors))) == tensors
        tensors = folded(tensors)
        write_checkpoint(folder, config, tensors)
        with limit():
            plain, off, missing = both(auto, folder, given, kind)
        data = dict(type=name, by=f"transformers {transformers.__version__}", arithmetic="float64" if off is not None else "float32", kind=kind,
                    config=config, tensors=tensors, input=given)
        if off is not None:
            data["float32_is_off_by"] = float(f"{off:.1e}")
        values = probes(plain)
        if row["changes"]:
            data["changes"], more = changed_values(auto, folder, given, kind, config, plain, missing)
            values.update(more)
    path = path or f"{HERE}/values/{name}"
    save_file({n: numpy.ascontiguousarray(v) for n, v in sorted(values.items())}, f"{path}.safetensors")
    os.chmod(f"{path}.safetensors", 0o644)
    write_json(f"{path}.json", data)
    return data


def write_json(path, data):
    """One line for each field, and for each tensor and change."""
    lines = []
    for field, value in data.items():
        if field in ("tensors", "changes"):
            items = [f"{json.dumps(n)}:{json.dumps(v, separators=(',', ':'))}" for n, v in value.items()] if isinstance(value, dict) else [
                json.dumps(v, separators=(",", ":"), ensure_ascii=False) for v in value]
            ends = "{}" if isinstance(value, dict) else "[]"
            lines.append(f"{json.dumps(field)}:{ends[0]}\n" + ",\n".join(items) + ends[1])
        else:
            lines.append(f"{json.dumps(field)}:{json.dumps(value, separators=(',', ':'), ensure_ascii=False)}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("{" + ",\n".join(lines) + "}\n")


# ---- which types open


def opens(program, data):
    """Whether the program runs the stored checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(folder, data["config"], data["tensors"])
        done = subprocess.run([program, "info", folder], capture_output=True, text=True, timeout=SECONDS)
        return done.returncode == 0


def set_states(program):
    lines = []
    for line in open(f"{HERE}/types.txt", encoding="utf-8"):
        cells = line.split("|")
        data = stored(cells[0].strip()) if len(cells) > 2 and not line.startswith("#") else None
        if data:
            now = opens(program, data)
            if now != cells[2].strip().startswith("opens"):
                cells[2] = f" {'opens' if now else 'refused'}" + (" " if len(cells) > 3 else "\n")
                print(cells[0].strip(), cells[2].strip())
        lines.append("|".join(cells))
    with open(f"{HERE}/types.txt", "w", encoding="utf-8") as file:
        file.writelines(lines)


# ---- the page


def verified(row, data):
    """Cells of the page: the result with its reason, what was compared, the library."""
    state = row["state"] + (f": {row['note']}" if row["note"] else "")
    if not data or row["state"] != "opens":
        return state, "", ""
    what = ("maps" if data["kind"] != "seq2seq" else "encoder, decoder and cross maps") + (", states" if "hidden" in data["values"] else ", logits")
    if data.get("changes"):
        what += f"; {len(data['changes'])} changed configurations"
    return state, what, data["by"]


def page():
    from safetensors import safe_open
    text = open(PAGE, encoding="utf-8").read()
    begin, end = "<!-- conformance -->\n", "<!-- end -->"
    lines = ["| type | models | | compared | with |", "|---|---|---|---|---|"]
    for row in table():
        data = stored(row["type"])
        if data:
            with safe_open(f"{HERE}/values/{row['type']}.safetensors", "numpy") as file:
                data["values"] = set(file.keys())
        lines.append(f"| `{row['type']}` | {row['models']} | " + " | ".join(verified(row, data)) + " |")
    at, to = text.index(begin) + len(begin), text.index(end)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text[:at] + "\n".join(lines) + "\n" + text[to:])


def main():
    given = sys.argv[1:]
    if given[:1] == ["--opens"]:
        set_states(given[1])
        return page()
    if given == ["--page"]:
        return page()
    from transformers.utils import logging
    logging.disable_progress_bar()
    known = kinds()
    for row in table():
        if row["elsewhere"] or (given and row["type"] not in given):
            continue
        try:
            if row["type"] not in known:
                raise ValueError("no type of the library's text or image models")
            data = make(row, *known[row["type"]])
            print(row["type"], data["kind"], data["arithmetic"], data.get("float32_is_off_by", ""), len(data.get("changes", [])), flush=True)
        except Exception as error:
            print(row["type"], "not made:", type(error).__name__, str(error)[:150].replace("\n", " "), flush=True)
    page()


if __name__ == "__main__":
    main()
