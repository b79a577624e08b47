"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def number(value: float | None, spec: str) -> str:
    """A number that may be absent."""
    return "–" if value is None else format(value, spec)


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], notes: Iterable[str] = ()) -> str:
    """A table as HTML; the first cell of each row is its head."""
    lines = "".join(
        f"<tr><th>{escape(str(row[0]))}</th>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row[1:]) + "</tr>" for row in rows
    )
    heads = "".join(f"<th>{escape(name)}</th>" for name in head)
    below = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return f"<table><caption>{escape(caption)}</caption><tr>{heads}</tr>{lines}</table>{below}"
