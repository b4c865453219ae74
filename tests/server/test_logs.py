"""The log never holds up the server that writes it."""

import subprocess
import sys

MANY = """
import logging
from regreen_server import logs
logs.begin()
for i in range(3000):
    logging.getLogger("regreen_server").warning("line %d %s", i, "x" * 20_000)
print("done", flush=True)
"""


def test_who_logs_goes_on_and_ends_though_nobody_reads_it() -> None:
    with subprocess.Popen([sys.executable, "-c", MANY], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"done\n"
        assert process.wait(60) == 0


def test_what_is_read_comes_in_order_and_to_the_last_line() -> None:
    few = MANY.replace("3000", "30")
    said = subprocess.run([sys.executable, "-c", few], capture_output=True, check=True, timeout=60).stderr.decode()
    lines = said.splitlines()
    assert [line.split()[:4] for line in lines] == [["regreen:", "WARNING:", "line", str(i)] for i in range(30)]
    assert max(map(len, lines)) < 9_000
