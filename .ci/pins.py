"""Write requirements-dev.txt: every pin of constraints.txt but torch, with the hashes that the index gives (make pins).

torch is left out because its wheel differs by index (CPU, CUDA); what only [dev-all] needs stands below a line that
says so in constraints.txt, and is left out too. Hashes are those of the source and of the wheels for CPython 3.11 to
3.13 on the usual systems.
"""

from __future__ import annotations

import os
import re
import sys
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
WITHOUT = ("torch",)
MORE = "# for [dev-all] alone"
LINK = re.compile(r'href="[^"]*?/?([^/"#]+)#sha256=([0-9a-f]{64})"')
UNUSUAL = re.compile(
    r"musllinux|-pp\d|-cp(?:2\d|3[6-9]|310|314|315)t?-cp|-cp31\dt?-cp31\dt-|win32|win_arm64|i686|ppc64|s390x|armv7l|riscv64"
)


def pins(text: str) -> dict[str, str]:
    """Names and versions above the line for [dev-all], but those that are left out."""
    lines = text.split(MORE)[0].splitlines()
    return {name: v for name, _, v in (x.strip().partition("==") for x in lines) if v and name not in WITHOUT}


def hashes(name: str, version: str) -> list[str]:
    """The hashes of a version's files, by the index's page."""
    with urllib.request.urlopen(f"{INDEX}/{re.sub(r'[-_.]+', '-', name).lower()}/", timeout=60) as page:
        links = LINK.findall(page.read().decode())
    of_version = re.compile(rf".*[-_]{re.escape(version)}(?:-.*|\.tar\.gz|\.zip)")
    chosen = {digest for file, digest in links if of_version.fullmatch(file) and not UNUSUAL.search(file)}
    if not chosen:
        sys.exit(f"{INDEX} has no hashes for {name}=={version}")
    return sorted(chosen)


def main() -> None:
    """Write the file."""
    lines = ["# Written by `make pins` from constraints.txt; `make install` installs it with --require-hashes."]
    for name, version in pins((ROOT / "constraints.txt").read_text()).items():
        lines.append(" \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{x}" for x in hashes(name, version))]))
    (ROOT / "requirements-dev.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
