"""Write the type stubs of the package from the registry: ``python stubs.py``.

A test compares the stubs with the output of this script.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from opendp_rs import _names, _signatures, _types, prelude

FOLDER = Path(__file__).parent / "python" / "opendp_rs"
CLASSES = {
    "domain": "Domain",
    "metric": "Metric",
    "measure": "Measure",
    "transformation": "Transformation",
    "measurement": "Measurement",
    "function": "Function",
    "odometer": "Odometer",
}
OBJECTS = ", ".join(f"{name} as {name}" for name in sorted(CLASSES.values()))
HEAD = """# Written by stubs.py from the registry. Do not edit.
from typing import Any, Callable, Collection, Sequence

from ._native import {objects}
from ._partial import Partial

"""
TREES = "\ndef choose_branching_factor(size_guess: int) -> int: ...\n"
DEBIAS = """
def debias_randomized_response_bitvec(answers: Sequence[Any], f: float) -> list[float]: ...
"""
EXACT = {
    "bool": "bool",
    "String": "str",
    "AnyMeasurement": "Measurement",
    "AnyTransformation": "Transformation",
    "AnyMeasure": "Measure",
}


def python_type(name: str) -> str:
    """Return the Python type of an argument. ``name`` is its type in the registry."""
    head, _, rest = name.partition("<")
    inside = rest[:-1]
    if name in EXACT:
        return EXACT[name]
    if re.fullmatch(r"[iu](8|16|32|64|128|size)|IBig", name):
        return "int"
    if name in ("f32", "f64", "Scale", "Alpha", "Temperature", "Probability"):
        return "float"
    if head == "Option":
        return f"{python_type(inside)} | None"
    if head == "Vec":
        # An array of numpy or a column of Polars is no `Sequence`, but a `Collection`.
        items = python_type(inside)
        plain = items in ("bool", "float", "int", "str")
        return f"{'Collection' if plain else 'Sequence'}[{items}]"
    if head == "Bounds":
        inner = python_type(inside)
        return f"tuple[{inner}, {inner}]"
    for kind in ("Measurement", "Odometer"):
        if head == kind:
            return kind
    for kind, ends in {"Domain": "Domain", "Metric": "Distance", "Measure": "Divergence"}.items():
        if head.endswith(ends) and name != "AnyDistance":
            return kind
    if head in ("AnyFunction", "StabilityMap", "PrivacyMap"):
        return "Callable[..., Any]"
    return "Any"


def annotation(family: dict[str, Any], name: str) -> str:
    """Return the Python type of an argument."""
    for parameter in family["parameters"]:
        if parameter["name"] == name:
            types = sorted({python_type(of) for of in parameter["types"]})
            # A parameter that accepts a float also accepts a whole number.
            types = [of for of in types if not (of == "int" and "float" in types)]
            return "Any" if "Any" in types else " | ".join(types)
    if name.endswith("_domain"):
        return "Domain"
    if name.endswith("_metric"):
        return "Metric"
    return "Any"


def declaration(attribute: str, name: str) -> str:
    """Return the declaration of a function."""
    family = _names.describe(name)
    partial = attribute.startswith("then_") and any(
        parameter["name"] == "input" for parameter in family["parameters"]
    )
    arguments = []
    for parameter in _signatures.signature(family, partial).parameters.values():
        text = f"{parameter.name}: {annotation(family, parameter.name)}"
        if parameter.default is not inspect.Parameter.empty:
            if parameter.default is None and "None" not in text and not text.endswith(": Any"):
                text += " | None"
            text += " = ..."
        arguments.append(text)
    result = "Partial" if partial else CLASSES[family["kind"]]
    # The first paragraph is the summary. It can have several lines.
    head = family["documentation"].partition("\n\n")[0].strip().replace("\n", "\n    ")
    doc = f'    """{head}"""' if head else "    ..."
    return f"def {attribute}({', '.join(arguments)}) -> {result}:\n{doc}\n"


def module(accept: Any) -> str:
    """Return the stub of a module of constructors."""
    found = [(attribute, _names.find(attribute)) for attribute in _names.attributes(accept)]
    return HEAD.format(objects=OBJECTS) + "\n".join(
        declaration(attribute, name) for attribute, name in found if name is not None
    )


def top() -> str:
    """Return the stub of the prelude."""
    source = (FOLDER / "prelude.py").read_text()
    imports = source[source.index("from . import _errors") : source.index("TYPE_CHECKING")]
    public = re.sub(r"^from \. import _.*\n", "", imports)
    public = re.sub(r"\n    (\w+),", r"\n    \1 as \1,", public)
    public = re.sub(r"import (\w+(?:, \w+)*)$", _again, public, flags=re.M)
    lines = [
        module(_names.at_top),
        public,
        "t = transformations",
        "m = measurements",
        "c = combinators",
        "OpenDPException = OpenDPError",
        "UnknownTypeException = OpenDPError",
        "from ._types import TypeHead",
        "",
        *(f"{name}: str" for name in _types.NAMES),
        *(f"{head}: TypeHead" for head in _types.HEADS),
        *(
            f"class {error.__name__}(OpenDPError): ..."
            for error in prelude._errors._CLASSES.values()
        ),
        "",
        "def enable_features(*features: str) -> None: ...",
        "def disable_features(*features: str) -> None: ...",
        "def assert_features(*features: str) -> None: ...",
        "def serialize(dp_obj: Any) -> str: ...",
        "def deserialize(dp_json: str | bytes) -> Any: ...",
        "def new_privacy_profile(curve: Callable[[float], float]) -> PrivacyProfile: ...",
        "def describe(name: str) -> dict[str, Any]: ...",
        "def names() -> list[str]: ...",
        "def __getattr__(attribute: str) -> Any: ...",
    ]
    return "\n".join(lines) + "\n"


def _again(found: re.Match[str]) -> str:
    return "import " + ", ".join(f"{name} as {name}" for name in found[1].split(", "))


def stubs() -> dict[str, str]:
    """Return all stubs by the names of their files."""
    return {
        "transformations.pyi": module(_names.in_transformations) + TREES,
        "measurements.pyi": module(_names.in_measurements) + DEBIAS,
        "combinators.pyi": module(_names.in_combinators),
        "prelude.pyi": top(),
    }


if __name__ == "__main__":
    for name, text in stubs().items():
        (FOLDER / name).write_text(text)
