"""A budget and questions about a table, in one document: ``Study(...).ask(table)``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from . import _html, _native
from ._cautions import cautions
from ._columns import cells_or_none, columns_by_name, misfit_of
from ._errors import of
from ._ledger import Ledger, place_of

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any


class Study:
    """A budget and questions about a table, in one document.

    The document is a dictionary, a JSON text, or a ``pathlib.Path`` to a JSON file. Everything in
    it is public, so copy nothing from the data into it. The command ``opendp ask`` answers the same
    documents. The documentation of the crate ``opendp-study`` lists all fields.

    Without a ledger, a study answers once, because its answers spend its budget. An error that may
    depend on the data also spends the budget. With a :class:`Ledger`, the answers are charged to a
    budget that remains in a file. After a charge to a ledger, the study does not answer without a
    ledger.
    """

    def __init__(self, document: Mapping[str, Any] | str | os.PathLike[str]) -> None:
        if isinstance(document, os.PathLike):
            document = Path(document).read_text(encoding="utf-8")
        elif isinstance(document, str):
            if not document.lstrip().startswith("{"):
                raise of(
                    "Argument",
                    "document: expected a JSON text that begins with `{`, or a dictionary. To read "
                    "a file, pass `pathlib.Path(...)`",
                )
        elif isinstance(document, Mapping):
            document = _with_names_of_types(document)
        self._study = _native.Study(document)
        texts = [f"`budget`: {text}" for text in cautions(*self._study.budget())]
        for name in self._study.bools_without_missing():
            texts.append(
                f"column {name!r}: a missing cell of a `bool` counts as false. State "
                '`"missing"` for this column'
            )
        if texts:
            import warnings

            for text in texts:
                warnings.warn(f"study, {text}", UserWarning, stacklevel=2)

    def __repr__(self) -> str:
        measure, loss, _ = self._study.budget()
        names = ", ".join(map(repr, self._study.columns()))
        # A loss is rounded up, so its last digits can differ from the document.
        parts = [f"{part:.6g}" for part in (loss if isinstance(loss, (tuple, list)) else (loss,))]
        amount = parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
        return f"Study(columns {names}; budget {amount} in {measure})"

    def __copy__(self) -> Study:
        # The budget of a study can be spent once, also through its copy.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a study cannot be pickled or copied deeply, because a copy could spend the same "
            "budget again; make a new `Study` of the document, and count the losses of both studies"
        )

    def rehearse(self, alpha: float = 0.05) -> Outcome:
        """Find the costs and the error bounds of the answers, without data.

        Nothing is spent. Each error bound holds with probability ``1 - alpha``.
        """
        return Outcome(*self._study.rehearse(alpha))

    def ask(
        self,
        data: Any,
        alpha: float = 0.05,
        *,
        ledger: Ledger | None = None,
        budget: str | None = None,
        id: str | None = None,
        by: str = "",
        public_types: bool = False,
    ) -> Outcome:
        """Answer all questions, and spend the budget.

        ``data`` is a dictionary of columns, or a table of pandas, Polars or pyarrow. It can have
        more columns than the study uses. The document states the types of the cells. None and NaN
        are missing cells. Spaces around a text are ignored, and an empty text is missing. A cell of
        another type is an error, which spends the budget.

        ``data`` can also be a lazy frame of Polars, a data set, a scanner or a stream of pyarrow, a
        relation of DuckDB, or a table with the method ``__arrow_c_stream__``. It runs once, after
        the charge, and only for the columns of the study. An error while it runs can depend on a
        row. So such an error is treated like a cell of another type. A stream gives its rows once,
        so a stream that was read before is an error, even if the id has kept answers.

        Each interval contains the true number with a probability of at least ``1 - alpha``. This
        probability has another meaning for counts whose keys were found in the data. Then the
        outcome has a note.

        With ``ledger``, the study is charged before the answers are returned. ``budget`` is the
        name of the budget in the ledger that pays. The charge is the budget that the study states.
        If the budget in the ledger composes tightly, the charge can be the losses of the single
        releases instead. The budget in the ledger must state the unit of the study. The answers
        are kept under ``id``, and an id is charged once. If an id has kept answers, these answers
        are returned, even in a later process, and ``data`` is not read. An id belongs to a document
        and to ``alpha``, and not to the table, because a table in memory has no name. An error that
        may depend on the data is charged, and kept under the id. ``by`` is the name of the person
        who asks. With a ledger, a study can answer several times, with several ids.

        With ``public_types=True``, a column whose type fits no cell of the document, such as a
        column of texts for ``f64``, is an error that spends nothing. This error discloses the type
        of the column. So state it only if the program fixes the types, as the schema of a Parquet
        file or ``pandas.read_csv(path, dtype=...)`` does. A type that a library inferred depends on
        the cells: one cell can turn a column of numbers or dates into a column of texts.
        """
        place = place_of(ledger, budget, id, by)
        try:
            columns = columns_by_name(data, self._study.columns(), public_types)
        except (KeyError, TypeError) as error:
            raise of("Argument", f"data: {error.args[0]}") from None
        if public_types:
            self._check_types(columns)
        if place is not None:
            return self._charged(columns, alpha, *place)
        document, text, notes = self._study.ask(_reader(columns), alpha)
        return Outcome(document, f"{text}\nnote: {_UNRECORDED}", [*notes, _UNRECORDED])

    def _check_types(self, columns: dict[str, Any]) -> None:
        """Refuse a column whose type fits no cell of the document. No cell is read."""
        # pandas stores whole numbers with missing cells as floats, and 0 and 1 are booleans.
        kinds = {"i64": "if", "f64": "if", "bool": "ifb", "String": "S"}
        for name, T in self._study.types():
            found = misfit_of(columns[name], kinds[T])
            if found is not None:
                reason = f"the document states {T}, and the type of the column is {found}"
                advice = "convert the column; nothing is spent"
                raise of("Argument", f"data: column {name!r}: {reason}; {advice}")

    def _charged(
        self,
        columns: dict[str, Any],
        alpha: float,
        ledger: _native.Ledger,
        place: tuple[str, str, str],
    ) -> Outcome:
        answered, lines, charge = self._study.ask_charged(_reader(columns), alpha, ledger, place)
        document, text, notes = answered
        text = "\n".join([text, *lines])
        return Outcome({**document, "charge": charge}, text, [*notes, *lines[:-1]])


def _reader(columns: dict[str, Any]) -> Callable[[str], Any]:
    """Return the function that reads a column. It is called after the budget is spent."""
    return lambda name: cells_or_none(columns[name])


def _with_names_of_types(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document in which the types of columns are names. The types can be Python types.

    A study has one type of whole numbers, so ``int`` is ``"i64"``.
    """
    document = dict(document)
    context = document.get("context")
    columns = context.get("columns") if isinstance(context, Mapping) else None
    if not isinstance(context, Mapping) or not isinstance(columns, Mapping):
        return document
    names = {int: "i64", float: "f64", bool: "bool", str: "String"}

    def named(column: Any) -> Any:
        if isinstance(column, type):
            return names.get(column, column.__name__)
        if isinstance(column, Mapping) and isinstance(column.get("T"), type):
            return {**column, "T": named(column["T"])}
        return column

    columns = {key: named(column) for key, column in columns.items()}
    return {**document, "context": {**context, "columns": columns}}


_UNRECORDED = (
    "no ledger has recorded these answers, and another `Study` spends its budget again; "
    "`ask(..., ledger=..., budget=..., id=...)` and `opendp ask --budget` record answers"
)


class Outcome:
    """The answers of a study, or of a rehearsal. ``print`` shows them as a table.

    The answers of a rehearsal have no values. They have only costs and error bounds.
    """

    def __init__(self, document: dict[str, Any], text: str, notes: list[str]) -> None:
        self._document, self._text = document, text
        self.notes = notes
        """Notes, for example about an answer that depends on a stated number of rows."""

    def rows(self) -> list[dict[str, Any]]:
        """Return a list for ``pandas.DataFrame(...)``: a dictionary for each released value.

        The keys are ``question``, ``label``, ``value``, ``lower`` and ``upper``. If no interval is
        known, its ends are None.
        """
        rows = []
        for answer in self._document["answers"]:
            for cell in answer["values"]:
                lower, upper = cell["interval"] or (None, None)
                row = {"question": answer["question"], "label": cell["label"]}
                ends = {"lower": _number(lower), "upper": _number(upper)}
                rows.append({**row, "value": cell["value"], **ends})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the answers, the budget and its rest, as ``opendp ask --json`` writes them.

        If the answers were charged to a ledger, ``charge`` describes the charge.
        """
        import copy

        return copy.deepcopy(self._document)

    def to_html(self) -> str:
        """Return the text of an HTML page with charts, as ``opendp ask --html`` writes it.

        The page is one file without a script. For example, write it with
        ``pathlib.Path("page.html").write_text(outcome.to_html(), encoding="utf-8")``.
        """
        return _native.outcome_page(self._document)

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        """Return a table of the answers, for notebooks."""
        rows = []
        for answer in self._document["answers"]:
            noise = _noise(answer)
            for cell in answer["values"] or [{"label": None, "value": None, "interval": None}]:
                ends = [_number(end) for end in cell["interval"] or []]
                known = [cell["label"], cell["value"], ends or None]
                rows.append([answer["question"], *known, answer["accuracy"], noise])
        level = f"{_percent(self._document['alpha'])} %"
        head = ["question", "label", "answer", f"interval ({level})", f"error ({level})", "noise"]
        spent, whole = _parts(self._document["spent"]), _parts(self._document["budget"])
        caption = f"spent: {spent} of {whole}; protected: {self._document['unit']}"
        return _html.table(caption, head, rows, self.notes)


def _noise(answer: dict[str, Any]) -> str:
    """Return the kinds of noise of an answer, with the scales or with the parameter, if known."""
    parameter, scales = answer.get("parameter"), answer["scale"]
    if parameter is not None:
        value = _html.shown(_number(parameter["value"]))
        return f"{answer['mechanism']}, {parameter['name']} {value}"
    return f"{answer['mechanism']}, scale {_html.shown(scales)}" if scales else answer["mechanism"]


def _percent(alpha: float) -> str:
    """Return the probability ``1 - alpha`` in percent. Never round it up to 100."""
    text = f"{100 - 100 * alpha:.9f}".rstrip("0").rstrip(".")
    return "more than 99.999999" if text == "100" else text


def _parts(loss: dict[str, Any]) -> str:
    """Return the text of a loss, such as ``epsilon 1, delta 1e-06``."""
    return ", ".join(f"{name} {_html.shown(amount)}" for name, amount in loss.items())


def _number(value: Any) -> Any:
    """Return the end of an interval as a number. JSON writes an infinite end as a text."""
    return float(value) if isinstance(value, str) else value
