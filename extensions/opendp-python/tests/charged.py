"""A study about ages, and questions that are charged to a ledger, for several tests."""

import pytest

import opendp_rs.prelude as dp

AGES = {"age": [31, 58, None] * 100}


def document(budget=1.0, unit=None, **question):
    return {
        "context": {
            "unit": unit or {"person": 1},
            "budget": {"epsilon": budget},
            "columns": {"age": {"T": "i64", "bounds": [0, 100], "missing": "drop"}},
        },
        "questions": [question or {"count": {}}, {"sum": {"column": "age"}}],
    }


def ask(ledger, id="first", data=AGES, asked=None, alpha=0.05, budget="survey"):
    asked = asked or dp.Study(document())
    return asked.ask(data, alpha, ledger=ledger, budget=budget, id=id, by="Ada")


class Unread(list):
    """A column that must not be read."""

    def __iter__(self):
        raise AssertionError("the data are read")

    def __len__(self):
        raise AssertionError("the data are read")


UNREAD = {"age": Unread()}


def refused(kind, text, work, *args, **options):
    with pytest.raises(dp.OpenDPError, match=text) as error:
        work(*args, **options)
    assert error.value.kind == kind, error.value
    return error.value.message
