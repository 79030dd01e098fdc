"""A norm's zero-mean graph, drawn: rows from the norm up to what its mean comes from."""

from __future__ import annotations

import dataclasses
from html import escape
from typing import Any, Dict, List, Mapping, Tuple

# Class of a vertex (core/protocol/messages.h) -> fill, and what it is.
CLASSES = {
    "N": ("#ffe08a", "the norm"),
    "L": ("#cfe8d0", "its weights are centered"),
    "S": ("#dfe6f5", "keeps a zero mean"),
    "B": ("#cfe8d0", "adds a constant, which is centered"),
    "R": ("#dfe6f5", "sum of zero-mean values"),
    "Z": ("#e9f5e9", "zero-mean as it is"),
    "O": ("#f6cfc9", "nothing is known of its mean"),
    "A": ("#f7dcae", "centered at run time"),
}
BOX, HEIGHT, GAP_X, GAP_Y, MARGIN = 190, 36, 16, 26, 10


@dataclasses.dataclass(frozen=True)
class Picture:
    """A drawing; notebooks show it. svg: the whole <svg> element."""

    svg: str

    def save(self, path: Any) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<SVG drawing of {len(self.svg)} characters: .save('norm.svg') writes it>"


def draw(graph: Mapping[str, Any], region: Mapping[str, Any], title: str, most: int = 40) -> Picture:
    """graph: GraphDocument; region: ZeroMeanGraph of the norm."""
    nodes = {node["id"]: node for node in graph["nodes"]}
    vertices = [vertex for vertex in region["vertices"] if vertex["node"] in nodes]
    edges = _edges(nodes, vertices, set(region["values"]))
    depth = _depths(vertices, edges)
    shown = sorted(vertices, key=lambda vertex: depth[vertex["node"]])[:most]
    places = _places(shown, depth)
    parts = [_line(places[a], places[b]) for a, b in edges if a in places and b in places]
    parts += [_box(places[vertex["node"]], vertex, nodes[vertex["node"]]) for vertex in shown]
    return Picture(_sheet(parts, places, title, len(vertices) - len(shown)))


def _edges(nodes: Mapping[int, Any], vertices: List[Any], values: "set[int]") -> List[Tuple[int, int]]:
    """(maker, reader) of each value of the region."""
    inside = {vertex["node"] for vertex in vertices}
    makers = {value: node for node in inside for value in nodes[node]["outputs"]}
    drawn = values & makers.keys()
    pairs = ((makers[value], node) for node in sorted(inside) for value in nodes[node]["inputs"] if value in drawn)
    return list(dict.fromkeys(pairs))


def _depths(vertices: List[Any], edges: List[Tuple[int, int]]) -> Dict[int, int]:
    """How many steps each node is away from the norm, along its shortest way."""
    makers: Dict[int, List[int]] = {}
    for maker, reader in edges:
        makers.setdefault(reader, []).append(maker)
    depth = {vertex["node"]: 0 for vertex in vertices if vertex["vertex_class"] == "N"}
    queue = list(depth)
    for node in queue:
        for maker in makers.get(node, ()):
            if maker not in depth:
                depth[maker] = depth[node] + 1
                queue.append(maker)
    last = max(depth.values(), default=0)
    return {vertex["node"]: depth.get(vertex["node"], last + 1) for vertex in vertices}


def _places(shown: List[Any], depth: Mapping[int, int]) -> Dict[int, Tuple[int, int]]:
    """Upper left corner of each box: the norm at the bottom, in the middle."""
    rows: Dict[int, List[int]] = {}
    for vertex in shown:
        rows.setdefault(depth[vertex["node"]], []).append(vertex["node"])
    widest, last = max(map(len, rows.values()), default=1), max(rows, default=0)
    places = {}
    for row, members in rows.items():
        left = MARGIN + (widest - len(members)) * (BOX + GAP_X) // 2
        for column, node in enumerate(members):
            places[node] = (left + column * (BOX + GAP_X), MARGIN + (last - row) * (HEIGHT + GAP_Y))
    return places


def _line(maker: Tuple[int, int], reader: Tuple[int, int]) -> str:
    x1, y1, x2, y2 = maker[0] + BOX // 2, maker[1] + HEIGHT, reader[0] + BOX // 2, reader[1]
    if y2 < y1:  # beside or above it
        y1, y2 = maker[1] + HEIGHT // 2, reader[1] + HEIGHT // 2
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#777" stroke-width="1.2"/>'


def _short(text: str, most: int) -> str:
    """The end of a path distinguishes more than its beginning."""
    return text if len(text) <= most else "…" + text[-(most - 1) :]


def _box(place: Tuple[int, int], vertex: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    (x, y), (fill, meaning) = place, CLASSES.get(vertex["vertex_class"], ("#eeeeee", ""))
    told = node["name"].endswith(node["label"])  # a module's name may be its op's
    name = _short(" ".join(filter(None, (node["name"], "" if told else node["label"]))), 29)
    tip = escape(f"{node['op']} {node['name']}: {vertex['note'] or meaning}")
    middle = x + BOX // 2
    return (
        f'<g><title>{tip}</title><rect x="{x}" y="{y}" width="{BOX}" height="{HEIGHT}" rx="4" fill="{fill}" stroke="#555"/>'
        f'<text x="{middle}" y="{y + 15}" text-anchor="middle" font-size="11" fill="#111">{escape(name)}</text>'
        f'<text x="{middle}" y="{y + 29}" text-anchor="middle" font-size="10" fill="#444">'
        f"{escape(_short(vertex['note'] or meaning, 34))}</text></g>"
    )


def _sheet(parts: List[str], places: Mapping[int, Tuple[int, int]], title: str, left_out: int) -> str:
    width = max((x for x, _ in places.values()), default=0) + BOX + MARGIN
    height = max((y for _, y in places.values()), default=0) + HEIGHT + MARGIN
    if left_out:
        parts = [*parts, f'<text x="{MARGIN}" y="{height + 8}" font-size="11" fill="#444">{left_out} more are not drawn</text>']
        height += 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif"><title>Zero-mean graph of {escape(title)}</title>'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>{"".join(parts)}</svg>'
    )
