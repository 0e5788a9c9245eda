"""Maps of names against Megatron-core: tiny models of transformers, through layouts/names, become its own modules' weights, which then give the
same logits; and the tensors that its checkpoint would have become the files of transformers again.

No map is compared with itself: whether an element is in its place is decided by both systems' forward passes.
"""
import sys
import warnings

warnings.filterwarnings("ignore")  # of packages that Megatron does without

import jobs  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch._dynamo  # noqa: F401, E402
import transformers  # noqa: E402
from megatron.core import dist_checkpointing, parallel_state  # noqa: E402
from megatron.core.dist_checkpointing.mapping import ShardedTensor, ShardedTensorFactory  # noqa: E402
from megatron.core.fusions.fused_bias_geglu import quick_gelu  # noqa: E402
from megatron.core.fusions.fused_bias_dropout import get_bias_dropout_add  # noqa: E402
from megatron.core.models import backends  # noqa: E402
from megatron.core.models.gpt import GPTModel  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_block_spec, get_gpt_layer_local_spec  # noqa: E402
from megatron.core.models.gpt.moe_module_specs import get_moe_module_spec_for_backend  # noqa: E402
from megatron.core.ssm import gated_delta_net  # noqa: E402
from megatron.core.transformer import attention, multi_latent_attention  # noqa: E402
from megatron.core.transformer.moe import moe_utils  # noqa: E402
from megatron.core.transformer.attention import SelfAttention, SelfAttentionSubmodules  # noqa: E402
from megatron.core.transformer.enums import AttnMaskType  # noqa: E402
from megatron.core.transformer.module import MegatronModule  # noqa: E402
from megatron.core.transformer.spec_utils import ModuleSpec  # noqa: E402
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules  # noqa: E402
from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig  # noqa: E402
from megatron.core.transformer.transformer_layer import TransformerLayer, TransformerLayerSubmodules  # noqa: E402
from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint  # noqa: E402

from megatron_dist_test import ITERATION  # noqa: E402, F401  (it lets dist_checkpointing write without other processes)
from megatron_test import prepare  # noqa: E402  (it also keeps Megatron's buffers on the CPU)

sys.path.insert(0, str(jobs.ROOT / "tests" / "names"))
import model as naive  # noqa: E402

moe_utils.te_general_gemm = None  # a name that Megatron asks for, and does not have without Transformer Engine
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
LAYERS, HIDDEN, VOCABULARY, PADDED, LENGTH = 3, 24, 17, 20, 16
DENSE = {"num_hidden_layers": LAYERS, "hidden_size": HIDDEN, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 4,
         "intermediate_size": 20, "vocab_size": VOCABULARY, "max_position_embeddings": LENGTH, "tie_word_embeddings": False}
MEGATRON = {"num_layers": LAYERS, "hidden_size": HIDDEN, "num_attention_heads": 6, "hidden_dropout": 0.0, "attention_dropout": 0.0,
            "use_cpu_initialization": True, "masked_softmax_fusion": False, "bias_dropout_fusion": False, "gradient_accumulation_fusion": False,
            "pipeline_dtype": torch.float32}
SWIGLU = {"gated_linear_unit": True, "activation_func": torch.nn.functional.silu, "add_bias_linear": False, "normalization": "RMSNorm",
          "layernorm_epsilon": 1e-6}
GROUPED = {**MEGATRON, **SWIGLU, "num_query_groups": 2, "kv_channels": 4, "ffn_hidden_size": 20}
MOE = {"moe_router_topk": 2, "moe_token_dispatcher_type": "allgather", "moe_router_load_balancing_type": "none"}


class PlainAttention(MegatronModule):
    """Causal attention for values of another width than keys, which Megatron leaves to Transformer Engine."""

    def __init__(self, config, *_, softmax_scale=None, **__):
        super().__init__(config)
        self.scale = softmax_scale

    def forward(self, query, key, value, *_, **__):
        query, key, value = (x.permute(1, 2, 0, 3) for x in (query, key, value))
        found = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True, scale=self.scale)
        return found.permute(2, 0, 1, 3).flatten(2)


class ZeroCentred(torch.nn.Module):
    """Megatron's layernorm_zero_centered_gamma, which it leaves to Transformer Engine: 1 + weight."""

    def __init__(self, config, hidden_size, eps=1e-6, **_):
        super().__init__()
        self.weight, self.eps = torch.nn.Parameter(torch.zeros(hidden_size)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * (1 + self.weight)

    def sharded_state_dict(self, prefix="", sharded_offsets=(), metadata=None, **_):
        return make_sharded_tensors_for_checkpoint(self.state_dict(prefix="", keep_vars=True), prefix, None, sharded_offsets)


class NoSuchLayer:
    """Where Megatron asks whether a layer is Transformer Engine's."""


def save_small(name, place, **more):
    """A tiny model of transformers with random weights and norms, saved; with its configuration."""
    torch.manual_seed(len(name))
    config = transformers.AutoConfig.for_model(name, **more)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.state_dict().values():
            parameter.normal_(0.0, 0.3).add_(1.0 if parameter.ndim == 1 else 0.0)
    model.save_pretrained(place)
    return config, model


def sharded(model, metadata=None):
    """Name and whole shape of each tensor in its torch_dist checkpoint -> where this module's elements of it are."""
    found = {}
    for value in model.sharded_state_dict(metadata=metadata).values():
        built = value.build() if isinstance(value, ShardedTensorFactory) else value
        for shard in built if isinstance(built, list) else [built]:
            if isinstance(shard, ShardedTensor):
                found.setdefault((shard.key, tuple(shard.global_shape)), []).append(shard)
    return found


def place_of(shard):
    ahead = shard.prepend_axis_num
    return (*shard.global_offset[:ahead], *(slice(at, at + n) for at, n in zip(shard.global_offset[ahead:], shard.local_shape)))


def fill(model, tensors):
    for (name, _), shards in sharded(model).items():
        for shard in shards:
            shard.data.detach().copy_(torch.from_numpy(tensors[name][place_of(shard)].copy()).reshape(shard.data.shape))


def whole(model, metadata=None):
    found = {}
    for (name, shape), shards in sharded(model, metadata).items():
        found[name] = np.zeros(shape, np.float32)
        for shard in shards:
            found[name][place_of(shard)] = shard.data.detach().float().numpy().reshape(shard.local_shape)
    return found


def same_logits(map_name, hf, place, megatron, arithmetic=False):
    """Both models' logits, after the weights went through the map; and back."""
    config, model = hf
    files = naive.read_safetensors(place / "model.safetensors")
    described, ready = naive.read_json(place / "config.json"), naive.ready_map(map_name)
    wanted = {name: shape for name, shape in sharded(megatron)}
    fill(megatron, naive.convert(ready, described, "hf", files, wanted, arithmetic=arithmetic))
    tokens = torch.randint(0, VOCABULARY, (2, LENGTH))
    mask = torch.triu(torch.ones(1, 1, LENGTH, LENGTH), 1).bool()
    with torch.no_grad():
        expected = model(tokens).logits
        found = megatron.eval()(tokens, torch.arange(LENGTH).expand(2, -1), mask)[..., :VOCABULARY]
    apart = (found - expected).abs().max().item()
    assert apart < 2e-4 * max(1.0, expected.abs().max().item()), f"{map_name}: logits differ by {apart} of {expected.abs().max().item()}"
    assert expected.std() > 0.05, "logits that say nothing"
    print(f"  {map_name}: logits apart by {apart:.1e} of {expected.abs().max().item():.1f}")
    modules = {name: value.numpy() for name, value in megatron.state_dict().items() if "_extra_state" not in name}
    for form, tensors in {"torch_dist": whole(megatron), "its singletons": whole(megatron, {"singleton_local_shards": True}), "modules": modules}.items():
        back = naive.convert(ready, described, "megatron", tensors, naive.shapes_of(files), arithmetic=arithmetic)
        jobs.same_bytes(back, files, f"{form}, {len(tensors)} tensors, to files")
        again = naive.convert(ready, described, "hf", files, naive.shapes_of(tensors), arithmetic=arithmetic)
        jobs.same_bytes(again, tensors, f"files to {form}")
    by_programs(map_name, place, megatron, tokens, expected, ["--allow-arithmetic"] if arithmetic else [])


def by_programs(map_name, place, megatron, tokens, expected, allowed):
    """Megatron's own torch_dist checkpoint becomes a directory that transformers load, with the same logits, and comes back."""
    run, like, back = (jobs.scratch() / name for name in ("run", "like", "back"))
    run.mkdir()
    dist_checkpointing.save(megatron.sharded_state_dict(), str(run))
    jobs.program("merge", *allowed, "--like", place, run, "-o", like)
    jobs.same_bytes(naive.read_safetensors(like / "model.safetensors"), naive.read_safetensors(place / "model.safetensors"), "ckpt-merge --like")
    with torch.no_grad():
        found = transformers.AutoModelForCausalLM.from_pretrained(like, dtype=torch.float32).eval()(tokens).logits
    assert torch.equal(found, expected), "other logits than the model's that was saved"
    jobs.program("merge", *allowed, "--names", f"{map_name}#hf", "--expect", run, "--format", "dcp", place, "-o", back)
    jobs.program("verify", run, back)


def gpt(config, spec, position="rope", tied=False, base=10000, **more):
    return GPTModel(config, spec, PADDED, LENGTH, position_embedding_type=position, share_embeddings_and_output_weights=tied, rotary_base=base, **more)


def dense_case(name, map_name, hf_more=(), megatron_more=(), qk_layernorm=False):
    place = jobs.scratch()
    hf = save_small(name, place, **{**DENSE, **dict(hf_more)})
    config = TransformerConfig(**{**GROUPED, **dict(megatron_more)})
    base = hf[0].rope_parameters["rope_theta"]
    same_logits(map_name, hf, place, gpt(config, get_gpt_layer_local_spec(normalization="RMSNorm", qk_layernorm=qk_layernorm), base=base))


def block_case(name, map_name, hf_more, megatron_config, **more):
    place = jobs.scratch()
    hf = save_small(name, place, **hf_more)
    spec = get_gpt_decoder_block_spec(megatron_config, use_transformer_engine=False, normalization="RMSNorm")
    same_logits(map_name, hf, place, gpt(megatron_config, spec, base=hf[0].rope_parameters["rope_theta"], **more))


def dense():
    dense_case("llama", "llama")
    dense_case("llama", "llama", {"attention_bias": True, "mlp_bias": True}, {"add_bias_linear": True})
    dense_case("qwen2", "qwen2", {}, {"add_qkv_bias": True})
    dense_case("qwen3", "qwen3", {}, {"qk_layernorm": True}, qk_layernorm=True)


def gpt2():
    place = jobs.scratch()
    hf = save_small("gpt2", place, n_layer=LAYERS, n_embd=HIDDEN, n_head=6, n_positions=LENGTH, vocab_size=VOCABULARY, resid_pdrop=0.0)
    config = TransformerConfig(**MEGATRON, ffn_hidden_size=4 * HIDDEN, add_bias_linear=True, normalization="LayerNorm",
                               activation_func=lambda x: torch.nn.functional.gelu(x, approximate="tanh"))
    same_logits("gpt2", hf, place, gpt(config, get_gpt_layer_local_spec(), "learned_absolute", tied=True))


def qwen3_moe():
    more = {**DENSE, "num_experts": 4, "moe_intermediate_size": 8, "num_experts_per_tok": 2, "mlp_only_layers": [1], "norm_topk_prob": True}
    config = TransformerConfig(**GROUPED, **MOE, num_moe_experts=4, moe_ffn_hidden_size=8, moe_layer_freq=[1, 0, 1], qk_layernorm=True)
    block_case("qwen3_moe", "qwen3_moe", more, config)


def mixtral():
    config = TransformerConfig(**{**GROUPED, "layernorm_epsilon": 1e-5}, **MOE, num_moe_experts=4, moe_ffn_hidden_size=20)
    block_case("mixtral", "mixtral", {**DENSE, "num_local_experts": 4}, config)


def deepseek_v3():
    backends.LocalSpecProvider.core_attention = lambda _: PlainAttention
    for module in (attention, multi_latent_attention):
        module.TELinear = module.TEColumnParallelLinear = module.Linear = NoSuchLayer
    heads = {key: value for key, value in DENSE.items() if key not in ("head_dim", "num_key_value_heads")}
    shared = {"q_lora_rank": 5, "kv_lora_rank": 7, "v_head_dim": 3}
    for lora in (5, None):
        shared["q_lora_rank"] = lora
        more = {**heads, **shared, "num_key_value_heads": 6, "n_routed_experts": 4, "moe_intermediate_size": 8, "n_shared_experts": 2,
                "first_k_dense_replace": 1, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
                "routed_scaling_factor": 2.5, "norm_topk_prob": True}
        config = MLATransformerConfig(
            **MEGATRON, **SWIGLU, **MOE, **shared, ffn_hidden_size=20, num_moe_experts=4, moe_ffn_hidden_size=8, moe_layer_freq=[0, 1, 1],
            moe_shared_expert_intermediate_size=16, moe_router_enable_expert_bias=True, moe_router_score_function="sigmoid", qk_head_dim=4,
            qk_pos_emb_head_dim=2, rope_type="rope", qk_layernorm=True, apply_rope_fusion=False, multi_latent_attention=True,
            moe_router_topk_scaling_factor=2.5)
        block_case("deepseek_v3", "deepseek_v3", more, config)


def gpt_oss():
    more = {**DENSE, "num_local_experts": 4, "num_experts_per_tok": 2, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
    config = TransformerConfig(
        **{**GROUPED, "activation_func": quick_gelu, "add_bias_linear": True, "layernorm_epsilon": 1e-5}, **MOE, num_moe_experts=4, moe_ffn_hidden_size=20,
        softmax_type="learnable", glu_linear_offset=1.0, activation_func_clamp_value=7.0)
    block_case("gpt_oss", "gpt_oss", more, config)


def qwen3_next_layers(config):
    """Three layers of gated delta nets and one of gated attention, of Megatron's modules without Transformer Engine."""
    gated_delta_net.HAVE_FLA = True  # its own torch code runs where `deterministic_mode` is asked for
    gated_delta_net.l2norm = lambda x: x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6)
    local = backends.LocalSpecProvider()
    linear = ModuleSpec(gated_delta_net.GatedDeltaNet, submodules=gated_delta_net.GatedDeltaNetSubmodules(
        in_proj=local.column_parallel_linear(), out_norm=ZeroCentred, out_proj=local.row_parallel_linear()))
    full = ModuleSpec(SelfAttention, params={"attn_mask_type": AttnMaskType.causal}, submodules=SelfAttentionSubmodules(
        linear_qkv=local.column_parallel_linear(), core_attention=local.core_attention(), linear_proj=local.row_parallel_linear(),
        q_layernorm=ZeroCentred, k_layernorm=ZeroCentred))
    moe = get_moe_module_spec_for_backend(local, num_experts=config.num_moe_experts)
    layers = [ModuleSpec(TransformerLayer, submodules=TransformerLayerSubmodules(
        input_layernorm=ZeroCentred, self_attention=attention, self_attn_bda=get_bias_dropout_add, pre_mlp_layernorm=ZeroCentred, mlp=moe,
        mlp_bda=get_bias_dropout_add)) for attention in (linear, linear, linear, full)]
    return TransformerBlockSubmodules(layer_specs=layers, layer_norm=ZeroCentred)


def qwen3_next():
    place = jobs.scratch()
    linear = {"linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 3, "linear_value_head_dim": 5}
    hf = save_small("qwen3_next", place, **{**DENSE, **linear, "num_hidden_layers": 4, "num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": True,
                                            "moe_intermediate_size": 8, "shared_expert_intermediate_size": 16,
                                            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}})
    config = TransformerConfig(
        **{**GROUPED, "num_layers": 4, "linear_conv_kernel_dim": 4, **linear}, **MOE, num_moe_experts=4, moe_ffn_hidden_size=8, moe_shared_expert_intermediate_size=16,
        moe_shared_expert_gate=True, moe_layer_freq=[1, 1, 1, 1], attention_output_gate=True, deterministic_mode=True, qk_layernorm=True,
        experimental_attention_variant="gated_delta_net", linear_attention_freq=4)
    same_logits("qwen3_next", hf, place, gpt(config, qwen3_next_layers(config), rotary_percent=0.5), arithmetic=True)


def work(_, case):
    parallel_state.initialize_model_parallel(1, 1)
    prepare()
    CASES[case]()


CASES = {"dense": dense, "gpt2": gpt2, "qwen3_moe": qwen3_moe, "mixtral": mixtral, "deepseek_v3": deepseek_v3, "gpt_oss": gpt_oss,
         "qwen3_next": qwen3_next}


def case_of(name):
    def run():
        jobs.run_job(1, work, name)
    run.__doc__ = f"layouts/names and Megatron-core: {name}"
    return run


if __name__ == "__main__":
    chosen = sys.argv[1:] or CASES
    jobs.main({name: case_of(name) for name in chosen})
