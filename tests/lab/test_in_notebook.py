"""What a person sees in a notebook: the machinery in a real kernel, its outputs as a front end gets them."""

import json
import os

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

PREPARE = """
from minillm.lab import *
cases = [call(3), call(5)]
_ = register(Exercise("95.double", reference=lambda x: 2 * x, cases=cases, hints=["Twice.", "x + x"]))
"""


def run(*cells, **environment):
    """Execute cells in one kernel; returns the outputs of each."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in (PREPARE, *cells)])
    client = nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3")
    client.execute(env=os.environ | environment)
    return [cell.outputs for cell in notebook.cells[1:]]


def page(outputs):
    """The HTML and text of a cell's outputs, joined."""
    data = [output.get("data", {}) for output in outputs]
    shown = [bundle.get("text/html", bundle.get("text/plain", "")) for bundle in data]
    return "\n".join([*shown, *(output.get("text", "") for output in outputs)])


def widget_models(outputs):
    return [
        output for output in outputs if "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    ]


def test_result_is_a_table_and_its_text_is_a_number():
    (outputs,) = run('check("95.double", lambda x: x + 3)')
    (output,) = outputs
    assert output.output_type == "execute_result" and output.data["text/plain"] == "0.5"
    assert "<table>" in output.data["text/html"] and "expected 10, got 8" in output.data["text/html"]


def test_an_error_is_shown_with_its_line_in_the_cell_and_nothing_goes_to_stderr():
    source = """
import sys, warnings, os

def double(x):
    print("trace")
    print("oops", file=sys.stderr)
    warnings.warn("careful")
    return x.shape

check("95.double", double)"""
    (outputs,) = run(source)
    assert [output.output_type for output in outputs] == ["execute_result"]
    shown = page(outputs)
    assert "line 7: return x.shape" in shown and "trace" in shown and "careful" in shown


def test_stub_then_reference():
    source = """
def double(x):
    raise NotImplementedError

result = check("95.double", double)
mine = result.yours_or_reference()
mine(4)"""
    shown = page(run(source)[0])
    assert "95.double: not attempted; from here on the reference is used." in shown and "8" in shown


def test_widgets_are_shown_where_they_are_and_plain_text_where_they_are_not():
    cells = (
        'predict("95.a", "How many <b>?", "m")',
        'say_first("95")',
        'defend("95", ["one", "two"])',
        'reveal("95.a", 3)',
    )
    with_widgets = run(*cells)
    without = run(*cells, MINILLM_WIDGETS="0")
    assert [len(widget_models(outputs)) for outputs in with_widgets] == [1, 1, 1, 0]
    assert [len(widget_models(outputs)) for outputs in without] == [0, 0, 0, 0]
    assert "How many &lt;b&gt;?" in page(with_widgets[0]) and "How many &lt;b&gt;?" in page(without[0])
    assert "value=YOUR_NUMBER" in page(without[0]) and "<li>one</li>" in page(without[2])
    assert "measured 3 m" in page(with_widgets[3])


def test_missing_ipywidgets_leave_plain_text():
    hide = "import sys; sys.modules['ipywidgets'] = None\npredict('95.a', 'How many?', 'm')"
    (outputs,) = run(hide)
    assert widget_models(outputs) == [] and "value=YOUR_NUMBER" in page(outputs)


def test_pressing_keep_keeps(own_home):
    press = """
import ipywidgets, minillm.lab.predictions as predictions
boxes = []
real = ipywidgets.Text
class Text(real):
    def __init__(self, **given):
        super().__init__(**given)
        boxes.append(self)
buttons = []
class Button(ipywidgets.Button):
    def __init__(self, **given):
        super().__init__(**given)
        buttons.append(self)
ipywidgets.Text, ipywidgets.Button = Text, Button
predict("95.a", "How many?", "m")
boxes[0].value = "12k"
buttons[0].click()
"""
    run(press)
    assert "value: 12000.0" in (own_home / "progress.yaml").read_text(encoding="utf-8")


def test_figure_has_alt_text_an_opaque_background_and_is_shown_once():
    source = """
%matplotlib inline
import matplotlib.pyplot as plt
from minillm.viz.style import COLORS, apply_style
apply_style()
figure, axis = plt.subplots()
axis.plot([1, 2], color=COLORS["decode"])
show(figure, alt='A "line" that rises from 1 to 2.')
print(plt.get_fignums())"""
    (outputs,) = run(source)
    images = [output for output in outputs if "text/html" in output.get("data", {})]
    assert len(images) == 1 and not any("image/png" in output.get("data", {}) for output in outputs)
    html = images[0].data["text/html"]
    assert 'alt="A &quot;line&quot; that rises from 1 to 2."' in html and "data:image/png;base64," in html
    assert "[]" in page(outputs)


def test_progress_and_claims_are_tables():
    progress, claims = run("check('95.double', int); progress()", 'claims_table("95")')
    assert "<table>" in page(progress) and "double" in page(progress) and "<table>" in page(claims)


def test_strict_mode_stops_the_cell_and_names_the_exercise():
    with pytest.raises(nbclient.exceptions.CellExecutionError, match=r"95\.double: wrong value"):
        run('check("95.double", lambda x: 0)', MINILLM_STRICT="1")


def test_nothing_waits_for_input():
    outputs = run(
        'predict("95.a", "?"); say_first("95"); hint("95.double"); hint("95.double"); defend("95", ["a"])'
    )
    assert "hint 2 of 2" in page(outputs[0]) and json.dumps(outputs[0])
