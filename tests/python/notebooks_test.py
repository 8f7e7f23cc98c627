"""The notebooks of docs/notebooks run, print what they have printed, and draw pictures."""

import base64
import json
import os
import pathlib
import struct
import unittest
import zlib

try:
    import matplotlib  # noqa: F401
    import nbclient
    import nbconvert
    import nbformat
    import networkx  # noqa: F401
    import pandas  # noqa: F401
    from ipykernel import kernelapp  # noqa: F401
except ImportError as error:
    print(f"{error.name} is not installed: skipped")
    raise SystemExit(77)

FOLDER = pathlib.Path(os.environ["LOCKSTEP_SOURCE_DIR"]) / "docs" / "notebooks"
NAMES = ("compare-all-reduce", "plan-a-70b-training", "teach-a-pipeline")


def text_of(notebook):
    """All that is printed, without pictures."""
    out = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error", output
            out.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
    return ["" if text.startswith("<") and " at 0x" in text else text for text in out]


def pictures_of(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                yield base64.b64decode(output.data["image/png"])


def colors_of(png):
    """Width, height and number of different bytes of the pixels of a PNG."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, size = 8, b"", None
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            size = struct.unpack(">II", data[:8])
        if kind == b"IDAT":
            packed += data
        at += 12 + length
    return (*size, len(set(zlib.decompress(packed))))


class Notebooks(unittest.TestCase):
    def test_they_run_and_print_what_they_have_printed(self):
        for name in NAMES:
            with self.subTest(name=name):
                path = FOLDER / f"{name}.ipynb"
                kept = nbformat.read(path, 4)
                fresh = nbformat.read(path, 4)
                nbclient.NotebookClient(
                    fresh, timeout=300, kernel_name="python3",
                    resources={"metadata": {"path": os.environ["LOCKSTEP_BUILD_DIR"]}},
                ).execute()  # fmt: skip
                self.assertEqual(text_of(fresh), text_of(kept))
                drawn = list(pictures_of(fresh))
                self.assertEqual(len(drawn), len(list(pictures_of(kept))))
                self.assertGreaterEqual(len(drawn), 3)
                for png in drawn:
                    width, height, colors = colors_of(png)
                    self.assertGreater(min(width, height), 200)
                    self.assertGreater(colors, 20)  # a blank one has few

    def test_results_survive_nbconvert(self):
        for name in NAMES[:2]:
            notebook = nbformat.read(FOLDER / f"{name}.ipynb", 4)
            page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
            self.assertIn('<div class="lockstep">', page)
            self.assertIn("<svg", page[page.index('<div class="lockstep">') :])

    def test_they_are_small(self):
        for name in NAMES:
            self.assertLess((FOLDER / f"{name}.ipynb").stat().st_size, 300_000)

    def test_their_results_have_no_script(self):
        for name in NAMES:
            for cell in json.loads((FOLDER / f"{name}.ipynb").read_text())["cells"]:
                for output in cell.get("outputs", []):
                    page = output.get("data", {}).get("text/html", "")
                    self.assertNotIn("<script", "".join(page))


if __name__ == "__main__":
    unittest.main()
