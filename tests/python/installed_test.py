"""As a new user: `cmake --install` into a new folder, then the example of README.md there."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["LOCKSTEP_SOURCE_DIR"]
BUILD = os.environ["LOCKSTEP_BUILD_DIR"]


def readme_example():
    """The first block of Python in README.md."""
    with open(f"{SOURCE}/README.md") as file:
        return re.search(r"```python\n(.*?)```", file.read(), re.S)[1]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = f"{cls.folder.name}/prefix"
        words = ["cmake", "--install", BUILD, "--prefix", cls.prefix]
        for component in ("python", "runtime"):
            subprocess.run([*words, "--component", component], check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def python(self, text, **more):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        path = f"{self.prefix}/lib/python{version}/site-packages"
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": path, "HOME": self.folder.name,
                       "MPLBACKEND": "Agg", **more}  # fmt: skip
        return subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, cwd=self.folder.name,
            env=environment,
        )  # fmt: skip

    def test_the_example_of_the_readme(self):
        example = readme_example()
        self.assertLessEqual(len(example.splitlines()), 5)
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("matplotlib is not installed")
        done = self.python(example)
        self.assertEqual(done.returncode, 0, done.stderr)
        (drawn,) = [name for name in os.listdir(self.folder.name) if name.endswith(".png")]
        with open(f"{self.folder.name}/{drawn}", "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_its_configs_are_those_of_the_same_prefix(self):
        done = self.python(
            "import lockstep\n"
            "print(lockstep.list_clusters().rows[0].file)\n"
            "print(lockstep.run('pipeline-1f1b').fits)"
        )
        self.assertEqual(done.stderr, "")
        file, fits = done.stdout.split()
        self.assertTrue(file.startswith(f"{self.prefix}/share/lockstep/configs/"), file)
        self.assertEqual(fits, "True")

    def test_own_configs_come_first(self):
        done = self.python(
            "import lockstep; print(lockstep.list_clusters().rows[0].file)",
            LOCKSTEP_CONFIGS=f"{SOURCE}/configs",
        )
        self.assertTrue(done.stdout.startswith(SOURCE), done.stdout + done.stderr)

    def test_it_needs_no_numpy_to_simulate(self):
        hidden = (
            "import sys\n"
            "for name in ('numpy', 'pandas', 'matplotlib'): sys.modules[name] = None\n"
        )
        done = self.python(
            hidden + "import lockstep\n"
            "r = lockstep.run('pipeline-1f1b')\n"
            "print(r.fits, len(r._repr_html_()) > 1000, r.table().values('tp'))\n"
            "for call in (r.to_pandas, r.plot):\n"
            "    try: call()\n"
            "    except ImportError as error: print(error)\n"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("True True [1]", done.stdout)
        self.assertIn("to_pandas() needs pandas", done.stdout)
        self.assertIn("plot() needs matplotlib", done.stdout)

    def test_types_are_installed(self):
        done = self.python("import lockstep, os; print(*os.listdir(lockstep.__path__[0]))")
        self.assertIn("py.typed", done.stdout)
        self.assertIn("_native.pyi", done.stdout)


if __name__ == "__main__":
    unittest.main()
