"""Writes the logits of every config in tests/data/goldens/*.json, computed by Hugging Face transformers.

The reference model is filled with the weights of spec.py, runs in float32 with eager attention over all
tokens at once, and its logits at all positions go to <name>.f32: little-endian float32, [n_tokens][vocab].

    nice -n 15 /opt/ridge-venv/bin/python tools/golden/make_goldens.py [NAME...]

Needs PyPI torch and transformers: at development time only. Tests read the committed files.
"""

import sys

import numpy as np
import torch
from transformers import (
    Gemma2Config, Gemma2ForCausalLM, Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM, Phi3Config,
    Phi3ForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM,
)

from spec import GOLDENS, is_gemma, is_global_layer, load_configs, weights

LLAMA_NAMES = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
GEMMA_NAMES = LLAMA_NAMES | {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm", "post_ffw_norm": "post_feedforward_layernorm",
}
PHI_NAMES = LLAMA_NAMES | {"attn_qkv": "self_attn.qkv_proj", "ffn_up": "mlp.gate_up_proj"}


def rope_parameters(config):
    """The configuration's own description of what a file's keys and tensors of divisors say."""
    rope = {"rope_type": "default", "rope_theta": config["rope_freq_base"]}
    if "llama3" in config:
        return rope | {"rope_type": "llama3"} | config["llama3"]
    if "rope_factors_long" in config:
        return rope | {
            "rope_type": "longrope", "short_factor": config["rope_factors_short"],
            "long_factor": config["rope_factors_long"],
            "original_max_position_embeddings": config["rope_original_context"],
            "partial_rotary_factor": config.get("rope_dimension_count", config["key_length"]) / config["key_length"],
        }
    if config.get("rope_scaling") == "linear":
        return rope | {"rope_type": "linear", "factor": config["rope_scaling_factor"]}
    if config.get("rope_scaling") == "yarn":
        rope |= {"rope_type": "yarn", "factor": config["rope_scaling_factor"],
                 "original_max_position_embeddings": config["rope_original_context"]}
        for ours, theirs in (("yarn_attn_factor", "attention_factor"), ("yarn_beta_fast", "beta_fast"),
                             ("yarn_beta_slow", "beta_slow")):
            if ours in config:
                rope[theirs] = config[ours]
    return rope


def hf_model(config):
    shape = dict(
        vocab_size=config["vocab_size"], hidden_size=config["embedding_length"],
        intermediate_size=config["feed_forward_length"], num_hidden_layers=config["block_count"],
        num_attention_heads=config["head_count"], num_key_value_heads=config["head_count_kv"],
        head_dim=config["key_length"], max_position_embeddings=config["context_length"],
        rms_norm_eps=config["rms_epsilon"], tie_word_embeddings=config["tied"],
        attention_bias=config["attention_bias"], pad_token_id=None, bos_token_id=None, eos_token_id=None,
        attn_implementation="eager", dtype=torch.float32,
    )
    rope = rope_parameters(config)
    architecture = config["architecture"]
    if architecture == "llama":
        return LlamaForCausalLM(LlamaConfig(**shape, mlp_bias=False, rope_parameters=rope))
    if architecture == "qwen3":
        return Qwen3ForCausalLM(Qwen3Config(**shape, rope_parameters=rope))
    if architecture in ("qwen2", "phi3"):
        assert shape.pop("head_dim") * config["head_count"] == config["embedding_length"]
        del shape["attention_bias"]
    if architecture == "qwen2":
        return Qwen2ForCausalLM(Qwen2Config(**shape, rope_parameters=rope))
    if architecture == "phi3":
        return Phi3ForCausalLM(Phi3Config(
            **shape, rope_parameters=rope, sliding_window=config["sliding_window"] or None,
            original_max_position_embeddings=config.get("rope_original_context", config["context_length"])))
    kinds = ["full_attention" if is_global_layer(config, n) else "sliding_attention"
             for n in range(config["block_count"])]
    shape |= dict(layer_types=kinds, sliding_window=config["sliding_window"],
                  query_pre_attn_scalar=config["key_length"], hidden_activation="gelu_pytorch_tanh",
                  attn_logit_softcapping=config.get("attn_softcap"),
                  final_logit_softcapping=config.get("final_softcap"))
    if architecture == "gemma2":
        return Gemma2ForCausalLM(Gemma2Config(**shape, rope_parameters=rope))
    local = {"rope_type": "default", "rope_theta": 10000.0}
    return Gemma3ForCausalLM(Gemma3TextConfig(
        **shape, rope_parameters={"full_attention": rope, "sliding_attention": local}))


def hf_name(name, names):
    """GGUF tensor name -> name in the transformers model."""
    base, kind = name.rsplit(".", 1)
    if base.startswith("blk."):
        _, layer, part = base.split(".")
        return f"model.layers.{layer}.{names[part]}.{kind}"
    return {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}[base] + "." + kind


def half_split(rows, heads):
    """Rows of q or k from interleaved RoPE order (pairs 2j, 2j+1) to halves (pairs j, j + head/2)."""
    half = rows.shape[0] // heads // 2
    return rows.reshape(heads, half, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def hf_weights(config):
    architecture = config["architecture"]
    names = GEMMA_NAMES if is_gemma(config) else PHI_NAMES if architecture == "phi3" else LLAMA_NAMES
    out = {}
    for name, value in weights(config).items():
        if is_gemma(config) and name.endswith("norm.weight"):
            value = value - np.float32(1)  # files hold 1 + w; exact, the values are in [0.75, 1.25)
        if architecture == "llama" and (".attn_q." in name or ".attn_k." in name):
            value = half_split(value, config["head_count" if ".attn_q." in name else "head_count_kv"])
        out[hf_name(name, names)] = torch.from_numpy(np.ascontiguousarray(value))
    if config["tied"]:
        out["lm_head.weight"] = out["model.embed_tokens.weight"]
    return out


def logits(config):
    torch.manual_seed(0)
    model = hf_model(config).eval()
    values = hf_weights(config)
    assert set(values) == set(model.state_dict()), set(values) ^ set(model.state_dict())
    model.load_state_dict(values, strict=True)
    assert model.config._attn_implementation == "eager"
    with torch.no_grad():
        out = model(input_ids=torch.tensor([config["tokens"]]), use_cache=False).logits[0]
    assert out.dtype == torch.float32 and out.shape == (len(config["tokens"]), config["vocab_size"])
    return out.numpy()


def main():
    torch.set_num_threads(2)
    for config in load_configs(sys.argv[1:]):
        out = logits(config)
        assert np.isfinite(out).all()
        out.astype("<f4").tofile(GOLDENS / config["logits"])
        print(f"{config['name']}: {out.shape[0]} x {out.shape[1]}, max |logit| {np.abs(out).max():.4f}")


if __name__ == "__main__":
    main()
