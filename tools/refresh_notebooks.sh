#!/usr/bin/env bash
# Executes the notebooks of docs/notebooks and keeps what they print and draw.
# A test fails while they differ. The argument, if any, is the build folder with the Python module.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath "${1:-$root/build/release}")
PYDEVD_DISABLE_FILE_VALIDATION=1 PYTHONPATH=$build/python /usr/bin/python3 - "$root/docs/notebooks" "$build" <<'PYTHON'
import pathlib
import sys

import nbclient
import nbformat

folder, build = sys.argv[1:]
for path in sorted(pathlib.Path(folder).glob("*.ipynb")):
    notebook = nbformat.read(path, 4)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": build}}
    ).execute()
    for cell in notebook.cells:
        cell.get("metadata", {}).pop("execution", None)
    nbformat.write(notebook, path)
PYTHON
