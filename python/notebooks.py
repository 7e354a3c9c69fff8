#!/usr/bin/env python3
"""Executes the notebooks in python/examples, and copies their cells into docs/python.md.

    notebooks.py            execute, and keep the outputs in the notebooks, in docs/python.md and in docs/images/python
    notebooks.py --check    execute, and fail if an output or the page differs from what is kept

It needs the installed package and python/requirements.txt. In the page, a line `<!-- NOTEBOOK: CELL -->` is followed by
the cell with this tag and its outputs, up to the line `<!-- end -->`; a chart is an image.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent / "examples"
ROOT = FOLDER.parents[1]
PAGE = ROOT / "docs" / "python.md"
IMAGES = ROOT / "docs" / "images" / "python"
MARK = re.compile(r"(<!-- (\S+): (\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def executed(file: Path) -> Any:
    """The notebook with the outputs of a new execution, and without what differs between machines."""
    notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, timeout=1200, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}})
    client.execute()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            # Progress and warnings differ between machines.
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                output.pop("metadata", None) if output.output_type == "stream" else None
    return notebook


def text(notebook: Any) -> str:
    """The notebook as its file has it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def shown(name: str, cell: Any, images: dict[Path, str]) -> str:
    """A cell and its outputs in Markdown. Charts are added to the images."""
    parts = [f"```python\n{cell.source}\n```\n"]
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/svg+xml" in data:
            image = IMAGES / f"{name}.svg"
            images[image] = "".join(data["image/svg+xml"])
            title = re.search(r"<title>(.*?)</title>", images[image])
            parts.append(f"![{title.group(1) if title else name}](images/python/{image.name})\n")
            continue
        plain = output.get("text") or data.get("text/plain", "")
        plain = "\n".join(line.rstrip() for line in "".join(plain).splitlines())
        parts.append(f"```text\n{plain.rstrip()}\n```\n")
    return "\n".join(parts)


def page(notebooks: dict[str, Any], images: dict[Path, str]) -> str:
    """The documentation page with the cells of these notebooks."""

    def filled(match: re.Match[str]) -> str:
        begin, name, tag, end = match.groups()
        for cell in notebooks[name].cells:
            if tag in cell.metadata.get("tags", []):
                return f"{begin}{shown(f'{name}-{tag}', cell, images)}{end}"
        raise SystemExit(f"{PAGE.name}: the notebook {name} has no cell with the tag {tag}")

    return MARK.sub(filled, PAGE.read_text(encoding="utf-8"))


def main() -> None:
    files: dict[Path, str] = {}
    notebooks: dict[str, Any] = {}
    for file in sorted(FOLDER.glob("*.ipynb")):
        print(f"executing {file.name}", file=sys.stderr, flush=True)
        notebooks[file.stem] = executed(file)
        files[file] = text(notebooks[file.stem])
    images: dict[Path, str] = {}
    files[PAGE] = page(notebooks, images)
    files.update(images)
    if "--check" in sys.argv[1:]:
        different = [str(file.relative_to(ROOT)) for file, new in files.items() if not is_kept(file, new)]
        if different:
            sys.exit(f"differs from its new execution: {', '.join(different)}; run python/notebooks.py")
        return
    IMAGES.mkdir(parents=True, exist_ok=True)
    for file, new in files.items():
        file.write_text(new, encoding="utf-8")


def is_kept(file: Path, new: str) -> bool:
    return file.exists() and file.read_text(encoding="utf-8") == new


if __name__ == "__main__":
    main()
