#!/usr/bin/env python3
"""Measures the source code: sizes, repeated type names, import cycles, and code that only replays need.

usage: .ci/house.py [COMMIT ...]      no commit: the work tree and the baseline, f82c250
       .ci/house.py --details [...]   also lists every repeated type name with its files

How each number is counted: "code" is every file in src/ and crates/*/src without tests: no `tests/` folders, no
`tests.rs`, `testing.rs` or `synthetic.rs`, and no item under `#[cfg(test)]`.

types      Names of structs, enums, traits and type aliases that are defined more than once in code.
           Associated types of traits and impls do not count.
functions  Lines from `fn` to its closing brace, both included. Functions without a body do not count.
files      All lines of a source file; only this row also counts tests and test files.
lines      All lines of code, and code lines: those that are neither blank nor only a comment.
circles    Files of one room (a folder or file directly below src/) that import each other. An import is a `super::`,
           `self::`, `crate::` path or a `use` of one; a name that a `mod.rs` re-exports counts as an import of its
           definition's file. A `mod.rs` is left out here, because it declares its children and they may use it.
agendas    Fields in products/ and sim/ that order steps by time outside the engine's queue: `agenda`, or a map from time.
clients    Types with an optional rate limit, like that of a client.
back-offs  Files that define client-go's maximum wait of 1,000 s.
replays    Occurrences of the patterns below: fields and branches that only a replay of a recording needs.
"""

import io
import re
import statistics
import subprocess
import sys
import tarfile
from collections import defaultdict
from pathlib import Path

BASELINE = "f82c250"
ROOT = Path(__file__).resolve().parent.parent
TEST_FILES = {"tests.rs", "testing.rs", "synthetic.rs"}
AGENDA = re.compile(r"^ +(?:pub(?:\([^)]*\))? )?(?:agenda: BTreeMap<|\w+: BTreeMap<\(SimTime)", re.M)
CLIENT_LIMIT = re.compile(r"Option<\[?Reservations\b")
LONGEST_WAIT = re.compile(r"= SimDuration::from_secs\(1_?000\);")
FOR_REPLAYS = [
    r"\bpub between_writes:",
    r"\bconst INSTANT: SimDuration",
    r"DurationModel::Constant\(_\) => now",
    r"\bends_last:",
    r"\bnow \+ INSTANT\b",
    r"\bmod requeues;",
]


def git(*arguments):
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout


def sources(commit):
    """Maps each path below src/, as if in one crate, to its text in a commit or (None) in the work tree."""
    if commit is None:
        files = [*(ROOT / "src").rglob("*.rs"), *(ROOT / "crates").glob("*/src/**/*.rs")]
        texts = {str(file.relative_to(ROOT)): file.read_text() for file in files}
    else:
        folders = [name for name in ("src", "crates") if git("ls-tree", commit, name)]
        with tarfile.open(fileobj=io.BytesIO(git("archive", commit, *folders))) as archive:
            files = [member for member in archive if member.name.endswith(".rs")]
            texts = {member.name: archive.extractfile(member).read().decode() for member in files}
    found = {}
    for path, text in texts.items():
        if (place := in_library(path)) is not None:
            found[place] = as_one_crate(path, text)
    return dict(sorted(found.items()))


# Crates whose root is a module of the library, and those of their modules that are also modules of the library.
ROOTS = {"units": ("units", {"io", "stats"}), "rollout": ("rollout", set())}
CRATE = re.compile(r"crates/(\w+)/src/(.*)")


def in_library(path):
    """The path of a file below src/ if the library were one crate; None for tests and roots of crates."""
    if path.startswith("src/"):
        return path.removeprefix("src/")
    if not (match := CRATE.fullmatch(path)):
        return None
    crate, below = match.groups()
    root, beside = ROOTS.get(crate, (None, set()))
    if below == "lib.rs":
        return f"{root}/mod.rs" if root else None
    return below if root is None or below.split("/")[0] in beside else f"{root}/{below}"


def as_one_crate(path, text):
    """The text with the paths of all crates rewritten to those of one crate."""

    def rebased(crate):
        root, beside = ROOTS.get(crate, (None, set()))
        return lambda match: f"crate::{match[1]}" if root is None or match[1] in beside else f"crate::{root}::{match[1]}"

    if match := CRATE.fullmatch(path):
        text = re.sub(r"\bcrate::(\w*)", rebased(match[1]), text)
    for crate in ("units", "rollout", "world", "report"):
        text = re.sub(rf"\bfleetsim_{crate}::(\w*)", rebased(crate), text)
    return text


def is_test(path):
    """Returns whether a file contains only tests."""
    return path.split("/")[-1] in TEST_FILES or "tests" in path.split("/")[:-1]


# A comment, a string, a raw string, or a character literal (not a lifetime).
LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^\n]*?|[^\\'\n])'""", re.DOTALL
)


def blanked(text):
    """The text with comments and the contents of literals replaced by spaces: same length, same lines."""
    return LITERAL.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def closing(text, opening):
    """The position at which the bracket at `opening` closes."""
    pairs = {"{": "}", "(": ")", "[": "]"}
    open_, close = text[opening], pairs[text[opening]]
    depth = 0
    for at in range(opening, len(text)):
        if text[at] == open_:
            depth += 1
        elif text[at] == close:
            depth -= 1
            if depth == 0:
                return at
    return len(text) - 1


def end_of_item(text, start):
    """The end of the item that begins at `start`: its closing brace or semicolon."""
    at = start
    while at < len(text):
        if text[at] in "([":
            at = closing(text, at)
        elif text[at] == "{":
            return closing(text, at)
        elif text[at] == ";":
            return at
        at += 1
    return len(text) - 1


class File:
    """One source file without its tests."""

    def __init__(self, path, text):
        self.path = path
        plain = blanked(text)
        drop = set()
        for match in re.finditer(r"#\[cfg\(test\)\]", plain):
            first = plain.count("\n", 0, match.start())
            last = plain.count("\n", 0, end_of_item(plain, match.end()))
            drop.update(range(first, last + 1))
        keep = lambda whole: "\n".join(line for n, line in enumerate(whole.split("\n")) if n not in drop)
        self.text, self.code = keep(text), keep(plain)

    @property
    def module(self):
        """The module's path, e.g. ("world", "registry", "host")."""
        parts = self.path.removesuffix(".rs").split("/")
        return tuple(parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts)

    @property
    def room(self):
        return self.path.split("/")[0].removesuffix(".rs")

    def lines(self):
        return len(self.text.rstrip("\n").split("\n"))

    def lines_of_code(self):
        return sum(1 for line in self.code.split("\n") if line.strip())

    def functions(self):
        """Name and length of every function with a body."""
        for match in re.finditer(r"\bfn\s+(\w+)", self.code):
            end = end_of_item(self.code, match.end())
            if self.code[end] == "}":
                yield match.group(1), self.code.count("\n", match.start(), end) + 1

    def types(self):
        """Names of types with their attributes, kind, and body (the text between its braces, or "")."""
        for match in re.finditer(r"^(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(struct|enum|trait|type)\s+(\w+)", self.code, re.M):
            end = end_of_item(self.code, match.end())
            opening = self.code.find("{", match.end(), end)
            body = self.code[opening + 1 : end] if self.code[end] == "}" and opening >= 0 else ""
            yield match.group(2), self.attributes_before(match.start()), match.group(1), body

    def attributes_before(self, start):
        """The attributes and blanked comments directly above an item."""
        above = []
        for line in reversed(self.code[:start].split("\n")[:-1]):
            if re.search(r"[;}]\s*$", line) and not line.strip().startswith("#["):
                break
            above.append(line)
        return "\n".join(above)


def fields(body):
    """Names of the fields in a struct's body, or in all struct-like variants of an enum's."""
    depthless = re.sub(r"#\[[^\]]*(?:\[[^\]]*\][^\]]*)*\]", "", body)
    # A field is alone on its line, or follows `{` or `,` in a short variant.
    return re.findall(r"(?:^|[{,])\s*(?:pub(?:\([^)]*\))?\s+)?([a-z_]\w*)\s*:(?!:)", depthless, re.M)


def repeated_types(files):
    places = defaultdict(list)
    for file in files:
        for name, *_ in file.types():
            places[name].append(file.path)
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


USE = re.compile(r"\buse\s+([^;]+);")


def expanded(tree):
    """The paths of a `use` tree: `a::{b, c::{d, e}}` -> a::b, a::c::d, a::c::e."""
    tree = tree.strip()
    opening = tree.find("{")
    if opening < 0:
        return [re.split(r"\s+as\s+", tree)[0].strip()]
    prefix, inside = tree[:opening], tree[opening + 1 : closing(tree, opening)]
    parts, depth, start = [], 0, 0
    for at, char in enumerate(inside + ","):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(inside[start:at])
            start = at + 1
    return [path for part in parts if part.strip() for path in (prefix + inner for inner in expanded(part))]


def absolute(path, file):
    """A path's parts from the crate's root, or None if it leads elsewhere."""
    parts = [part.strip() for part in path.split("::")]
    here = list(file.module)
    if parts[0] == "crate":
        return parts[1:]
    if parts[0] == "self":
        return here + parts[1:]
    if parts[0] == "super":
        while parts and parts[0] == "super":
            here, parts = here[:-1], parts[1:]
        return here + parts
    return None


def imports_of_rooms(files):
    """Maps each file to the files of its room that it imports; names that a mod.rs re-exports are followed."""
    by_module = {file.module: file for file in files}
    passed_on = {}
    for file in files:
        for match in re.finditer(r"\bpub(?:\([^)]*\))?\s+use\s+([^;]+);", file.code):
            for path in expanded(match.group(1)):
                target = absolute(path, file) or list(file.module) + path.split("::")
                passed_on[file.module + (path.split("::")[-1],)] = target

    def owner(parts):
        for _ in range(8):
            for length in range(len(parts), 0, -1):
                key = tuple(parts[:length])
                # A parent may re-export a function that has the name of its module: the path leads to the module.
                if key in by_module:
                    return by_module[key]
                if key in passed_on and list(passed_on[key]) != parts[:length]:
                    parts = list(passed_on[key]) + parts[length:]
                    break
            else:
                return None
        return None

    arrows = defaultdict(set)
    for file in files:
        paths = [path for match in USE.finditer(file.code) for path in expanded(match.group(1))]
        rest = USE.sub(" ", file.code)
        paths += re.findall(r"\b(?:super|self|crate)(?:::\w+)+", rest)
        if file.path.endswith("mod.rs"):
            continue
        for path in paths:
            parts = absolute(path, file)
            target = owner(parts) if parts else None
            if target and target is not file and target.room == file.room and not target.path.endswith("mod.rs"):
                arrows[file.path].add(target.path)
    return arrows


def circles(arrows):
    """Groups of files that import each other, directly or through others (strongly connected components)."""
    index, low, on, stack, found = {}, {}, set(), [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on.add(node)
        for target in sorted(arrows.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in on:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            group = []
            while True:
                last = stack.pop()
                on.discard(last)
                group.append(last)
                if last == node:
                    break
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return sorted(found)


def spread(values):
    values = sorted(values)
    p90 = values[min(len(values) - 1, int(0.9 * len(values)))]
    return f"{statistics.median_low(values)} / {p90} / {values[-1]}"


def measure(commit):
    texts = sources(commit)
    files = [File(path, text) for path, text in texts.items() if not is_test(path)]
    bodies = {(kind, name): body for file in files for name, _, kind, body in file.types()}
    of_rooms = lambda *rooms: sum(file.lines_of_code() for file in files if file.room in rooms)
    functions = [(length, file.path, name) for file in files for name, length in file.functions()]
    lengths = sorted(((text.count("\n"), path) for path, text in texts.items()), reverse=True)
    return {
        "files": files,
        "types": repeated_types(files),
        "circles": circles(imports_of_rooms(files)),
        "rows": {
            "type names defined more than once": len(repeated_types(files)),
            "functions: median / p90 / max lines": spread([length for length, *_ in functions]),
            "functions": len(functions),
            "files: median / p90 / max lines": spread([length for length, _ in lengths]),
            "files": len(lengths),
            "lines": sum(file.lines() for file in files),
            "code lines": sum(file.lines_of_code() for file in files),
            "code lines of products/, rollout/": of_rooms("products", "rollout"),
            "code lines of control_plane/": of_rooms("control_plane"),
            "methods of trait Controller": len(re.findall(r"\bfn \w", bodies.get(("trait", "Controller"), ""))),
            "fields of the loop": len(fields(bodies.get(("struct", "ControllerLoop"), bodies.get(("struct", "ControlPlane"), "")))),
            "private agendas": sum(len(AGENDA.findall(file.code)) for file in files if file.room in ("products", "sim")),
            "rate-limited clients": sum(bool(CLIENT_LIMIT.search(body)) for body in bodies.values()),
            "copies of back-off": sum(bool(LONGEST_WAIT.search(file.code)) for file in files),
            "for replays alone": sum(any(re.search(it, file.code) for file in files) for it in FOR_REPLAYS),
            "import circles in rooms": len(circles(imports_of_rooms(files))),
        },
        "longest": sorted(functions, reverse=True)[:5],
        "largest": lengths[:5],
    }


def main():
    arguments = sys.argv[1:]
    if any(argument in ("-h", "--help") for argument in arguments):
        print(__doc__.strip())
        return
    details = "--details" in arguments
    commits = [argument for argument in arguments if not argument.startswith("--")] or [BASELINE, None]
    found = [(commit or "work tree", measure(commit)) for commit in commits]
    width = max(len(row) for row in found[0][1]["rows"])
    print(" " * width, *(f"{name:>18}" for name, _ in found))
    for row in found[0][1]["rows"]:
        print(f"{row:<{width}}", *(f"{numbers['rows'][row]:>18}" for _, numbers in found))
    name, last = found[-1]
    print(f"\nImport circles ({name}):")
    for group in last["circles"]:
        print("  " + " <-> ".join(group))
    print(f"Longest functions ({name}):", ", ".join(f"{fn} {n} ({path})" for n, path, fn in last["longest"]))
    print(f"Largest files ({name}):", ", ".join(f"{path} {n}" for n, path in last["largest"]))
    if details:
        print(f"\nType names defined more than once ({name}):")
        for type_name, places in last["types"].items():
            print(f"  {type_name}: {', '.join(places)}")


if __name__ == "__main__":
    main()
