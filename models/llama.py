"""The Llama block in plain PyTorch, in the tensor layout that GGUF files hold.

RoPE turns neighbouring pairs (2i, 2i+1) of a head by position * base^(-2i/d),
which is the order engines expect of architecture `llama`: no row of the query
or key matrix has to be permuted on export. The embedding is also the head.
"""

import dataclasses
import math

import torch


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes of a model. KV width is kv_heads * head_dim values a layer."""

    vocab: int
    dim: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    context: int
    rope_base: float = 10000.0
    eps: float = 1e-5

    @property
    def head_dim(self):
        return self.dim // self.heads


class Norm(torch.nn.Module):
    """RMS norm with a gain."""

    def __init__(self, dim, eps):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def linear(inputs, outputs, std):
    layer = torch.nn.Linear(inputs, outputs, bias=False)
    torch.nn.init.normal_(layer.weight, std=std)
    return layer


def causal(q, k, v, mask, queries=128):
    """Attention over the past; q, k, v [batch, heads, length, head_dim].

    Debian 12's PyTorch 1.13 has no fused form: there, queries are handled so
    many at a time and keys after them are never touched.
    """
    if hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    q, k = q / math.sqrt(q.shape[-1]), k.transpose(2, 3)
    rows = []
    for i in range(0, q.shape[2], queries):
        j = min(i + queries, q.shape[2])
        scores = q[:, :, i:j] @ k[..., :j] + mask[i:j, :j]
        rows.append(torch.softmax(scores, -1) @ v[:, :, :j])
    return torch.cat(rows, 2)


class Block(torch.nn.Module):
    """Attention and feed-forward, each added to the residual stream."""

    def __init__(self, s):
        super().__init__()
        self.s = s
        kv = s.kv_heads * s.head_dim
        std = 1 / math.sqrt(s.dim)
        out = std / math.sqrt(2 * s.layers)
        self.attn_norm = Norm(s.dim, s.eps)
        self.attn_q = linear(s.dim, s.dim, std)
        self.attn_k = linear(s.dim, kv, std)
        self.attn_v = linear(s.dim, kv, std)
        self.attn_output = linear(s.dim, s.dim, out)
        self.ffn_norm = Norm(s.dim, s.eps)
        self.ffn_gate = linear(s.dim, s.ffn, std)
        self.ffn_up = linear(s.dim, s.ffn, std)
        self.ffn_down = linear(s.ffn, s.dim, out)

    def rotate(self, x, cos, sin):
        """x [batch, length, heads, head_dim]; cos, sin [length, 1, head_dim / 2]."""
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)

    def attend(self, x, cos, sin, mask):
        s = self.s
        b, t, _ = x.shape
        q = self.rotate(self.attn_q(x).view(b, t, s.heads, s.head_dim), cos, sin)
        k = self.rotate(self.attn_k(x).view(b, t, s.kv_heads, s.head_dim), cos, sin)
        v = self.attn_v(x).view(b, t, s.kv_heads, s.head_dim)
        group = s.heads // s.kv_heads
        q = q.transpose(1, 2)
        k = k.repeat_interleave(group, 2).transpose(1, 2)
        v = v.repeat_interleave(group, 2).transpose(1, 2)
        return self.attn_output(causal(q, k, v, mask).transpose(1, 2).reshape(b, t, s.dim))

    def forward(self, x, cos, sin, mask):
        x = x + self.attend(self.attn_norm(x), cos, sin, mask)
        h = self.ffn_norm(x)
        return x + self.ffn_down(torch.nn.functional.silu(self.ffn_gate(h)) * self.ffn_up(h))


class Llama(torch.nn.Module):
    """Token ids [batch, length] to logits [batch, length, vocab]."""

    def __init__(self, s):
        super().__init__()
        self.s = s
        self.token_embd = torch.nn.Embedding(s.vocab, s.dim)
        torch.nn.init.normal_(self.token_embd.weight, std=0.05)
        self.blk = torch.nn.ModuleList(Block(s) for _ in range(s.layers))
        self.output_norm = Norm(s.dim, s.eps)
        half = torch.arange(0, s.head_dim, 2, dtype=torch.float64) / s.head_dim
        angle = torch.arange(s.context, dtype=torch.float64)[:, None] * s.rope_base ** -half
        self.register_buffer("cos", torch.cos(angle).float()[:, None], persistent=False)
        self.register_buffer("sin", torch.sin(angle).float()[:, None], persistent=False)
        mask = torch.full((s.context, s.context), -math.inf).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, ids):
        t = ids.shape[1]
        x = self.token_embd(ids)
        for block in self.blk:
            x = block(x, self.cos[:t], self.sin[:t], self.mask)
        return self.output_norm(x) @ self.token_embd.weight.T

    def parameters_count(self):
        return sum(p.numel() for p in self.parameters())

    def tensors(self):
        """GGUF names and f32 arrays, in the order of the file."""
        return {name: p.detach().float().numpy() for name, p in self.named_parameters()}


@torch.no_grad()
def generate(model, ids, count, temperature=0.0, top_p=0.95, seed=0, stop=None):
    """Appends up to `count` tokens; temperature 0 is greedy. Returns the new ids.

    Every step runs the whole sequence again: slow, and nothing to get wrong.
    """
    random = torch.Generator().manual_seed(seed)
    ids, new = list(ids), []
    for _ in range(count):
        logits = model(torch.tensor([ids[-model.s.context:]]))[0, -1]
        if temperature == 0.0:
            token = int(logits.argmax())
        else:
            p, order = torch.softmax(logits / temperature, -1).sort(descending=True)
            p[p.cumsum(-1) - p > top_p] = 0.0
            token = int(order[torch.multinomial(p, 1, generator=random)])
        ids.append(token)
        new.append(token)
        if token == stop:
            break
    return new
