"""The builder: same bytes each time, solutions gone, rules enforced with the cell named."""

import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest

from minillm.lab.build import main, out_of_step, plan
from minillm.lab.notebook import BuildError, build

SOURCE = Path(__file__).parent / "fixtures" / "90_try_machinery.py"
URL = "https://github.com/someone/minillm"


@pytest.fixture
def course(tmp_path):
    """A clone with one source."""
    (tmp_path / "solutions").mkdir()
    shutil.copy(SOURCE, tmp_path / "solutions")
    return tmp_path


def notebooks():
    solved, student = build(SOURCE, URL)
    return json.loads(solved), json.loads(student)


def code_of(notebook):
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")


def test_both_notebooks_are_valid_and_hold_no_outputs():
    for notebook in notebooks():
        nbformat.validate(nbformat.from_dict(notebook))
        for cell in notebook["cells"]:
            assert cell["cell_type"] != "code" or (cell["outputs"] == [] and cell["execution_count"] is None)


def test_two_builds_are_the_same_bytes():
    assert build(SOURCE, URL) == build(SOURCE, URL)


def test_opening_and_saving_in_jupyter_changes_no_byte():
    for text in build(SOURCE, URL):
        assert nbformat.writes(nbformat.reads(text, as_version=4)) + "\n" == text


def test_nothing_of_the_notebook_depends_on_jupytext_or_the_machine():
    solved, _ = notebooks()
    assert set(solved["metadata"]) == {"kernelspec", "language_info"}
    assert "jupytext" not in json.dumps(solved) and str(Path.home()) not in json.dumps(solved)


def test_solutions_are_replaced_at_their_indentation_with_a_line_budget():
    _, student = notebooks()
    code = code_of(student)
    compile(code, "student", "exec")
    assert (
        "SOLUTION" not in json.dumps(student)
        and "x + x" not in code
        and "self.n += 1" not in code.split("class Counter:")[1]
    )
    assert (
        '    """Twice x."""\n    # YOUR CODE HERE (about 2 lines)\n    raise NotImplementedError("double")'
        in code
    )
    assert '        # YOUR CODE HERE (about 1 line)\n        raise NotImplementedError("Counter")' in code


def test_solved_notebook_keeps_everything():
    solved, student = notebooks()
    code = code_of(solved)
    assert "result = x + x" in code and code.count("### BEGIN SOLUTION") == 3
    assert len(solved["cells"]) == len(student["cells"])
    assert [cell["id"] for cell in solved["cells"]] == [cell["id"] for cell in student["cells"]]


def test_cells_are_named_and_marked_for_nbgrader():
    _, student = notebooks()
    by_id = {cell["id"]: cell for cell in student["cells"]}
    assert len(by_id) == len(student["cells"])
    exercise, check = by_id["double"]["metadata"]["nbgrader"], by_id["check_double"]["metadata"]["nbgrader"]
    common = {"schema_version": 3, "task": False}
    assert exercise == common | {"grade": False, "grade_id": "double", "locked": False, "solution": True}
    graded = {"grade": True, "grade_id": "check_double", "locked": True, "points": 1, "solution": False}
    assert check == common | graded
    plain = [cell for cell in student["cells"] if "nbgrader" not in cell["metadata"]]
    assert len(plain) == len(student["cells"]) - 4


def test_the_address_stands_in_badge_and_set_up_and_in_the_second_cell():
    _, student = notebooks()
    title, setup = ("".join(student["cells"][place]["source"]) for place in (0, 1))
    assert title.startswith(
        "# 90 A sample\n\n[Open in Colab](https://colab.research.google.com/github/someone/minillm/"
    )
    assert title.split("](")[1].startswith(
        "https://colab.research.google.com/github/someone/minillm/blob/main/labs/90_try"
    )
    assert f"minillm @ git+{URL}" in setup and student["cells"][1]["id"] == "setup"


def test_check_tells_missing_changed_and_orphaned_notebooks(course):
    notebooks = plan(course, URL)
    assert len(out_of_step(course, notebooks)) == 2
    for path, text in notebooks.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
    assert out_of_step(course, notebooks) == []
    lab = course / "labs" / "90_try_machinery.ipynb"
    lab.write_text(lab.read_text(encoding="utf-8").replace("Twice", "Thrice"), encoding="utf-8")
    (course / "labs" / "91_gone.ipynb").write_text("{}", encoding="utf-8")
    lines = out_of_step(course, notebooks)
    assert len(lines) == 2 and "90_try_machinery" in lines[0] and "91_gone.ipynb has no source" in lines[1]


def test_command_writes_then_finds_them_in_step_and_notices_an_edit(course, capsys):
    root = ["--root", str(course)]
    assert main(["--check", *root]) == 1
    assert main(root) == 0
    assert main(["--check", *root]) == 0
    written = (course / "labs" / "90_try_machinery.ipynb").read_bytes()
    assert b"\r" not in written and main(root) == 0
    assert (course / "labs" / "90_try_machinery.ipynb").read_bytes() == written
    source = course / "solutions" / "90_try_machinery.py"
    source.write_text(source.read_text(encoding="utf-8").replace("Twice x", "Two x"), encoding="utf-8")
    assert main(["--check", *root]) == 1
    assert "make notebooks" in capsys.readouterr().out


DOUBLE = """
def double(x):
    ### BEGIN SOLUTION
    return x + x
    ### END SOLUTION
"""
CHECK = '\ncheck("90.double", double)\n'


def source(*cells):
    return "# %% [markdown]\n# # 90 Title\n" + "".join(f"\n# %%{cell}" for cell in cells)


GOOD = source(DOUBLE, CHECK)

BROKEN = {
    "marker in prose": (
        GOOD + "\n# %% [markdown]\n# Code between BEGIN SOLUTION and END SOLUTION goes.\n",
        "cell 4.*prose",
    ),
    "no end": (GOOD.replace("    ### END SOLUTION\n", ""), "cell 2.*pairs"),
    "no begin": (GOOD.replace("    ### BEGIN SOLUTION\n", ""), "cell 2.*pairs"),
    "two ends": (
        GOOD.replace("### END SOLUTION\n", "### END SOLUTION\n    ### END SOLUTION\n"),
        "cell 2.*pairs",
    ),
    "nested": (GOOD.replace("    return", "    ### BEGIN SOLUTION\n    return"), "cell 2.*pairs"),
    "two hashes": (GOOD.replace("### BEGIN", "## BEGIN"), "cell 2.*pairs"),
    "marker behind code": (GOOD.replace("x + x\n    ###", "x + x  ###"), "cell 2.*pairs"),
    "empty": (GOOD.replace("    return x + x\n", ""), "cell 2.*around code"),
    "at column 0": (
        source("\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n", CHECK),
        "cell 2.*outside a function",
    ),
    "no check": (source(DOUBLE), "last exercise has no check"),
    "next exercise before the check": (source(DOUBLE, DOUBLE, CHECK), "cell 3.*before"),
    "check in the exercise's cell": (source(DOUBLE + CHECK), "cell 2.*check cell"),
    "check without exercise": (source(CHECK), "cell 2.*needs an exercise"),
    "two checks": (source(DOUBLE, CHECK, CHECK), "cell 4.*needs an exercise"),
    "same exercise twice": (source(DOUBLE, CHECK, DOUBLE, CHECK), "cell 5.*of its own"),
    "check of another lab": (GOOD.replace('"90.', '"91.'), "cell 3.*in lab 90"),
    "result not shown": (GOOD.replace("\ncheck", "\nresult = check"), "cell 3.*end with its result"),
    "name of the exercise bound again": (source(DOUBLE, CHECK, "\ndouble = 3\n"), "cell 4: double belongs"),
    "name imported over": (source(DOUBLE, CHECK, "\nfrom a import b as double\n"), "cell 4: double belongs"),
    "result bound again": (
        source(DOUBLE, "\nr" + CHECK.strip().replace("check", " = check", 1) + "\nr\n", "\nr = 1\n"),
        "cell 4: r belongs",
    ),
    "no title": ("# %%\nx = 1\n", "first cell"),
    "wrong number": (GOOD.replace("# 90 Title", "# 91 Title"), 'begins "# 90 Title"'),
    "empty file": ("", "first cell"),
}


def write(tmp_path, text, name="90_try_it.py"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def test_the_plain_source_builds(tmp_path):
    build(write(tmp_path, GOOD), URL)


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_told_with_its_cell(tmp_path, text, said):
    with pytest.raises(BuildError, match=said):
        build(write(tmp_path, text), URL)


def test_a_wrong_file_name_is_told(tmp_path):
    with pytest.raises(BuildError, match="NN_verb_noun"):
        build(write(tmp_path, GOOD, "lab.py"), URL)


def test_broken_source_is_one_clear_line_and_exit_code_1(course, capsys):
    (course / "solutions" / "91_break_it.py").write_text(
        BROKEN["no end"][0].replace("90", "91"), encoding="utf-8"
    )
    assert main(["--root", str(course)]) == 1
    error = capsys.readouterr().err
    assert re.fullmatch(r"91_break_it\.py, cell 2: .*\n", error)
    assert not (course / "labs").exists()


def test_magics_do_not_disturb(tmp_path):
    solved, _ = build(write(tmp_path, GOOD + "\n# %%\n# %timeit double(2)\n# !ls\ny = 1\n"), URL)
    assert "%timeit double(2)" in solved
