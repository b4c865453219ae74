"""Starts the fork server in the project's interpreter: its modules are found here, everything else as pytest finds it.

A separate script because Python keeps no bytecode of the script that it is given, and because processes that tests
start by `multiprocessing` may import it again, which must do nothing.
"""

import os
import sys

if __name__ == "__main__":
    here = sys.path[0]
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(here)), "inside"))  # noqa: PTH118, PTH120
    fork = __import__("regreen_fork")

    sys.path[:2] = [os.getcwd()]  # noqa: PTH109
    sys.exit(fork.main(int(sys.argv[1])))
