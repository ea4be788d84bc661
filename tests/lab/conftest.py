"""Every test here has a progress file of its own, and no strictness it did not ask for."""

import pytest
from hypothesis import settings

# Tests assert results, never seconds: a busy machine must not fail one.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("MINILLM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MINILLM_STRICT", raising=False)
    return tmp_path / "home"
