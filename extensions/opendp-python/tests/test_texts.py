"""Columns of texts are read from the memory of their library, and give what their lists give."""

import pytest

import opendp_rs.prelude as dp
from opendp_rs import _columns

numpy = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

TEXTS = (dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance())
CATEGORIES = ["Lyon", "Pärís", "", "日本"]
COUNT = dp.t.make_count_by_categories(*TEXTS, categories=CATEGORIES)
# Short and long texts, texts of several bytes for a character, and the empty text.
CELLS = ["Lyon", "Lille", "Pärís", "", "日本", "a text that is longer than a word of the processor"]


def drawn(rows):
    return [CELLS[i * i % 7 % len(CELLS)] for i in range(rows)]


def columns(cells):
    """Return columns of each library with the same texts."""
    arrow = pyarrow.array(cells, pyarrow.string())
    return {
        "a tuple": tuple(cells),
        "texts of numpy": numpy.array(cells),
        "objects of numpy": numpy.array(cells, dtype=object),
        "texts of any length of numpy": numpy.array(cells, dtype="T"),
        "pandas": pandas.Series(cells),
        "objects of pandas": pandas.Series(cells, dtype=object),
        "string of pandas": pandas.Series(cells, dtype="string"),
        "string of pandas over Python": pandas.Series(cells, dtype="string[python]"),
        "Arrow in pandas": pandas.Series(cells, dtype=pandas.ArrowDtype(pyarrow.string())),
        "categories of pandas": pandas.Series(cells, dtype="category"),
        "an index of pandas": pandas.Index(cells),
        "Polars": polars.Series(cells),
        "categories of Polars": polars.Series(cells, dtype=polars.Categorical),
        "an enum of Polars": polars.Series(cells, dtype=polars.Enum(sorted(set(cells)))),
        "chunks of Polars": polars.concat(
            [polars.Series(cells[:1]), polars.Series(cells[1:])], rechunk=False
        ),
        "pyarrow": arrow,
        "a slice of pyarrow": pyarrow.array(["x", *cells, "y"])[1:-1],
        "large texts of pyarrow": arrow.cast(pyarrow.large_string()),
        "views of pyarrow": arrow.cast(pyarrow.string_view()),
        "categories of pyarrow": arrow.dictionary_encode(),
        "chunks of pyarrow": pyarrow.chunked_array([cells[:1], [], cells[1:3], cells[3:]]),
        "a slice of chunks": pyarrow.chunked_array([["x", *cells[:2]], cells[2:]])[1:],
    }


KINDS = list(columns(CELLS))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [6, 769, 140_000])
def test_texts_give_what_their_list_gives(kind, rows):
    """Each number of rows is read in another way: in one chunk, in several, and on all cores."""
    cells = drawn(rows)
    expected = [cells.count(category) for category in CATEGORIES]
    expected.append(rows - sum(expected))
    assert COUNT(cells) == expected
    column = columns(cells)[kind]
    assert COUNT(column) == expected
    in_memory = _columns.as_texts(column)
    if "numpy" in kind or kind.startswith("objects"):
        assert in_memory == (False, cells)
    else:
        assert in_memory is None if kind == "a tuple" else in_memory[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_function_reads_texts(kind):
    """Some functions need all rows at once, and some need the rows in their order."""
    column = columns(CELLS)[kind]
    assert dp.t.make_is_equal(*TEXTS, "Lyon")(column) == [cell == "Lyon" for cell in CELLS]
    shuffled = dp.t.make_ordered_random(*TEXTS)(column)
    assert sorted(shuffled) == sorted(CELLS)
    sized = dp.vector_domain(dp.atom_domain(T=str), size=len(CELLS))
    assert dp.t.make_count(sized, dp.symmetric_distance())(column) == len(CELLS)
    wrong = dp.vector_domain(dp.atom_domain(T=str), size=len(CELLS) + 1)
    with pytest.raises(dp.OpenDPException, match="expected a member"):
        dp.t.make_count(wrong, dp.symmetric_distance())(column)
    odometer = dp.c.make_fully_adaptive_composition(*TEXTS, dp.max_divergence())
    question = dp.t.make_count(*TEXTS) >> dp.m.then_laplace(scale=0.0)
    assert odometer(column)(question) == len(CELLS)
    optional = dp.vector_domain(dp.option_domain(dp.atom_domain(T=str))), dp.symmetric_distance()
    assert dp.t.make_drop_null(*optional)(column) == CELLS


@pytest.mark.parametrize("chunked", [False, True])
def test_the_memory_of_arrow_is_not_copied(chunked):
    cells = pyarrow.array(drawn(1000))
    column = pyarrow.chunked_array([cells]) if chunked else cells
    [(offsets, texts, present, codes)] = _columns.as_texts(column)[1]
    _, of_offsets, of_texts = cells.buffers()
    assert offsets.__array_interface__["data"][0] == of_offsets.address
    assert texts.__array_interface__["data"][0] == of_texts.address
    assert present is None and codes is None
    in_pandas = pandas.Series(column, dtype=pandas.ArrowDtype(pyarrow.string()))
    assert _columns.as_texts(in_pandas)[1][0][1].size == of_texts.size


def many(kind, cells):
    return columns(cells * 100)[kind]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "categories" in kind or "enum" in kind])
def test_categories_are_read_by_their_codes(kind):
    """No text is made for each cell. A slice, and categories without a cell, change no code."""
    column = many(kind, CELLS)
    [(offsets, texts, present, codes)] = _columns.as_texts(column)[1]
    assert len(offsets) == len(CELLS) + 1 and len(codes) == 100 * len(CELLS)
    assert texts.size == sum(len(cell.encode()) for cell in CELLS) and present is None
    part = column[7:]
    expected = [100, 100, 100, 100, 200]
    assert COUNT(column) == expected
    assert COUNT(part) == COUNT((CELLS * 100)[7:])
    # As many categories as cells: each cell keeps its own text.
    assert _columns.as_texts(columns(CELLS)[kind])[1][0][3] is None


def test_a_code_without_a_category_is_refused_like_all_other_data(monkeypatch):
    column = pandas.Series(["Lyon"] * 40, dtype="category")
    [(offsets, texts, present, codes)] = _columns.as_texts(column)[1]
    for wrong, expected in ((codes, [40, 0, 0, 0, 0]), (codes + 1, None)):
        parts = [(offsets, texts, present, wrong)]
        monkeypatch.setattr(_columns, "as_texts", lambda value, parts=parts: (True, parts))
        if expected is None:
            with pytest.raises(dp.OpenDPException, match="expected a member"):
                COUNT(column)
        else:
            assert COUNT(column) == expected


def test_columns_of_polars_can_share_their_categories():
    """The numbers of the categories of a column can then have gaps."""
    shared = polars.Categories("shared by two columns")
    polars.Series([f"city {i}" for i in range(50)], dtype=polars.Categorical(shared))
    cells = ["city 49", "city 3", None] * 100
    column = polars.Series(cells, dtype=polars.Categorical(shared))
    optional = dp.vector_domain(dp.option_domain(dp.atom_domain(T=str))), dp.symmetric_distance()
    assert dp.t.make_drop_null(*optional)(column) == ["city 49", "city 3"] * 100
    assert _columns.as_texts(column)[1][0][3] is not None


NULLS = ["Lyon", None, "", None, "Pärís"]
WITH_NULLS = {
    "pandas": pandas.Series(NULLS),
    "objects of pandas": pandas.Series(NULLS, dtype=object),
    "string of pandas": pandas.Series(NULLS, dtype="string"),
    "categories of pandas": pandas.Series(NULLS, dtype="category"),
    "Polars": polars.Series(NULLS),
    "categories of Polars": polars.Series(NULLS, dtype=polars.Categorical),
    "pyarrow": pyarrow.array(NULLS),
    "a slice of pyarrow": pyarrow.array(["x", *NULLS])[1:],
    "chunks of pyarrow": pyarrow.chunked_array([NULLS[:1], NULLS[1:]]),
    "categories of pyarrow": pyarrow.array(NULLS).dictionary_encode(),
}


@pytest.mark.parametrize("kind", [kind for kind in WITH_NULLS if "categories" in kind])
def test_a_null_has_no_category(kind):
    library = {"pandas": pandas.Series, "Polars": polars.Series}.get(kind.rpartition(" ")[2])
    for cells in (NULLS * 20, [None] * 20):
        if library is None:
            column = pyarrow.array(cells, pyarrow.string()).dictionary_encode()
        elif library is pandas.Series:
            column = library(pandas.Categorical(cells))
        else:
            column = library(cells, dtype=polars.Categorical)
        if cells[0] is not None:
            assert _columns.as_texts(column)[1][0][3] is not None
        frame = dp.dataframe_domain(["a"], [dp.option_domain(dp.atom_domain(T=str))])
        read = dp.t.make_select_column(frame, dp.symmetric_distance(), "a", TOA="Option<String>")
        assert read({"a": column}) == cells


@pytest.mark.parametrize("kind", WITH_NULLS)
def test_a_null_is_no_text(kind):
    optional = dp.vector_domain(dp.option_domain(dp.atom_domain(T=str))), dp.symmetric_distance()
    present = [cell for cell in NULLS if cell is not None]
    assert dp.t.make_drop_null(*optional)(WITH_NULLS[kind]) == present
    with pytest.raises(dp.OpenDPException) as refused:
        COUNT(WITH_NULLS[kind])
    with pytest.raises(dp.OpenDPException) as of_list:
        COUNT(NULLS)
    assert refused.value.message == of_list.value.message


def test_bytes_that_are_no_texts_are_refused_like_all_other_data():
    offsets = pyarrow.py_buffer(numpy.array([0, 1, 3], dtype="i4").tobytes())
    broken = pyarrow.Array.from_buffers(
        pyarrow.string(), 2, [None, offsets, pyarrow.py_buffer(b"a\xff\xfe")]
    )
    beyond = pyarrow.Array.from_buffers(
        pyarrow.string(),
        2,
        [
            None,
            pyarrow.py_buffer(numpy.array([0, 9, 1], dtype="i4").tobytes()),
            pyarrow.py_buffer(b"abc"),
        ],
    )
    messages = set()
    for data in (broken, beyond, [1, 2], ["a", None], numpy.array([1.0]), ["a", "\ud800"]):
        with pytest.raises(dp.OpenDPException) as refused:
            COUNT(data)
        messages.add(refused.value.message)
    assert len(messages) == 1


def test_a_list_that_is_not_exactly_a_list_keeps_its_own_items():
    class Doubled(list):
        def __iter__(self):
            return iter([*super().__iter__(), *super().__iter__()])

    assert COUNT(Doubled(["Lyon"]))[0] == 2


@pytest.mark.parametrize("library", [list, pandas.Series, polars.Series, pyarrow.array])
def test_a_study_reads_texts_and_their_nulls(library):
    study = dp.Study({
        "context": {
            "unit": {"person": 1},
            "budget": {"rho": 10.0},
            "columns": {"city": {"T": "String", "missing": "none"}},
        },
        "questions": [{"histogram": {"column": "city", "categories": ["Lyon", "none"]}}],
    })
    cells = [*NULLS, " Lyon ", "\t"] * 1000
    found = [row["value"] for row in study.ask({"city": library(cells)}).rows()]
    assert abs(found[0] - 2000) < 50
    assert abs(found[1] - 4000) < 50


@pytest.mark.parametrize("kind", KINDS)
def test_the_texts_of_a_frame_are_read(kind):
    frame = dp.dataframe_domain(
        col_names=["city", "age"],
        element_domains=[dp.atom_domain(T=str), dp.atom_domain(T=int)],
    )
    cities = dp.t.make_select_column(frame, dp.symmetric_distance(), "city", TOA=str)
    table = {"city": columns(CELLS)[kind], "age": list(range(len(CELLS)))}
    assert cities(table) == CELLS
    with pytest.raises(dp.OpenDPException, match="expected a member"):
        cities({"city": table["age"], "age": columns(CELLS)[kind]})


@pytest.mark.parametrize("kind", WITH_NULLS)
def test_the_nulls_of_a_frame_are_read(kind):
    def selected(element):
        frame = dp.dataframe_domain(col_names=["city"], element_domains=[element])
        name = "Option<String>" if element != dp.atom_domain(T=str) else str
        made = dp.t.make_select_column(frame, dp.symmetric_distance(), "city", TOA=name)
        return made({"city": WITH_NULLS[kind]})

    assert selected(dp.option_domain(dp.atom_domain(T=str))) == NULLS
    with pytest.raises(dp.OpenDPException, match="expected a member"):
        selected(dp.atom_domain(T=str))
