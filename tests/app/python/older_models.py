"""Small models with the modules, names and calls that Hugging Face's had before the attention interface: each computes
its scores with PyTorch's functions. Written for the tests; the weights of checkpoints load into them by name."""

import math
from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F


class Cache:
    """Keys and values of every layer, appended; `room`: a static one, with so many places from the beginning."""

    def __init__(self, room=0):
        self.layers, self.room, self.length = {}, room, 0

    def get_seq_length(self, layer_idx=0):
        return self.layers[layer_idx][0].shape[2] if not self.room and layer_idx in self.layers else self.length

    def update(self, key, value, layer_idx, cache_kwargs=None):
        if self.room:
            zeros = key.new_zeros(key.shape[0], key.shape[1], self.room, key.shape[3])
            kept = self.layers.setdefault(layer_idx, (zeros, zeros.clone()))
            begin = int(cache_kwargs["cache_position"][0])
            for mine, new in zip(kept, (key, value)):
                mine[:, :, begin:begin + new.shape[2]] = new
            self.length = begin + key.shape[2] if layer_idx == 0 else self.length
            return kept
        if layer_idx in self.layers:
            key, value = (torch.cat(pair, 2) for pair in zip(self.layers[layer_idx], (key, value)))
        self.layers[layer_idx] = key, value
        return key, value


def causal_mask(rows, keys, begin, like, window=0, padding=None):
    """[1, 1, rows, keys] to be added to scores: 0, or the least number where a query may not look."""
    i, j = torch.arange(begin, begin + rows).unsqueeze(1), torch.arange(keys)
    seen = (j <= i) & ((j > i - window) if window else True)
    seen = seen if padding is None else seen & padding[:, None, None, :keys].bool()
    return torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(like.dtype).min).view(-1, 1, rows, keys)


def rotate_half(x):
    return torch.cat((-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]), -1)


def rotated(x, cos, sin):
    return x * cos + rotate_half(x) * sin


class RotaryEmbedding(nn.Module):
    def __init__(self, width, base):
        super().__init__()
        self.register_buffer("inv_freq", base ** (-torch.arange(0, width, 2).float() / width), persistent=False)

    def forward(self, x, position_ids):
        angles = (self.inv_freq[None, :, None] @ position_ids[:, None, :].float()).transpose(1, 2)
        angles = torch.cat((angles, angles), -1)
        return angles.cos(), angles.sin()


# ---- Llama ----


class LlamaRMSNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class LlamaAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config, self.layer_idx = config, layer_idx
        self.num_heads, self.num_key_value_heads = config.num_attention_heads, config.num_key_value_heads
        self.num_key_value_groups = self.num_heads // self.num_key_value_heads
        self.head_dim = config.hidden_size // self.num_heads
        self.q_proj = nn.Linear(config.hidden_size, self.num_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, self.num_key_value_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, self.num_key_value_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(self.num_heads * self.head_dim, config.hidden_size, bias=False)
        self.rotary_emb = RotaryEmbedding(self.head_dim, config.rope_theta)

    def forward(self, hidden_states, attention_mask=None, position_ids=None, past_key_value=None, cache_position=None):
        batch, rows, _ = hidden_states.shape
        query, key, value = (
            projection(hidden_states).view(batch, rows, heads, self.head_dim).transpose(1, 2)
            for projection, heads in ((self.q_proj, self.num_heads), (self.k_proj, self.num_key_value_heads),
                                      (self.v_proj, self.num_key_value_heads)))
        cos, sin = (each.unsqueeze(1) for each in self.rotary_emb(value, position_ids))
        query, key = rotated(query, cos, sin), rotated(key, cos, sin)
        if past_key_value is not None:
            key, value = past_key_value.update(key, value, self.layer_idx, {"cache_position": cache_position})
        key, value = (each.repeat_interleave(self.num_key_value_groups, 1) for each in (key, value))
        weights = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(self.head_dim)
        weights = weights + attention_mask[:, :, :, :key.shape[2]]
        weights = F.softmax(weights, dim=-1, dtype=torch.float32).to(query.dtype)
        output = torch.matmul(weights, value).transpose(1, 2).reshape(batch, rows, -1)
        return self.o_proj(output), None, past_key_value


class LlamaMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaDecoderLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.self_attn, self.mlp = LlamaAttention(config, layer_idx), LlamaMLP(config)
        self.input_layernorm = LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, hidden_states, **kwargs):
        hidden_states = hidden_states + self.self_attn(hidden_states=self.input_layernorm(hidden_states), **kwargs)[0]
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))


class LlamaModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(LlamaDecoderLayer(config, n) for n in range(config.num_hidden_layers))
        self.norm = LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, input_ids, attention_mask=None, position_ids=None, past_key_values=None):
        hidden_states = self.embed_tokens(input_ids)
        begin, rows = past_key_values.get_seq_length() if past_key_values is not None else 0, input_ids.shape[1]
        cache_position = torch.arange(begin, begin + rows)
        position_ids = cache_position.unsqueeze(0) if position_ids is None else position_ids
        keys = past_key_values.room or begin + rows if past_key_values is not None else rows
        mask = causal_mask(rows, keys, begin, hidden_states, padding=attention_mask)
        for layer in self.layers:
            hidden_states = layer(hidden_states, attention_mask=mask, position_ids=position_ids,
                                  past_key_value=past_key_values, cache_position=cache_position)
        return self.norm(hidden_states)


class LlamaForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.model = config, LlamaModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, use_cache=False):
        past_key_values = Cache() if use_cache and past_key_values is None else past_key_values
        hidden_states = self.model(input_ids, attention_mask, position_ids, past_key_values)
        return SimpleNamespace(logits=self.lm_head(hidden_states), past_key_values=past_key_values)


# ---- GPT-2 ----


class Conv1D(nn.Module):
    def __init__(self, outputs, inputs):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(inputs, outputs)), nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


class GPT2Attention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.layer_idx, self.num_heads, self.head_dim = layer_idx, config.n_head, config.n_embd // config.n_head
        ones = torch.ones(config.n_positions, config.n_positions, dtype=torch.bool)
        self.register_buffer("bias", ones.tril().view(1, 1, *ones.shape), persistent=False)
        self.c_attn, self.c_proj = Conv1D(3 * config.n_embd, config.n_embd), Conv1D(config.n_embd, config.n_embd)

    def forward(self, hidden_states, layer_past=None, attention_mask=None):
        query, key, value = (each.view(*each.shape[:2], self.num_heads, self.head_dim).permute(0, 2, 1, 3)
                             for each in self.c_attn(hidden_states).split(hidden_states.shape[-1], 2))
        if layer_past is not None:
            key, value = (torch.cat(pair, -2) for pair in zip(layer_past, (key, value)))
        weights = torch.matmul(query, key.transpose(-1, -2))
        weights = weights / torch.full([], self.head_dim ** 0.5, dtype=weights.dtype)
        rows, keys = query.shape[-2], key.shape[-2]
        least = torch.full([], torch.finfo(weights.dtype).min, dtype=weights.dtype)
        weights = torch.where(self.bias[:, :, keys - rows:keys, :keys], weights, least)
        weights = weights + attention_mask if attention_mask is not None else weights
        output = torch.matmul(nn.functional.softmax(weights, dim=-1), value).permute(0, 2, 1, 3)
        return self.c_proj(output.reshape(hidden_states.shape)), (key, value)


class GPT2MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_fc, self.c_proj = Conv1D(4 * config.n_embd, config.n_embd), Conv1D(config.n_embd, 4 * config.n_embd)

    def forward(self, x):
        x = self.c_fc(x)
        return self.c_proj(0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))))


class GPT2Block(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(config.n_embd), nn.LayerNorm(config.n_embd)
        self.attn, self.mlp = GPT2Attention(config, layer_idx), GPT2MLP(config)

    def forward(self, hidden_states, layer_past, attention_mask):
        output, present = self.attn(self.ln_1(hidden_states), layer_past=layer_past, attention_mask=attention_mask)
        hidden_states = hidden_states + output
        return hidden_states + self.mlp(self.ln_2(hidden_states)), present


class GPT2Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(config.vocab_size, config.n_embd), nn.Embedding(config.n_positions, config.n_embd)
        self.h = nn.ModuleList(GPT2Block(config, n) for n in range(config.n_layer))
        self.ln_f = nn.LayerNorm(config.n_embd)

    def forward(self, input_ids, past_key_values=None, attention_mask=None):
        past = past_key_values or [None] * len(self.h)
        begin = past[0][0].shape[-2] if past[0] is not None else 0
        hidden_states = self.wte(input_ids) + self.wpe(torch.arange(begin, begin + input_ids.shape[1]))
        if attention_mask is not None:
            attention_mask = (1.0 - attention_mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
        presents = []
        for block, layer_past in zip(self.h, past):
            hidden_states, present = block(hidden_states, layer_past, attention_mask)
            presents.append(present)
        return self.ln_f(hidden_states), tuple(presents)


class GPT2LMHeadModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.transformer = config, GPT2Model(config)

    def forward(self, input_ids=None, past_key_values=None, attention_mask=None):
        hidden_states, presents = self.transformer(input_ids, past_key_values, attention_mask)
        return SimpleNamespace(logits=F.linear(hidden_states, self.transformer.wte.weight), past_key_values=presents)


# ---- GPT-NeoX ----


class GPTNeoXAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.head_size = config.hidden_size // config.num_attention_heads
        self.rotary_ndims, self.norm_factor = int(self.head_size * config.rotary_pct), self.head_size ** -0.5
        self.rotary_emb = RotaryEmbedding(self.rotary_ndims, config.rotary_emb_base)
        self.query_key_value = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, attention_mask, position_ids, layer_past=None):
        batch, rows, _ = hidden_states.shape
        heads, width, turned = self.num_attention_heads, self.head_size, self.rotary_ndims
        qkv = self.query_key_value(hidden_states).view(batch, rows, heads, 3 * width)
        query, key, value = (each.permute(0, 2, 1, 3) for each in qkv.split(width, -1))
        cos, sin = (each.unsqueeze(1) for each in self.rotary_emb(value, position_ids))
        query, key = (torch.cat((rotated(each[..., :turned], cos, sin), each[..., turned:]), -1) for each in (query, key))
        if layer_past is not None:
            key, value = (torch.cat(pair, -2) for pair in zip(layer_past, (key, value)))
        keys = key.shape[-2]
        scores = torch.baddbmm(torch.zeros(batch * heads, rows, keys), query.reshape(batch * heads, rows, width),
                               key.reshape(batch * heads, keys, width).transpose(1, 2), beta=1.0, alpha=self.norm_factor)
        scores = scores.view(batch, heads, rows, keys) + attention_mask
        output = torch.matmul(F.softmax(scores, dim=-1), value).permute(0, 2, 1, 3)
        return self.dense(output.reshape(hidden_states.shape)), (key, value)


class GPTNeoXMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense_h_to_4h = nn.Linear(config.hidden_size, config.intermediate_size)
        self.dense_4h_to_h = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, x):
        return self.dense_4h_to_h(F.gelu(self.dense_h_to_4h(x)))


class GPTNeoXLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.post_attention_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.attention, self.mlp = GPTNeoXAttention(config), GPTNeoXMLP(config)

    def forward(self, hidden_states, attention_mask, position_ids, layer_past):
        output, present = self.attention(self.input_layernorm(hidden_states), attention_mask, position_ids, layer_past)
        return hidden_states + output + self.mlp(self.post_attention_layernorm(hidden_states)), present


class GPTNeoXModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed_in = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(GPTNeoXLayer(config) for _ in range(config.num_hidden_layers))
        self.final_layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, input_ids, past_key_values=None):
        hidden_states, rows = self.embed_in(input_ids), input_ids.shape[1]
        past = past_key_values or [None] * len(self.layers)
        begin = past[0][0].shape[-2] if past[0] is not None else 0
        mask, presents = causal_mask(rows, begin + rows, begin, hidden_states), []
        for layer, layer_past in zip(self.layers, past):
            hidden_states, present = layer(hidden_states, mask, torch.arange(begin, begin + rows).unsqueeze(0), layer_past)
            presents.append(present)
        return self.final_layer_norm(hidden_states), tuple(presents)


class GPTNeoXForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.gpt_neox = config, GPTNeoXModel(config)
        self.embed_out = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids, past_key_values=None):
        hidden_states, presents = self.gpt_neox(input_ids, past_key_values)
        return SimpleNamespace(logits=self.embed_out(hidden_states), past_key_values=presents)


# ---- BLOOM ----


class BloomAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_heads, self.head_dim = config.n_head, config.hidden_size // config.n_head
        self.inv_norm_factor = 1.0 / math.sqrt(self.head_dim)
        self.query_key_value = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, alibi, attention_mask):
        batch, rows, _ = hidden_states.shape
        qkv = self.query_key_value(hidden_states).view(batch, rows, self.num_heads, 3, self.head_dim)
        query, key, value = (each.transpose(1, 2).reshape(batch * self.num_heads, rows, -1) for each in qkv.unbind(3))
        scores = alibi.baddbmm(batch1=query, batch2=key.transpose(1, 2), beta=1.0, alpha=self.inv_norm_factor)
        scores = scores.view(batch, self.num_heads, rows, rows) + attention_mask
        output = torch.bmm(F.softmax(scores, dim=-1).view(-1, rows, rows), value)
        return self.dense(output.view(batch, self.num_heads, rows, -1).transpose(1, 2).reshape(hidden_states.shape))


class BloomBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = nn.LayerNorm(config.hidden_size), nn.LayerNorm(config.hidden_size)
        self.self_attention, self.mlp = BloomAttention(config), nn.Module()
        self.mlp.dense_h_to_4h = nn.Linear(config.hidden_size, 4 * config.hidden_size)
        self.mlp.dense_4h_to_h = nn.Linear(4 * config.hidden_size, config.hidden_size)

    def forward(self, x, alibi, attention_mask):
        x = x + self.self_attention(self.input_layernorm(x), alibi, attention_mask)
        inner = self.mlp.dense_h_to_4h(self.post_attention_layernorm(x))
        inner = 0.5 * inner * (1 + torch.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner ** 3)))
        return x + self.mlp.dense_4h_to_h(inner)


class BloomForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.transformer = config, nn.Module()
        self.transformer.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.transformer.word_embeddings_layernorm = nn.LayerNorm(config.hidden_size)
        self.transformer.h = nn.ModuleList(BloomBlock(config) for _ in range(config.n_layer))
        self.transformer.ln_f = nn.LayerNorm(config.hidden_size)

    def forward(self, input_ids):
        parts, rows, heads = self.transformer, input_ids.shape[1], self.config.n_head
        x = parts.word_embeddings_layernorm(parts.word_embeddings(input_ids))
        slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)
        alibi = (slopes.view(1, heads, 1, 1) * torch.arange(rows)).expand(len(x), heads, 1, rows).reshape(-1, 1, rows)
        for block in parts.h:
            x = block(x, alibi, causal_mask(rows, rows, 0, x))
        return SimpleNamespace(logits=F.linear(parts.ln_f(x), parts.word_embeddings.weight))


# ---- ViT ----


class ViTSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.attention_head_size = config.hidden_size // config.num_attention_heads
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3))

    def forward(self, hidden_states):
        query, key, value = (part(hidden_states).view(*hidden_states.shape[:2], self.num_attention_heads, -1).permute(0, 2, 1, 3)
                             for part in (self.query, self.key, self.value))
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(self.attention_head_size)
        return torch.matmul(nn.Softmax(dim=-1)(scores), value).permute(0, 2, 1, 3).reshape(hidden_states.shape)


class Dense(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.dense = nn.Linear(inputs, outputs)


class ViTAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention, self.output = ViTSelfAttention(config), Dense(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states):
        return self.output.dense(self.attention(hidden_states))


class ViTLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = ViTAttention(config)
        self.intermediate = Dense(config.hidden_size, config.intermediate_size)
        self.output = Dense(config.intermediate_size, config.hidden_size)
        self.layernorm_before = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.layernorm_after = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, x):
        x = x + self.attention(self.layernorm_before(x))
        return x + self.output.dense(F.gelu(self.intermediate.dense(self.layernorm_after(x))))


class ViTEmbeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        side = config.image_size // config.patch_size
        self.cls_token = nn.Parameter(torch.randn(1, 1, config.hidden_size))
        self.position_embeddings = nn.Parameter(torch.randn(1, side * side + 1, config.hidden_size))
        self.patch_embeddings = nn.Module()
        self.patch_embeddings.projection = nn.Conv2d(3, config.hidden_size, config.patch_size, config.patch_size)

    def forward(self, pixel_values):
        patches = self.patch_embeddings.projection(pixel_values).flatten(2).transpose(1, 2)
        return torch.cat((self.cls_token.expand(patches.shape[0], -1, -1), patches), 1) + self.position_embeddings


class ViTModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embeddings, self.encoder = ViTEmbeddings(config), nn.Module()
        self.encoder.layer = nn.ModuleList(ViTLayer(config) for _ in range(config.num_hidden_layers))
        self.layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, pixel_values):
        hidden_states = self.embeddings(pixel_values)
        for layer in self.encoder.layer:
            hidden_states = layer(hidden_states)
        return self.layernorm(hidden_states)


class ViTForImageClassification(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.vit = config, ViTModel(config)
        self.classifier = nn.Linear(config.hidden_size, len(config.id2label))

    def forward(self, pixel_values):
        return SimpleNamespace(logits=self.classifier(self.vit(pixel_values)[:, 0]))
