#!/usr/bin/env python3
"""Counts what a reader of the code has to get through, in commits of this repository side by side.

    scripts/checks/code-size.py [COMMIT ...]    (default: HEAD)

Lines of Rust are those of crates/*/src up to a file's unit tests and without files named tests.rs, public items the
declarations there that begin with `pub`, and test binaries what cargo links for integration tests. Needs git and
Python, and prints a table in Markdown.
"""

import re
import subprocess
import sys
from collections import defaultdict

ITEM = re.compile(r"^\s*pub (const |unsafe |async )*(fn|struct|enum|trait|type|const|static|mod|union)\b")
SOURCE = re.compile(r"^crates/[^/]+/src/(?!(.*/)?tests\.rs$).*\.rs$")
RUST = re.compile(r"^crates/.*\.rs$")
TEST = re.compile(r"^crates/([^/]+)/tests/([^/]+\.rs|[^/]+/main\.rs)$")
MANIFEST = re.compile(r"^crates/([^/]+)/Cargo\.toml$")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def files(commit: str) -> dict[str, str]:
    """The Rust files and manifests of a commit, read by one process."""
    names = git("ls-tree", "-r", "--name-only", commit, "crates").splitlines()
    names = [name for name in names if RUST.match(name) or MANIFEST.match(name)]
    wanted = "".join(f"{commit}:{name}\n" for name in names).encode()
    out = subprocess.run(["git", "cat-file", "--batch"], input=wanted, check=True, capture_output=True).stdout
    texts = {}
    for name in names:
        header, _, rest = out.partition(b"\n")
        length = int(header.split()[-1])
        texts[name] = rest[:length].decode()
        out = rest[length + 1:]
    return texts


def before_tests(text: str) -> list[str]:
    return re.split(r"^#\[cfg\(test\)\]\nmod \w+ \{", text, maxsplit=1, flags=re.MULTILINE)[0].splitlines()


def test_binaries(texts: dict[str, str]) -> int:
    """Those that manifests name, and those that cargo finds where it may look for them."""
    found = defaultdict(int)
    for name in texts:
        if match := TEST.match(name):
            found[match[1]] += 1
    count = 0
    for name, text in texts.items():
        if match := MANIFEST.match(name):
            count += text.count("[[test]]") if "autotests = false" in text else found[match[1]]
    return count


def sizes(commit: str) -> dict[str, int]:
    texts = files(commit)
    source = [line for name, text in texts.items() if SOURCE.match(name) for line in before_tests(text)]
    rust = [line for name, text in texts.items() if RUST.match(name) for line in text.splitlines()]
    return {
        "lines of Rust without tests": len(source),
        "lines of Rust with tests": len(rust),
        "public items": sum(bool(ITEM.match(line)) for line in source),
        "lines with `target_arch`": sum("target_arch" in line for line in rust),
        "test binaries": test_binaries(texts),
    }


def main() -> None:
    commits = sys.argv[1:] or ["HEAD"]
    names = [git("rev-parse", "--short", commit).strip() for commit in commits]
    columns = [sizes(commit) for commit in commits]
    print("| | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for what in columns[0]:
        print(f"| {what} | " + " | ".join(f"{column[what]:,}" for column in columns) + " |")


if __name__ == "__main__":
    main()
