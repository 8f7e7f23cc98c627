"""The programs of docs/guides/python.md run."""

import os
import re
import tempfile
import unittest

GUIDE = f"{os.environ['LOCKSTEP_SOURCE_DIR']}/docs/guides/python.md"


class Guide(unittest.TestCase):
    def test_its_programs_run(self):
        with open(GUIDE) as file:
            programs = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertGreaterEqual(len(programs), 4)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for program in programs:
                    with self.subTest(program=program):
                        exec(compile(program, GUIDE, "exec"), {})
            finally:
                os.chdir(before)


if __name__ == "__main__":
    try:
        import pandas  # noqa: F401
    except ImportError:
        print("pandas is not installed: skipped")
        raise SystemExit(77)
    unittest.main()
