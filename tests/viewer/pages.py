"""Recordings for the tests of the viewer, written as docs/recording-format.md says, without anything beyond Python itself."""

import array
import json
import math
import struct
import sys

TYPES = {"f": "F32", "i": "I32", "B": "U8"}


class Recording:
    """Examples with their items; tensors are kept as flat arrays."""

    def __init__(self):
        self.examples = []
        self.tensors = {}

    def _tensor(self, name, typecode, shape, numbers):
        values = numbers if isinstance(numbers, array.array) else array.array(typecode, numbers)
        if len(values) != math.prod(shape):
            raise ValueError(f"{name}: expected {math.prod(shape)} numbers for the shape {shape}, got {len(values)}")
        self.tensors[name] = (TYPES[typecode], shape, values)
        return name

    def example(self, id, source=(), target=(), sentences=None):
        entry = {"id": id, "source": list(source), "target": list(target), "items": []}
        if sentences:
            entry["sentences"] = sentences
        self.examples.append(entry)
        return len(self.examples) - 1

    def picture(self, example, height, width, pixels):
        channels = len(pixels) // (height * width)
        self.examples[example]["picture"] = self._tensor(f"picture.{example}", "B", [height, width, channels], pixels)

    def sound(self, example, rate, samples):
        self.examples[example]["sound"] = {"tensor": self._tensor(f"sound.{example}", "f", [len(samples)], samples), "rate": rate}

    def item(self, example, module, kind, axes, shape, weights, layer=0, heads=None, keys=None, block=None):
        """`keys`: weights are the largest of each row, [..., rows, k]; `block`: they are means of blocks; `shape` is that of all weights."""
        entry = self.examples[example]
        name = f"example.{example}.item.{len(entry['items'])}"
        held = list(shape)
        item = {"module": module, "kind": kind, "axes": list(axes), "layer": layer, "heads": heads or (shape[axes.index("head")] if "head" in axes else 1)}
        if keys is not None:
            held[-1] = len(weights) // math.prod(shape[:-1])
            item |= {"shape": list(shape), "kept": {"form": "top-k", "k": held[-1], "keys": self._tensor(name + ".keys", "i", held, keys)}}
        if block is not None:
            held[-2:] = [math.ceil(shape[-2] / block[0]), math.ceil(shape[-1] / block[1])]
            item |= {"shape": list(shape), "kept": {"form": "thumbnail", "block": list(block)}}
        item["tensor"] = self._tensor(name, "f", held, weights)
        entry["items"].append(item)

    def save(self, file):
        header, offset = {"__metadata__": {"attend.record": json.dumps({"format": 1, "examples": self.examples})}}, 0
        for name, (kind, shape, values) in self.tensors.items():
            size = len(values) * values.itemsize
            header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + size]}
            offset += size
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(file, "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            for _, _, values in self.tensors.values():
                if sys.byteorder == "big":
                    values = array.array(values.typecode, values)
                    values.byteswap()
                out.write(values.tobytes())
        return str(file)


def softened(scores):
    exponentials = [math.exp(score) for score in scores]
    total = sum(exponentials)
    return [value / total for value in exponentials]


def alignment(heads, rows, columns):
    """[heads, rows, columns], each row a soft diagonal that sums to 1; the heads differ in how sharp it is."""
    weights = []
    for head in range(heads):
        for r in range(rows):
            centre = (r + 0.5) / max(1, rows) * columns - 0.5
            weights += softened([-abs(c - centre) * (0.6 + 0.5 * head) for c in range(columns)])
    return weights


SOURCE = ["The", "committee", "has", "not", "yet", "decided", "whether", "to", "publish", "it", "."]
TARGET = ["Das", "Komitee", "hat", "noch", "nicht", "entschieden", ",", "ob", "es", "veröffentlicht", "wird", "."]
SCRIPT_TOKEN = "<script>alert(1)</script>"
LONG_TOKEN = "long" + "word" * 2499  # 10,000 characters
STRANGE_SOURCE = ["שלום", "עולם", "مرحبا", "注意力", "機構", "👩‍👩‍👧", "e\u0301", "a b", " ", "\t", SCRIPT_TOKEN, LONG_TOKEN, "\u202etxt.exe", ""]
STRANGE_TARGET = ["peace", "world", "hello", "attention", "&lt;b&gt;", "\"quoted\"", "'", SCRIPT_TOKEN]

# Examples of small() by what they show.
WORDS, STRANGE, EMPTY, SINGLE, MISSING, TOP, THUMBNAIL, BARE = range(8)


def small(file):
    """Eight small examples: see the names above."""
    record = Recording()
    attention = ("decoder.attention", "alignment", ["head", "target", "source"])
    e = record.example("committee", SOURCE, TARGET)
    record.item(e, *attention, [3, len(TARGET), len(SOURCE)], alignment(3, len(TARGET), len(SOURCE)))
    record.item(e, "encoder.layers.2.attention", "self", ["head", "source", "source"], [2, len(SOURCE), len(SOURCE)],
                alignment(2, len(SOURCE), len(SOURCE)), layer=2)
    e = record.example("strange " + SCRIPT_TOKEN, STRANGE_SOURCE, STRANGE_TARGET)
    record.item(e, *attention, [1, len(STRANGE_TARGET), len(STRANGE_SOURCE)], alignment(1, len(STRANGE_TARGET), len(STRANGE_SOURCE)))
    e = record.example("empty")
    record.item(e, *attention, [1, 0, 0], [])
    e = record.example("single", ["a"], ["b"])
    record.item(e, *attention, [1, 1, 1], [1])
    e = record.example("not a number", SOURCE[:4], TARGET[:3])
    record.item(e, *attention, [2, 3, 4], [0.25, 0.25, 0.25, 0.25, math.nan, math.nan, math.nan, math.nan, 0, 0.5, math.nan, 0.5] + [0.25] * 12)
    e = record.example("top", SOURCE, TARGET)
    rows = [sorted(enumerate(row), key=lambda pair: -pair[1])[:3] for row in
            (alignment(1, len(TARGET), len(SOURCE))[r * len(SOURCE):(r + 1) * len(SOURCE)] for r in range(len(TARGET)))]
    record.item(e, *attention, [1, len(TARGET), len(SOURCE)], [w for row in rows for _, w in row], keys=[c for row in rows for c, _ in row])
    e = record.example("thumbnail", [f"s{i}" for i in range(100)], [f"t{i}" for i in range(90)])
    record.item(e, *attention, [1, 90, 100], [(1 if r == c else 0.05) / 10 for r in range(9) for c in range(10)], block=[10, 10])
    record.example("bare", ["no"], ["items"])
    return record.save(file)


def none(file):
    """No examples at all."""
    return Recording().save(file)


def large(file, n=2048):
    """One map of n × n: a soft diagonal, and a single weight of 0.9 far off it in row 100, column 1900 (for n = 2048)."""
    record = Recording()
    tokens = [f"tok{i}" for i in range(n)]
    e = record.example("large", tokens, tokens)
    curve = array.array("f", (0.02 * math.exp(-abs(d) / 40) for d in range(-n + 1, n)))
    weights = array.array("f")
    for r in range(n):
        weights.extend(curve[n - 1 - r:2 * n - 1 - r])
    weights[100 * n + n * 1900 // 2048] = 0.9
    record.item(e, "encoder.layers.0.attention", "self", ["head", "source", "source"], [1, n, n], weights)
    return record.save(file)


def deep(file, layers=24, heads=16, tokens=512, k=8):
    """layers × heads maps of tokens × tokens, the k largest of each row; each head looks back by a distance of its own."""
    record = Recording()
    e = record.example("deep", [f"word{i}" for i in range(tokens)])
    for layer in range(layers):
        keys, weights = array.array("i"), array.array("f")
        for head in range(heads):
            share = softened([-j * (0.2 + head / 8) for j in range(k)])
            step, back = 1 + layer, head * 8
            for r in range(tokens):
                keys.extend((r - back - j * step) % tokens for j in range(k))
                weights.extend(share)
        record.item(e, f"encoder.layers.{layer}.self_attention", "self", ["head", "source", "source"], [heads, tokens, tokens], weights, layer=layer, keys=keys)
    return record.save(file)


def pairs(file, n=400):
    """One alignment of n × n tokens, for the links."""
    record = Recording()
    e = record.example("pairs", [f"source{i}" for i in range(n)], [f"target{i}" for i in range(n)])
    record.item(e, "decoder.attention", "alignment", ["head", "target", "source"], [2, n, n], alignment(2, n, n))
    return record.save(file)


RAMP = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]


def ramp(file):
    """One row with weights from 0 to 1, and NaN."""
    record = Recording()
    weights = RAMP + [math.nan]
    e = record.example("ramp", [f"c{i}" for i in range(len(weights))], ["r"])
    record.item(e, "ramp", "alignment", ["head", "target", "source"], [1, 1, len(weights)], weights)
    return record.save(file)
