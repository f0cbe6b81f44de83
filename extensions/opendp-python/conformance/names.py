"""List the public names of OpenDP 0.16 that this package lacks. OpenDP must be installed.

    pip install opendp==0.16.0 numpy ./extensions/opendp-python
    python extensions/opendp-python/conformance/names.py

The program compares the prelude, its three modules of constructors and the methods of objects. The
exit status is 1 if this file lists no reason for a missing name, or for a function with other
parameters.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from typing import Any

import opendp.combinators
import opendp.context
import opendp.core
import opendp.domains
import opendp.measurements
import opendp.measures
import opendp.metrics
import opendp.mod
import opendp.prelude as theirs
import opendp.transformations
import opendp_rs.prelude as ours

MODULES = {
    "t": opendp.transformations,
    "m": opendp.measurements,
    "c": opendp.combinators,
}
CLASSES = (
    "Transformation Measurement Odometer Function Domain Metric Measure Queryable "
    "OdometerQueryable PrivacyProfile Context Query"
).split()

# A pattern of names, and the reason why these names are missing.
REASONS = [
    (r".*(lazyframe|_expr|series|margin|LazyFrame|Series|Expr).*", "needs lazy frames of Polars"),
    (r".*(_id_distance|IdDistance|frame_distance|FrameDistance|polars).*", "needs lazy frames of Polars"),
    (r"(array|categorical|datetime|enum)_domain", "needs lazy frames of Polars"),
    (r"(domain|metric|measure)_(type|debug|carrier_type|distance_type)", "a property of the object"),
    (r".*distance_type", "a name for callers in C: `map` reads and returns plain numbers"),
    (r"numpy|np|sklearn|mbi|ibis|polars|pl|examples|len|DataFrame", "extras, which are not constructors"),
    (
        r"get_.*|parse_or_infer|pass_through|RuntimeType.*|ATOM_EQUIVALENCE_CLASSES"
        r"|Carrier|GenericAlias|Hashable|NDArray|SensitivityMetric|.*Ptr|import_optional_dependency"
        r"|as_array|GLOBAL_FEATURES",
        "an inner function or type of their bindings",
    ),
    (r"Any|Optional|Sequence|Type|TypeAlias|Union|annotations|re|typing", "a name of Python"),
    (r"AtomDomain|OptionDomain|VectorDomain|.*Extrinsic.*|ApproximateDivergence|cast", "a class of one kind of domain or measure, or a cast to such a class"),
    (r"Chain|PartialChain|register|new_with", "a part of `Query`: `binary_search_chain` and `dp.t` do the same"),
    (r"contents|value|query_type", "an address in memory"),
    (r"queryable|accountant|query_space", "an inner field of a context"),
]


def public(value: Any) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}


def missing() -> list[tuple[str, str]]:
    """Return pairs: the module or class that lacks a name, and the missing name."""
    found = [("prelude", name) for name in public(theirs) - public(ours)]
    for name, module in MODULES.items():
        listed = {one for one in module.__all__ if not one.startswith("_")}
        found += [(name, one) for one in listed - public(getattr(ours, name))]
    for name in CLASSES:
        theirs_has = public(getattr(theirs, name, None) or getattr(opendp.mod, name))
        found += [(name, one) for one in theirs_has - public(getattr(ours, name))]
    return sorted(found)


# The functions whose first parameters have other names, and the reason.
OTHER_PARAMETERS = {
    "make_identity": "it takes `input_domain` and `input_metric`, as all constructors do",
    "option_domain": "`D` is known from the element domain",
    "make_create_dataframe": "it takes an input space",
    "make_select_column": "it takes an input space",
    "make_split_dataframe": "it takes an input space",
    "make_split_records": "it takes an input space",
    "make_split_lines": "it takes an input space",
    "make_subset_by": "it takes an input space",
}


def parameters() -> list[str]:
    """Return the functions with other first parameters than in OpenDP, if no reason is listed."""
    described = [opendp.domains, opendp.metrics, opendp.measures]
    places = [(module, getattr(ours, name)) for name, module in MODULES.items()]
    found = []
    for module, here in [*places, *((module, ours) for module in described)]:
        for name in module.__all__:
            if name.startswith("_") or not hasattr(here, name):
                continue
            wanted = list(inspect.signature(getattr(module, name)).parameters)
            taken = list(inspect.signature(getattr(here, name)).parameters)
            known = name in OTHER_PARAMETERS or f"make_{name[5:]}" in OTHER_PARAMETERS
            if taken[: len(wanted)] != wanted and not known:
                found.append(f"{name}: theirs {wanted}, ours {taken}")
    return found


def main() -> int:
    """Print each missing name with its reason, and the functions with other parameters."""
    names, unexplained, counts = missing(), [], Counter[str]()
    for place, name in names:
        why = next((why for pattern, why in REASONS if re.fullmatch(pattern, name)), None)
        counts[why or "no reason"] += 1
        print(f"{place:18} {name:36} {why or 'NO REASON'}")
        if why is None:
            unexplained.append((place, name))
    print()
    for why, count in counts.most_common():
        print(f"{count:4} {why}")
    shared = len(public(theirs) & public(ours))
    print(f"{shared} names of the prelude are in both; {len(unexplained)} names are missing without a reason")
    others = parameters()
    print(f"{len(others)} functions have other parameters without a reason")
    print("\n".join(others))
    return 1 if unexplained or others or shared < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
