"""Executed pages: what one reads without running anything."""

import shutil
from pathlib import Path

import pytest

from minillm.lab.build import main
from minillm.lab.pages import write_pages

FIXTURE = Path(__file__).parent / "fixtures" / "90_try_machinery.py"


@pytest.fixture
def course(tmp_path, monkeypatch):
    (tmp_path / "solutions").mkdir()
    shutil.copy(FIXTURE, tmp_path / "solutions")
    monkeypatch.setenv("MINILLM_WIDGETS", "1")
    return tmp_path


def test_pages_hold_figures_results_and_no_widgets(course, own_home):
    assert main(["--root", str(course), "--html"]) == 0
    page = (course / "build" / "html" / "90_try_machinery.html").read_text(encoding="utf-8")
    assert 'alt="A straight line: twice x against x."' in page and "data:image/png;base64," in page
    assert "90.double: passed" in page and "value=YOUR_NUMBER" in page
    assert "jupyter.widget-view" not in page and "jupyter.widget-state" not in page
    assert "90_try_machinery.html" in (course / "build" / "html" / "index.html").read_text(encoding="utf-8")
    built = (course / "solutions" / "90_try_machinery.ipynb").read_text(encoding="utf-8")
    assert not (own_home / "progress.yaml").exists()  # a page's checks are not the person's own
    assert '"outputs": []' in built and "data:image" not in built


def test_a_page_that_cannot_be_run_is_told_and_the_others_written(course, capsys):
    text = (
        FIXTURE.read_text(encoding="utf-8").replace("90", "91") + "\n# %%\nraise ValueError('broken lab')\n"
    )
    (course / "solutions" / "91_break_it.py").write_text(text, encoding="utf-8")
    main(["--root", str(course)])
    assert write_pages(course) == 1
    assert "91_break_it.ipynb" in capsys.readouterr().out
    pages = sorted(path.name for path in (course / "build" / "html").glob("*.html"))
    assert pages == ["90_try_machinery.html", "index.html"]
