"""`python -m regreen`: the same as the console command."""

from __future__ import annotations

import sys

from regreen.cli import main

if __name__ == "__main__":
    sys.exit(main())
