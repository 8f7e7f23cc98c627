"""The examples in the documentation of the module."""

import doctest
import importlib
import pkgutil
import sys

import lockstep

failed = attempted = 0
for info in pkgutil.walk_packages(lockstep.__path__, "lockstep."):
    if info.name == "lockstep._native":
        continue
    result = doctest.testmod(importlib.import_module(info.name), optionflags=doctest.ELLIPSIS)
    failed, attempted = failed + result.failed, attempted + result.attempted
result = doctest.testmod(lockstep)
failed, attempted = failed + result.failed, attempted + result.attempted
print(f"{attempted} examples, {failed} failed")
sys.exit(1 if failed or attempted < 20 else 0)
