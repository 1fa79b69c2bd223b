"""A flame graph as an SVG: nothing in it moves, a pointer that rests on a call is told its name and share.

Calls stand on whoever has called them, as wide as their share of the processor's time, in alphabetic order. A call has
the colour of its part, and one that works for another that one's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape

from benchmarks.flame.parts import OTHER, PARTS, part_of_call, shares
from benchmarks.flame.stacks import Frame, Stack

WIDTH, ROW, LETTER = 1200.0, 16, 6.8
"""Of the drawing, of a row, and of a letter as wide as most, in pixels."""
LEGEND_LETTER = 6.2
"""Of one in plain words, which have many narrow ones."""
LEAST_WIDTH = 1.2
"""What is narrower is left out, a thousandth of all."""
LEAST_LETTERS = 4
COLOURS = dict(zip(PARTS, ("#7fb3d5", "#f5b041", "#ec7063", "#c39a6b", "#82c99b", "#bb9fd6", "#c8c8c8"), strict=True))
STYLE = "text{font:11px sans-serif}rect{stroke:#fff;stroke-width:.5}"


@dataclass
class Call:
    """A frame with all that it has called, and the seconds of both."""

    frame: Frame
    part: str
    seconds: float = 0.0
    calls: dict[Frame, Call] = field(default_factory=dict)

    def called(self, frame: Frame) -> Call:
        """The same call again if it was made before."""
        if frame not in self.calls:
            self.calls[frame] = Call(frame, part_of_call(frame) or self.part)
        return self.calls[frame]


def flame_graph(stacks: Mapping[Stack, float], title: str) -> str:
    """The whole drawing."""
    root = grown(stacks)
    boxes = list(_boxes(root, root.seconds, 0.0, 0))
    height = (max(depth for *_, depth in boxes) + 5) * ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height}" width="{WIDTH:.0f}">',
        f"<style>{STYLE}</style>",
        f'<rect width="100%" height="100%" fill="#fff"/><text x="4" y="14">{escape(title)}</text>',
        *_legend(shares(stacks)),
        *(_drawn(call, root.seconds, x, height - (depth + 1) * ROW) for call, x, depth in boxes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def grown(stacks: Mapping[Stack, float]) -> Call:
    """All stacks as one tree, below a call that stands for all."""
    root = Call(Frame("all"), OTHER)
    for stack, seconds in stacks.items():
        call = root
        call.seconds += seconds
        for frame in stack:
            call = call.called(frame)
            call.seconds += seconds
    return root


def _boxes(call: Call, whole_seconds: float, x: float, depth: int) -> Iterator[tuple[Call, float, int]]:
    if _width(call, whole_seconds) < LEAST_WIDTH:
        return
    yield call, x, depth
    for inner in sorted(call.calls.values(), key=lambda one: str(one.frame)):
        yield from _boxes(inner, whole_seconds, x, depth + 1)
        x += _width(inner, whole_seconds)


def _width(call: Call, whole_seconds: float) -> float:
    return WIDTH * call.seconds / whole_seconds


def _legend(percents: Mapping[str, float]) -> Iterable[str]:
    x = 4.0
    for part, percent in percents.items():
        text = f"{part} {percent:.1f} %"
        yield f'<rect x="{x:.0f}" y="22" width="10" height="10" fill="{COLOURS[part]}"/>'
        yield f'<text x="{x + 14:.0f}" y="31">{text}</text>'
        x += LEGEND_LETTER * len(text) + 30


def _drawn(call: Call, whole_seconds: float, x: float, y: int) -> str:
    width = _width(call, whole_seconds)
    title = f"{call.frame}: {100 * call.seconds / whole_seconds:.1f} %, {call.seconds:.2f} s"
    drawn = f'<g><title>{escape(title)}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW}"'
    return f'{drawn} fill="{COLOURS[call.part]}"/>{_label(call.frame, width, x, y)}</g>'


def _label(frame: Frame, width: float, x: float, y: int) -> str:
    """As much of the function's name as there is room for."""
    letters = int((width - 4) / LETTER)
    if letters < LEAST_LETTERS:
        return ""
    name = frame.function if len(frame.function) <= letters else f"{frame.function[: letters - 1]}…"
    return f'<text x="{x + 2:.1f}" y="{y + 12}">{escape(name)}</text>'
