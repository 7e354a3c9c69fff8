#!/usr/bin/env python3
"""Writes THIRD-PARTY-LICENCES and python/THIRD-PARTY-LICENCES: the licences of all crates linked into the program and
into the Python package, and of files embedded in their pages.

    .ci/licences.py           write the files
    .ci/licences.py --check   fail if a file is out of date

All features on all platforms count, but not crates that only builds or tests use. If a crate offers several
licences, the first in `PREFERRED` applies. Texts are those in the crates' sources; a crate without one gets that of
another crate.
"""

import json
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What is distributed: the folder of its crate, which also has the file.
DISTRIBUTED = [ROOT, ROOT / "python"]
NAME = "THIRD-PARTY-LICENCES"
# The licences that deny.toml allows, those with the fewest duties and texts first.
PREFERRED = ["Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "Zlib", "BSL-1.0", "Unicode-3.0", "Unlicense", "CC0-1.0"]
# A part of the name of a licence's file, and words of its text.
SIGNS = {
    "Apache-2.0": ("apache", "Apache License"),
    "MIT": ("mit", "Permission is hereby granted, free of charge"),
    "BSD-2-Clause": ("bsd", "Redistribution and use in source and binary forms"),
    "BSD-3-Clause": ("bsd", "Redistribution and use in source and binary forms"),
    "Zlib": ("zlib", "This software is provided 'as-is'"),
    "BSL-1.0": ("boost", "Boost Software License"),
    "Unicode-3.0": ("unicode", "UNICODE LICENSE V3"),
    "Unlicense": ("unlicense", "released into the public domain"),
    "CC0-1.0": ("cc0", "CC0 1.0 Universal"),
}


def linked_crates(folder):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    # First without the network: the required crates are present after a build.
    for attempt in (["--offline"], []):
        done = subprocess.run(command + attempt, cwd=folder, capture_output=True, text=True)
        if done.returncode == 0:
            break
    else:
        sys.exit(done.stderr)
    metadata = json.loads(done.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    found, queue = set(), [root]
    while queue:
        for dependency in nodes[queue.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            is_macro = any("proc-macro" in target["kind"] for target in packages[dependency["pkg"]]["targets"])
            if is_linked and not is_macro and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                queue.append(dependency["pkg"])
    # Crates of this workspace have no external source.
    others = (packages[package] for package in found if packages[package]["source"] is not None)
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def chosen(package):
    """The licences that apply: the preferred one of each choice."""
    expression = (package["license"] or "").replace("/", " OR ")
    parts = [part.strip("() ") for part in expression.split(" AND ")]
    picked = []
    for part in parts:
        options = [option.strip() for option in part.split(" OR ")]
        known = [licence for licence in PREFERRED if licence in options]
        if not known:
            sys.exit(f"{package['name']}: none of {PREFERRED} is in its licence `{package['license']}`")
        picked.append(known[0])
    return picked


def text_of(package, licence):
    """The licence's text in the sources of a crate. None if it has none."""
    folder = pathlib.Path(package["manifest_path"]).parent
    name, words = SIGNS[licence]
    files = sorted(path for path in folder.iterdir() if re.match(r"(?i)(licen[cs]e|copying|unlicense)", path.name) and path.is_file())
    files.sort(key=lambda path: name not in path.name.lower())
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if words.lower() in text.lower():
            # The text after the terms of Apache's licence is an example.
            text = re.split(r"(?<=END OF TERMS AND CONDITIONS)", text)[0]
            return "\n".join(line.rstrip() for line in text.strip().splitlines())
    return None


def document(folder):
    texts, without = {}, []
    for package in linked_crates(folder):
        name = f"{package['name']} {package['version']}"
        for licence in chosen(package):
            text = text_of(package, licence)
            if text is None:
                without.append((licence, name))
                continue
            # Texts that only differ in spaces are the same.
            key = (licence, re.sub(r"\s+", " ", text))
            texts.setdefault(key, (text, []))[1].append(name)
    for licence, name in without:
        most = max((entry for (of, _), entry in texts.items() if of == licence), key=lambda entry: len(entry[1]), default=None)
        if most is None:
            sys.exit(f"{name}: no crate has the text of {licence}")
        most[1].append(name)
    assets = {"font of charts and pages": "fonts/LICENSE-Apache-2.0.txt", "curves of the page (uPlot)": "uplot/LICENSE"}
    parts = [
        "fleetsim is distributed under the Apache License 2.0 (see LICENSE). It contains the works below.\n"
        "This file is written by .ci/licences.py."
    ]
    for (licence, _), (text, names) in sorted(texts.items(), key=lambda item: (item[0][0], item[1][1])):
        crates = textwrap.fill(f"{licence}: {', '.join(sorted(names))}", 100, break_on_hyphens=False)
        parts.append(f"{crates}\n\n{text}")
    for what, path in assets.items():
        parts.append(f"The {what}\n\n{(ROOT / 'crates/report/assets' / path).read_text(encoding='utf-8').strip()}")
    return ("\n\n" + "=" * 80 + "\n").join(parts) + "\n"


def main():
    for folder in DISTRIBUTED:
        text = document(folder)
        file = folder / NAME
        if "--check" not in sys.argv[1:]:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            sys.exit(f"{file.relative_to(ROOT)} is out of date; run .ci/licences.py")


if __name__ == "__main__":
    main()
