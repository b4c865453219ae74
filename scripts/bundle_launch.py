"""Starts the server of a bundle: `launch.py MODE ROOT...`, the two settings that the host asked the user for."""

import sys

from regreen.cli import main

mode, *roots = sys.argv[1:]
sys.exit(main(["serve", "--mode", mode, *(word for root in roots for word in ("--root", root))]))
