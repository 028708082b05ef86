"""Stop files and functions from growing beyond what a reader can hold."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

LONGEST_FILE = 400
LONGEST_FUNCTION = 50


def complaints(path: Path) -> list[str]:
    """What is too long in a file."""
    text = path.read_text()
    count = text.count("\n")
    found = [f"{path}: {count} lines, at most {LONGEST_FILE}"] if count > LONGEST_FILE else []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > LONGEST_FUNCTION:
                found.append(
                    f"{path}:{node.lineno}: {node.name} has {length} lines, at most {LONGEST_FUNCTION}"
                )
    return found


def main() -> int:
    """Print all complaints; 1 if there are any."""
    root = Path(__file__).parent.parent
    files = [
        file
        for folder in ("src", "proof", "tests", "benchmarks", "examples", "tools")
        for file in (root / folder).rglob("*.py")
    ]
    found = [line for file in sorted(files) for line in complaints(file)]
    print("\n".join(found) or f"{len(files)} files, none too long")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
