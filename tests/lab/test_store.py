"""The progress file: nothing is lost, whatever happens to it."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minillm.lab import store


def put(section, key, value):
    return store.update(lambda progress: progress[section].update({key: value}))


def test_what_is_kept_is_read_again():
    assert put("predictions", "01.a", {"value": 3.5})
    assert put("answers", "01", {"text": "Two lines,\nthe second: with a colon\n"})
    assert store.read()["predictions"]["01.a"] == {"value": 3.5}
    assert store.read()["answers"]["01"]["text"] == "Two lines,\nthe second: with a colon\n"


def test_the_file_is_for_people(own_home):
    put("answers", "01", {"text": "Because decoding\nreads every key again."})
    text = (own_home / "progress.yaml").read_text(encoding="utf-8")
    assert text.startswith("# Your progress")
    assert "    text: |-\n      Because decoding\n      reads every key again.\n" in text


def test_nothing_kept_yet():
    assert all(section == {} for section in store.read().values())


def test_unknown_sections_survive(own_home):
    put("hints", "01.a", 1)
    file = own_home / "progress.yaml"
    file.write_text(file.read_text(encoding="utf-8") + "notes:\n  mine: keep this\n", encoding="utf-8")
    put("hints", "01.a", 2)
    assert yaml.safe_load(file.read_text(encoding="utf-8"))["notes"] == {"mine": "keep this"}


TEXT = st.text(st.characters(exclude_categories=()))


@settings(max_examples=60, deadline=None)
@given(text=TEXT, key=TEXT)
@example(text="a\x85b\n\u2028\ufeff", key="\x85")
@example(text="\ud800", key="no: 1")
def test_any_text_survives(tmp_path_factory, text, key):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINILLM_HOME", str(tmp_path_factory.getbasetemp() / "any"))
        put("answers", key, {"text": text})
        assert store.read()["answers"][key]["text"] == text
        store.path().unlink()


@pytest.mark.parametrize(
    "broken",
    [
        b"exercises: [1, {",
        b"\xff\xfe\x00",
        b"just a sentence",
        b"- a\n- list\n",
        b"a: b: c",
        b"!!python/none x",
    ],
)
def test_a_broken_file_is_kept_aside_and_said(own_home, capsys, broken):
    own_home.mkdir()
    (own_home / "progress.yaml").write_bytes(broken)
    assert put("hints", "01.a", 1)
    (aside,) = own_home.glob("progress.broken-*.yaml")
    assert aside.read_bytes() == broken
    assert str(aside) in capsys.readouterr().out
    assert store.read()["hints"] == {"01.a": 1}


@pytest.mark.parametrize(
    "odd", ["", "# only a comment\n", "exercises:\n", "exercises: yes\n", "hints: {1: 2}\n"]
)
def test_an_odd_but_readable_file_is_used(own_home, odd):
    own_home.mkdir()
    (own_home / "progress.yaml").write_text(odd, encoding="utf-8")
    store.record_check("01.a", "passed", 1.0)
    assert store.read()["exercises"]["01.a"]["state"] == "passed"
    assert not list(own_home.glob("progress.broken-*"))


def test_entries_edited_into_nonsense_do_no_harm(own_home):
    own_home.mkdir()
    nonsense = "exercises:\n  01.a: done\n  01.b: {best: lots, tries: .nan}\nhints: {01.a: many}\n"
    (own_home / "progress.yaml").write_text(nonsense, encoding="utf-8")
    store.record_check("01.a", "wrong value", 0.5)
    store.record_check("01.b", "wrong value", 0.5)
    assert store.count_hint("01.a") == 1
    kept = store.read()["exercises"]
    assert kept["01.a"]["best"] == kept["01.b"]["best"] == 0.5 and kept["01.b"]["tries"] == 1


def _write_many(home, name, count):
    os.environ["MINILLM_HOME"] = home
    for number in range(count):
        put("predictions", f"{name}.{number}", {"value": number})


def test_two_processes_lose_nothing_of_each_other(own_home):
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write_many, args=(str(own_home), name, 40)) for name in ("01", "02")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert all(writer.exitcode == 0 for writer in writers)
    kept = store.read()["predictions"]
    assert len(kept) == 80 and all(
        kept[f"{name}.{n}"] == {"value": n} for name in ("01", "02") for n in range(40)
    )


def test_two_threads_lose_nothing_of_each_other():
    def write(name):
        for number in range(20):
            put("hints", f"{name}.{number}", number)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("01", "02", "03")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.read()["hints"]) == 60


def test_a_crash_in_mid_write_leaves_the_old_file(own_home, monkeypatch):
    put("hints", "01.a", 1)

    def crash(fileno):
        raise SystemExit("power cut")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(SystemExit):
        put("hints", "01.b", 1)
    monkeypatch.undo()
    monkeypatch.setenv("MINILLM_HOME", str(own_home))
    assert store.read()["hints"] == {"01.a": 1}
    assert put("hints", "01.c", 1)


WRITE_FOREVER = """
from minillm.lab import store
number = 0
print("ready", flush=True)
while True:
    number += 1
    store.update(lambda progress: progress["hints"].update({f"01.{number}": number, "last": number}))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_killed_processes_leave_a_whole_file_and_no_lock(own_home):
    last = 0
    for _ in range(3):
        environment = os.environ | {"MINILLM_HOME": str(own_home)}
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITE_FOREVER], env=environment, stdout=subprocess.PIPE
        )
        writer.stdout.readline()
        time.sleep(0.3)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        kept = store.read()["hints"]
        assert kept.get("last", 0) == len(kept) - ("last" in kept)
        last = max(last, kept.get("last", 0))
        store.path().unlink(missing_ok=True)
    assert last > 0 and not list(own_home.glob("progress.broken-*"))


def test_a_folder_that_cannot_be_written_costs_one_line(own_home, monkeypatch, capsys):
    def refuse(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(store, "_write", refuse)
    store.record_check("01.a", "passed", 1.0)
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "MINILLM_HOME" in said


def test_replace_is_tried_again_while_another_program_holds_the_file(monkeypatch):
    from pathlib import Path

    real, tries = Path.replace, []

    def held(self, target):
        tries.append(target)
        if len(tries) < 3:
            raise PermissionError("held")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", held)
    assert put("hints", "01.a", 1) and store.read()["hints"] == {"01.a": 1} and len(tries) == 3


def test_a_drive_without_locks_still_keeps(monkeypatch):
    import filelock

    def refuse(self, *_, **__):
        raise NotImplementedError("no locks here")

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    assert put("hints", "01.a", 1) and store.read()["hints"] == {"01.a": 1}
