"""What `load` refuses, and that each refusal names the remedy in one line."""

from __future__ import annotations

import json

import pytest
import torch

from minillm.errors import ModelNotFound, UnsafeCheckpoint, UnsupportedDtype, UnsupportedModel
from minillm.models import load
from minillm.models.config import ModelConfig
from minillm.models.weights import from_state, read_safetensors, to_state
from tests.models.families import oracle, save


@pytest.fixture
def folder(tmp_path):
    return save(oracle("llama"), tmp_path / "model")


def change_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def refused(error, wording, *args, **kwargs):
    with pytest.raises(error, match=wording) as caught:
        load(*args, **kwargs)
    assert "\n" not in str(caught.value)


def test_an_unknown_name():
    refused(ModelNotFound, "shipped ones are", "no-such-model")


def test_a_folder_without_a_config(tmp_path):
    refused(ModelNotFound, r"no config\.json", tmp_path)


def test_a_hub_id_without_a_network(monkeypatch):
    """What huggingface_hub raises offline becomes one line; nothing is fetched here."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    refused(ModelNotFound, "the hub did not give it", "nobody/nothing-of-this-name")


def test_a_file_that_is_no_model(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    refused(ModelNotFound, "is a file", tmp_path / "notes.txt")


def test_pickled_weights(folder):
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    refused(UnsafeCheckpoint, "can run code", folder)


def test_remote_code(folder):
    change_config(folder, auto_map={"AutoModelForCausalLM": "evil.Model"})
    refused(UnsafeCheckpoint, "auto_map", folder)


def test_a_shard_name_cannot_leave_the_folder(folder):
    outside = folder.parent / "outside.safetensors"
    (folder / "model.safetensors").rename(outside)
    index = {"weight_map": {"model.norm.weight": "../outside.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(ModelNotFound, "lacks the shard", folder)


@pytest.mark.parametrize(
    ("change", "wording"),
    [
        ({"model_type": "gpt2"}, "model_type is 'gpt2'"),
        ({"hidden_act": "gelu"}, "SwiGLU"),
        ({"attention_bias": True}, "biases"),
        ({"rope_parameters": {"rope_type": "yarn"}, "rope_scaling": None}, "'yarn'"),
        ({"num_key_value_heads": 4}, "cannot share"),
    ],
)
def test_an_architecture_it_does_not_run(folder, change, wording):
    change_config(folder, **change)
    refused(UnsupportedModel, wording, folder)


def test_weights_that_do_not_fit_the_config(folder):
    change_config(folder, num_hidden_layers=4)
    refused(UnsupportedModel, r"Missing: \['model.layers.3", folder)
    change_config(folder, num_hidden_layers=2)
    refused(UnsupportedModel, r"not understood: \['model.layers.2", folder)


@pytest.mark.parametrize("dtype", ["int8", "float64", torch.float8_e4m3fn, "no-dtype"])
def test_a_dtype_it_cannot_compute_in(dtype):
    refused(UnsupportedDtype, "choose one of float32, bfloat16, float16", "tiny", dtype=dtype)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_device_the_machine_lacks():
    refused(UnsupportedDtype, "no 'cuda' device", "tiny", device="cuda")


def test_bfloat16_is_loaded_when_asked_for(folder):
    model = load(folder, dtype="bfloat16").model
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}
    assert model(torch.tensor([[1, 2, 3]])).dtype == torch.float32


@pytest.mark.parametrize("family", ["llama", "llama-tied", "qwen2", "qwen3"])
def test_fusing_weights_is_reversible(family, tmp_path):
    folder = save(oracle(family), tmp_path)
    config = ModelConfig.from_hf(json.loads((folder / "config.json").read_text()))
    before = read_safetensors(folder)
    after = from_state(to_state(before, config, torch.float32), config)
    assert sorted(after) == sorted(before)
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("family", ["llama", "llama3-rope", "qwen2", "qwen3", "mistral"])
def test_a_config_survives_the_round_trip(family, tmp_path):
    folder = save(oracle(family), tmp_path)
    config = ModelConfig.from_hf(json.loads((folder / "config.json").read_text()))
    assert ModelConfig.from_hf(config.to_hf()) == config
