#!/usr/bin/env python3
"""Checks the source code against rules of thumb for clear code, with ceilings that may only fall.

usage: .ci/clarity.py            all rooms with their measures and the goals
       .ci/clarity.py --check    exit code 1 if a room is above a goal and its ceiling in .ci/clarity.json
       .ci/clarity.py --lower    lowers the ceilings to the current values of the rooms
       .ci/clarity.py --worst N  the N files with the most closures, indices and bound closures together

"Code" is as in .ci/house.py: every file in src/ and crates/*/src without tests. A room is a folder or file directly below
src/, as if the library were one crate. Comments and the contents of literals do not count.

closures        Closures per 10,000 non-blank characters.
indices         Fields of tuples by number (`.0`), per 10,000 characters.
bound closures  Closures bound by a `let`, per 100 functions.
let tuples      `let (a, b) = (x, y)`; destructuring a result does not count.
p90, longest    Lines of functions, from `fn` to the closing brace.
parameters      Functions with more than five parameters in addition to `self`.
tuples          Signatures with a tuple of three or more.
empty options   `Option<()>`.
"""

import json
import re
import sys
from collections import defaultdict

import house

CEILINGS = house.ROOT / ".ci" / "clarity.json"
GOALS = {
    "closures": 15,
    "indices": 5,
    "bound closures": 3,
    "let tuples": 60,
    "p90": 35,
    "longest": 120,
    "parameters": 0,
    "tuples": 0,
    "empty options": 0,
}
MOST_PARAMETERS = 5

CLOSURE = re.compile(r"(?:[(,=\[{};:]|=>|&mut|&|\breturn|\bmove|\belse)\s*(?:move\s+)?\|(?:[^|;{}]*)\|")
INDEX = re.compile(r"\.\d+\b")
BOUND_CLOSURE = re.compile(r"\blet\s+(?:mut\s+)?\w+(?:\s*:[^=;]+)?\s*=\s*(?:&mut\s+|&)?(?:move\s+)?\|")
LET_TUPLE = re.compile(r"\blet\s*\([^=;]*?\)\s*=\s*\(")
TUPLE_OF_THREE = re.compile(r"(?<![\w>!])\((?:[^()]*,){2}[^()]*[^()\s,][^()]*\)")


def indices(code):
    """Counts fields of tuples by number, but not numbers with a fraction."""
    found = 0
    for match in INDEX.finditer(code):
        before = re.search(r"[\w.]*$", code[max(0, match.start() - 40) : match.start()]).group()
        if not re.fullmatch(r"[\d_]+", before):
            found += 1
    return found


def signatures(code):
    """The parameters of every function, and the text between its name and its body."""
    for match in re.finditer(r"\bfn\s+\w+\s*", code):
        opening = code.find("(", match.end())
        if code[match.end() : match.end() + 1] == "<":
            opening = code.find("(", end_of_generics(code, match.end()))
        closing = house.closing(code, opening)
        body = min((at for at in (code.find("{", closing), code.find(";", closing)) if at >= 0), default=len(code))
        yield parameters(code[opening + 1 : closing]), code[opening + 1 : closing] + " " + code[closing + 1 : body]


def end_of_generics(code, opening):
    """The end of the generic parameters that begin at `opening`."""
    depth = 0
    for at in range(opening, len(code)):
        if code[at] == "<":
            depth += 1
        elif code[at] == ">" and code[at - 1] not in "-=":
            depth -= 1
            if depth == 0:
                return at
    return len(code)


def parameters(inside):
    """The number of parameters without `self`."""
    depth, parts, start = 0, [], 0
    for at, char in enumerate(inside):
        if char in "([{<":
            depth += 1
        elif char in ")]}" or (char == ">" and inside[at - 1] not in "-="):
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(inside[start:at])
            start = at + 1
    parts.append(inside[start:])
    named = [part.strip() for part in parts if part.strip()]
    return sum(not re.fullmatch(r"&?\s*('\w+\s+)?(mut\s+)?self(\s*:.*)?", part) for part in named)


class Counts:
    """The counts of a room, or of one file."""

    def __init__(self):
        self.characters = 0
        self.sums = defaultdict(int)
        self.lengths = []

    def add(self, file):
        code = file.code
        self.characters += len(re.sub(r"\s", "", code))
        self.sums["closures"] += len(CLOSURE.findall(code))
        self.sums["indices"] += indices(code)
        self.sums["bound closures"] += len(BOUND_CLOSURE.findall(code))
        self.sums["let tuples"] += len(LET_TUPLE.findall(code))
        self.sums["empty options"] += code.count("Option<()>")
        self.lengths += [length for _, length in file.functions()]
        for count, text in signatures(code):
            self.sums["parameters"] += count > MOST_PARAMETERS
            self.sums["tuples"] += bool(TUPLE_OF_THREE.search(text))

    def measures(self):
        lengths = sorted(self.lengths) or [0]
        density = lambda name: round(10_000 * self.sums[name] / max(self.characters, 1), 1)
        return {
            "closures": density("closures"),
            "indices": density("indices"),
            "bound closures": round(100 * self.sums["bound closures"] / len(lengths), 1),
            "let tuples": self.sums["let tuples"],
            "p90": lengths[min(len(lengths) - 1, int(0.9 * len(lengths)))],
            "longest": lengths[-1],
            "parameters": self.sums["parameters"],
            "tuples": self.sums["tuples"],
            "empty options": self.sums["empty options"],
        }


def files():
    return [house.File(path, text) for path, text in house.sources(None).items() if not house.is_test(path)]


def rooms():
    """The measures of every room, and of all rooms together."""
    counts = defaultdict(Counts)
    for file in files():
        counts[file.room].add(file)
        counts["all"].add(file)
    return {room: counts[room].measures() for room in sorted(counts)}


def show(found):
    width = max(len(room) for room in found)
    print(" " * width, *(f"{name:>14}" for name in GOALS))
    for room, measures in [*found.items(), ("goals", GOALS)]:
        print(f"{room:<{width}}", *(f"{measures[name]:>14}" for name in GOALS))


def above_ceilings(found):
    """The measures above their ceilings; a new room has the goals as ceilings."""
    ceilings = json.loads(CEILINGS.read_text())
    for room, measures in found.items():
        for name, value in measures.items():
            ceiling = ceilings.get(room, GOALS)[name]
            # A room that meets the goal may move below it.
            if value > max(ceiling, GOALS[name]):
                yield f"{room}: {name} {value}, at most {ceiling}"


def lower(found):
    """Lowers ceilings to the current values of the rooms."""
    present = json.loads(CEILINGS.read_text()) if CEILINGS.exists() else {}
    lowered = {}
    for room, measures in found.items():
        before = present.get(room, {})
        lowered[room] = {name: min(value, before.get(name, value)) for name, value in measures.items()}
    CEILINGS.write_text(json.dumps(lowered, indent=1) + "\n")


def worst(number):
    scored = []
    for file in files():
        counts = Counts()
        counts.add(file)
        sums = counts.sums
        scored.append((sums["closures"] + sums["indices"] + sums["bound closures"], file.path, dict(sums)))
    for score, path, sums in sorted(scored, reverse=True)[:number]:
        shown = ", ".join(f"{name} {value}" for name, value in sums.items() if value)
        print(f"{score:>5}  {path}: {shown}")


def main():
    arguments = sys.argv[1:]
    if not arguments:
        show(rooms())
    elif arguments == ["--check"]:
        problems = list(above_ceilings(rooms()))
        print("\n".join(problems) or "every room is at or below its ceilings")
        sys.exit(bool(problems))
    elif arguments == ["--lower"]:
        lower(rooms())
    elif arguments[0] == "--worst":
        worst(int(arguments[1]))
    else:
        print(__doc__.strip())


if __name__ == "__main__":
    main()
