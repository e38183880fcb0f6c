#!/usr/bin/env python3
"""Runs what docs/reproduce.md says at a small scale, as it is typed there: the campaign on two cores, and then every command of the table
"Item by item". Ends with a line for each command, and fails if one of them does.

    scripts/checks/check-reproduce.py          # after cargo build --release; a quarter of an hour on two cores

What the commands leave is in try/, figures/ and results of tests; a campaign that is there already goes on where it was.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def documented():
    """The campaign's command, and the commands of the table in order, each once."""
    text = (ROOT / "docs/reproduce.md").read_text()
    campaign = re.search(r"^DEVICE=cpu .*scripts/paper\.sh .*$", text, re.MULTILINE)
    table = text.split("## Item by item")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    commands = [code for _, *cells in rows for cell in cells for code in re.findall(r"`([^`]+)`", cell)]
    commands = [code for code in commands if code.split()[0] in ("scope", "cargo", "for")]
    if campaign is None or len(rows) < 20 or len(commands) < len(rows):
        sys.exit("docs/reproduce.md has not the form that this script reads")
    return campaign[0], list(dict.fromkeys(commands))


def main():
    campaign, commands = documented()
    os.chdir(ROOT)
    # `scope` is the program of this checkout.
    environment = os.environ | {"PATH": f"{ROOT / 'target/release'}:{os.environ['PATH']}"}
    # Commands write new folders only.
    for folder in re.findall(r"--out (try/\S+)", " ".join(commands)):
        shutil.rmtree(folder, ignore_errors=True)
    failed = []
    for command in [campaign, *commands]:
        script = f"set -e; runs=$(ls -d try/data/paper/*/*/ 2>/dev/null || true); {command}"
        begun = time.monotonic()
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True)
        print(f"{'ok' if done.returncode == 0 else 'FAILED':6} {time.monotonic() - begun:5.1f} s  {command}", flush=True)
        if done.returncode != 0 or not done.stdout.strip() and ">/dev/null" not in command:
            print(done.stdout[-1000:], done.stderr[-1000:], sep="\n")
            failed.append(command)
    sys.exit(f"{len(failed)} of {len(commands) + 1} commands failed" if failed else 0)


main()
