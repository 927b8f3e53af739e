"""A small model with the modules, names and calls of Hugging Face's current ones: the attention interface, which hands q and
k to a function by name, for Qwen 3, SmolLM 3 and Gemma 2. Written for the tests; the weights of checkpoints load into it."""

from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

from older_models import Cache, LlamaMLP, LlamaRMSNorm, RotaryEmbedding, causal_mask, rotated


def _attend(query, key, value, attention_mask, scaling, softcap):
    groups = query.shape[1] // key.shape[1]
    key, value = (each.repeat_interleave(groups, 1) for each in (key, value))
    weights = torch.matmul(query, key.transpose(2, 3)) * scaling
    weights = torch.tanh(weights / softcap) * softcap if softcap else weights
    weights = F.softmax(weights + attention_mask[:, :, :, :key.shape[2]], dim=-1)
    return torch.matmul(weights, value).transpose(1, 2), weights


def eager_attention_forward(module, query, key, value, attention_mask, scaling, dropout=0.0, softcap=None, **kwargs):
    return _attend(query, key, value, attention_mask, scaling, softcap)


def sdpa_attention_forward(module, query, key, value, attention_mask, dropout=0.0, scaling=None, is_causal=None, **kwargs):
    return _attend(query, key, value, attention_mask, scaling, kwargs.get("softcap"))[0], None


class AttentionInterface:
    """Functions by name: those of all, and those that this object has in their place."""

    _global_mapping = {"sdpa": sdpa_attention_forward}

    def __init__(self):
        self._local_mapping = {}

    def __contains__(self, name):
        return name in self._local_mapping or name in self._global_mapping

    def __getitem__(self, name):
        return self._local_mapping.get(name, self._global_mapping.get(name))


ALL_ATTENTION_FUNCTIONS = AttentionInterface()


class Norm(LlamaRMSNorm):
    """Gemma's: the weight is what is added to 1."""

    def forward(self, x):
        return (1 + self.weight) * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class Attention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config, self.layer_idx, self.is_causal = config, layer_idx, True
        self.head_dim = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
        self.num_key_value_groups = config.num_attention_heads // config.num_key_value_heads
        self.scaling = getattr(config, "query_pre_attn_scalar", self.head_dim) ** -0.5
        self.sliding_window = config.sliding_window if config.model_type == "gemma2" and layer_idx % 2 == 0 else None
        self.use_rope = getattr(config, "no_rope_layers", [1] * config.num_hidden_layers)[layer_idx]
        width, keys = config.num_attention_heads * self.head_dim, config.num_key_value_heads * self.head_dim
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(config.hidden_size, n, bias=False) for n in (width, keys, keys))
        self.o_proj = nn.Linear(width, config.hidden_size, bias=False)
        if config.model_type == "qwen3":
            self.q_norm, self.k_norm = (LlamaRMSNorm(self.head_dim, config.rms_norm_eps) for _ in range(2))

    def forward(self, hidden_states, position_embeddings, attention_mask, past_key_values=None, **kwargs):
        shape = (*hidden_states.shape[:-1], -1, self.head_dim)
        query, key, value = (part(hidden_states).view(shape) for part in (self.q_proj, self.k_proj, self.v_proj))
        query, key = (self.q_norm(query), self.k_norm(key)) if self.config.model_type == "qwen3" else (query, key)
        query, key, value = (each.transpose(1, 2) for each in (query, key, value))
        if self.use_rope:
            query, key = (rotated(each, *position_embeddings) for each in (query, key))
        if past_key_values is not None:
            key, value = past_key_values.update(key, value, self.layer_idx, kwargs)
        interface = eager_attention_forward
        if self.config._attn_implementation != "eager":
            interface = ALL_ATTENTION_FUNCTIONS[self.config._attn_implementation]
        output, weights = interface(self, query, key, value, attention_mask[self.sliding_window or 0], dropout=0.0,
                                    scaling=self.scaling, sliding_window=self.sliding_window,
                                    softcap=getattr(self.config, "attn_logit_softcapping", None))
        return self.o_proj(output.reshape(*hidden_states.shape[:-1], -1)), weights


class GemmaMLP(LlamaMLP):
    def forward(self, x):
        gate = self.gate_proj(x)
        gate = 0.5 * gate * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (gate + 0.044715 * gate ** 3)))
        return self.down_proj(gate * self.up_proj(x))


class DecoderLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        gemma = config.model_type == "gemma2"
        names = ["input_layernorm", "post_attention_layernorm"]
        names += ["pre_feedforward_layernorm", "post_feedforward_layernorm"] if gemma else []
        self.self_attn, self.mlp = Attention(config, layer_idx), (GemmaMLP if gemma else LlamaMLP)(config)
        for name in names:
            setattr(self, name, (Norm if gemma else LlamaRMSNorm)(config.hidden_size, config.rms_norm_eps))

    def forward(self, x, **kwargs):
        if hasattr(self, "post_feedforward_layernorm"):
            x = x + self.post_attention_layernorm(self.self_attn(self.input_layernorm(x), **kwargs)[0])
            return x + self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x)))
        x = x + self.self_attn(hidden_states=self.input_layernorm(x), **kwargs)[0]
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        gemma = config.model_type == "gemma2"
        self.config, self.scale = config, config.hidden_size ** 0.5 if gemma else 1.0
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(DecoderLayer(config, n) for n in range(config.num_hidden_layers))
        self.norm = (Norm if gemma else LlamaRMSNorm)(config.hidden_size, config.rms_norm_eps)
        width = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
        self.rotary_emb = RotaryEmbedding(width, config.rope_theta)

    def forward(self, input_ids, past_key_values=None):
        hidden_states = self.embed_tokens(input_ids) * self.scale
        begin, rows = past_key_values.get_seq_length() if past_key_values is not None else 0, input_ids.shape[1]
        positions = torch.arange(begin, begin + rows)
        keys = past_key_values.room or begin + rows if past_key_values is not None else rows
        masks = {window: causal_mask(rows, keys, begin, hidden_states, window=window)
                 for window in (0, self.config.sliding_window or 0)}
        embeddings = tuple(each.unsqueeze(1) for each in self.rotary_emb(hidden_states, positions.unsqueeze(0)))
        for layer in self.layers:
            hidden_states = layer(hidden_states, position_embeddings=embeddings, attention_mask=masks,
                                  past_key_values=past_key_values, cache_position=positions)
        return self.norm(hidden_states)


class ForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.model = config, Model(config)
        if config.model_type == "qwen3":
            self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids=None, past_key_values=None, use_cache=False, **kwargs):
        past_key_values = Cache() if use_cache and past_key_values is None else past_key_values
        hidden_states = self.model(input_ids, past_key_values)
        logits = F.linear(hidden_states, getattr(self, "lm_head", self.model.embed_tokens).weight)
        cap = getattr(self.config, "final_logit_softcapping", None)
        logits = torch.tanh(logits / cap) * cap if cap else logits
        return SimpleNamespace(logits=logits, past_key_values=past_key_values)
