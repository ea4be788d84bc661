"""What holds for every test: no network, one thread a process, and a home that is not the person's own."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

# Before any test imports torch: two processes that both use every core slow each other tenfold.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"


def pytest_configure(config: pytest.Config) -> None:
    """Keep out of the person's own folder; workers and notebooks share one, and the models converted in it.

    The models are converted anew in each run: an old copy would hide a conversion that no longer works.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        home = tempfile.mkdtemp(prefix="minillm-tests-")
        os.environ["MINILLM_HOME"] = home
        os.environ["MINILLM_CACHE"] = str(Path(home) / "models")
        config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parent.parent
