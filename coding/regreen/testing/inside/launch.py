"""Starts a runner's inside as `python -m RUNNER` would start the runner: the working folder leads `sys.path`.

The first argument may name the module beside this file; pytest's is meant where it is the channel already. A separate
script because Python keeps no bytecode of the script that it is given, and compiling is what takes time.
"""

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location

if __name__ == "__main__":
    name = "regreen_inside" if sys.argv[1].isdigit() else sys.argv.pop(1)
    spec = spec_from_file_location(name, os.path.join(sys.path[0], f"{name}.py"))  # noqa: PTH118
    sys.path[0] = os.getcwd()  # noqa: PTH109
    assert spec is not None
    assert spec.loader is not None
    inside = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(inside)
    sys.exit(inside.main())
