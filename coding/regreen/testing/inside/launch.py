"""Starts `regreen_inside` as `python -m pytest` would start pytest: the working folder leads `sys.path`.

A separate script because Python keeps no bytecode of the script that it is given, and compiling is what takes time.
"""

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location

if __name__ == "__main__":
    spec = spec_from_file_location("regreen_inside", os.path.join(sys.path[0], "regreen_inside.py"))  # noqa: PTH118
    sys.path[0] = os.getcwd()  # noqa: PTH109
    assert spec is not None
    assert spec.loader is not None
    inside = sys.modules["regreen_inside"] = module_from_spec(spec)
    spec.loader.exec_module(inside)
    sys.exit(inside.main())
