"""`regreen serve` over HTTP whose engine is the stand-in of tests/server/stub_server.py. Run as a script."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from regreen.cli.parser import parse
from regreen.settings import load_settings
from regreen_server.http import arriving
from regreen_server.http.options import http_options
from regreen_server.http.running import serve
from regreen_server.tool_list import Offer

sys.path.insert(0, str(Path(__file__).parents[1]))
from stub_server import StubEngine  # pyright: ignore[reportMissingImports]


def main() -> int:
    args = parse(["serve", *sys.argv[1:]])
    settings = load_settings(os.environ)
    options = http_options(settings, http=args.http, socket=args.socket, token_file=args.token_file)
    arriving.ARRIVAL_S = float(os.environ.get("STUB_ARRIVAL_S", arriving.ARRIVAL_S))
    make: Any = StubEngine
    return serve(settings, options, Offer(), make_engine=make, close_limit_s=1.0 if "STUB_HANGS" in os.environ else 5.0)


if __name__ == "__main__":
    sys.exit(main())
