"""Every test here has a progress file of its own, and no strictness it did not ask for."""

import pytest


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("MINILLM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MINILLM_STRICT", raising=False)
    return tmp_path / "home"
