"""Tables of HTML, with which notebooks show answers. All texts are escaped."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Sequence

MOST_ROWS = 100
"""The largest number of rows of a table."""
_MOST_ITEMS = 20
"""The largest number of items of a list that a cell shows."""


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[Any]], notes: Any = ()) -> str:
    """Return a table with a caption, and a paragraph for each note below the table."""
    left = len(rows) - MOST_ROWS
    notes = [*notes, *([f"{left} more rows are left out"] if left > 0 else [])]
    lines = [_row("th", head), *(_row("td", row) for row in rows[:MOST_ROWS])]
    below = "".join(f"<p>{escaped(note)}</p>" for note in notes)
    body = "".join(lines)
    return f"<table><caption>{escaped(caption)}</caption>{body}</table>{below}"


def _row(tag: str, cells: Sequence[Any]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escaped(shown(cell))}</{tag}>' for cell in cells)}</tr>"


def escaped(text: str) -> str:
    """Return a text that HTML shows as it is."""
    import html

    return html.escape(text)


def shown(value: Any, depth: int = 0) -> str:
    """Return the text of a value. A value of another package is shown as its type.

    The code of another package could show more than the value that was released.
    """
    if isinstance(value, str):
        return str.__str__(value) if depth == 0 else repr(value)
    if value is None:
        return ""
    if type(value) is float:
        return f"{value:.6g}"
    if type(value) in (int, bool):
        return str(value)
    if type(value) in (list, tuple, dict) and depth < 3:
        pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        items = []
        for i, (key, item) in enumerate(pairs):
            if i == _MOST_ITEMS:
                items.append("...")
                break
            text = shown(item, depth + 1)
            items.append(text if key is None else f"{shown(key, depth + 1)}: {text}")
        return ", ".join(items) if depth == 0 else f"({', '.join(items)})"
    return type(value).__name__
