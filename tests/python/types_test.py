"""Types: mypy --strict, stubtest, and functions that are those of the command line's options."""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["LOCKSTEP_SOURCE_DIR"]
BUILT = f"{os.environ['LOCKSTEP_BUILD_DIR']}/python"
MYPY = shutil.which("mypy", path="/usr/bin") or shutil.which("mypy")
STUBTEST = shutil.which("stubtest", path="/usr/bin") or shutil.which("stubtest")
if not MYPY or not STUBTEST:
    print("mypy is not installed: skipped")
    raise SystemExit(77)

# As a user writes: attributes have types, and what does not exist is an error.
USER = """
import lockstep

step = lockstep.run("pipeline-1f1b", set={"parallel.pp": 2}, progress=lambda event: event.done)
seconds: float = step.step_time_s
limits = step.limits[0]
times = lockstep.collective("all_reduce", algorithm=["ring", "direct"], size=["1K", 8])
curve = times.curves["ring"].busbw_Bps
lockstep.run({"name": "x"})
"""
WRONG = """
import lockstep

lockstep.run("pipeline-1f1b", netwrok="fluid")
lockstep.run("pipeline-1f1b").step_time
lockstep.collective("all_reduce", nodes="2")
"""


def run(*words, folder=None):
    environment = {**os.environ, "MYPYPATH": BUILT}
    return subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment)


class Types(unittest.TestCase):
    def test_the_package_is_strict(self):
        with tempfile.TemporaryDirectory() as cache:
            done = run(MYPY, "--strict", f"--cache-dir={cache}", "-p", "lockstep")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_stubs_are_those_of_the_module(self):
        with tempfile.TemporaryDirectory() as folder:
            allowed = f"{SOURCE}/tests/python/stubtest_allowlist.txt"
            done = run(STUBTEST, "lockstep._native", "--allowlist", allowed, folder=folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_users_get_types(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text, errors in (("user.py", USER, 0), ("wrong.py", WRONG, 3)):
                with open(f"{folder}/{name}", "w") as file:
                    file.write(text)
                done = run(MYPY, "--strict", name, folder=folder)
                self.assertEqual(done.stdout.count("error:"), errors, done.stdout)

    def test_functions_are_those_of_the_options(self):
        done = run(sys.executable, f"{SOURCE}/tools/python/write_commands.py", "--check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_built_files_are_the_sources(self):
        folder = f"{SOURCE}/tools/python/lockstep"
        for above, _, names in os.walk(folder):
            for name in names:
                if not name.endswith((".py", ".pyi", ".typed")):
                    continue
                path = os.path.join(above, name)
                built = os.path.join(BUILT, "lockstep", os.path.relpath(path, folder))
                with open(path) as source, open(built) as copy:
                    self.assertEqual(source.read(), copy.read(), name)

    def test_lines_and_names(self):
        """Lines of at most 100 characters; every public name has a documentation."""
        for above, _, names in os.walk(f"{SOURCE}/tools/python"):
            for name in (each for each in names if each.endswith(".py")):
                with open(os.path.join(above, name)) as file:
                    text = file.read()
                for number, line in enumerate(text.splitlines(), 1):
                    self.assertLessEqual(len(line), 100, f"{name}:{number}")
                documented = ast.get_docstring(ast.parse(text)) is not None
                self.assertTrue(documented or above.endswith("commands"), name)


if __name__ == "__main__":
    unittest.main()
