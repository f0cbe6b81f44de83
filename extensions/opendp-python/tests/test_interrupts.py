"""Interrupts and nested calls stop the program, and no answer is lost or exact."""

import asyncio
import subprocess
import sys

import pytest

import opendp_rs.prelude as dp

DOMAIN, METRIC = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
SPACE = dp.space_of(list[int])
COUNT = SPACE >> dp.t.then_count()


class Interrupt:
    """A column, as of another library. An attempt to read it raises `KeyboardInterrupt`."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        if name == self.__dict__["name"]:
            raise KeyboardInterrupt
        raise AttributeError(name)


class Items:
    """A list. An attempt to read its items raises `KeyboardInterrupt`."""

    def __len__(self):
        return 4

    def __getitem__(self, place):
        raise KeyboardInterrupt


class Index:
    def __index__(self):
        raise KeyboardInterrupt


BITS = dp.bitvector_domain(size=4)
MAP = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))


@pytest.mark.parametrize(
    "domain, value",
    [
        (BITS, Items()),
        (BITS, Interrupt("ndim")),
        (BITS, Interrupt("tolist")),
        (dp.bitvector_domain(), Items()),
        (MAP, Items()),
        (MAP, {"a": Interrupt("tolist")}),
        (MAP, Interrupt("to_list")),
        (DOMAIN, Items()),
        (DOMAIN, [1, Index()]),
        (dp.vector_domain(dp.atom_domain(T=float)), [1.0, Index()]),
        (dp.atom_domain(T=int), Index()),
        (dp.dataframe_domain(["a"], [dp.atom_domain(T=int)]), {"a": [Index()]}),
    ],
)
def test_an_interrupt_while_data_are_read_stops_the_program(domain, value):
    with pytest.raises(KeyboardInterrupt):
        domain.member(value)
    metric = dp.discrete_distance() if domain.type.startswith("Bit") else METRIC
    if domain not in (MAP, dp.atom_domain(T=int)):
        loss = dp.max_divergence(), lambda x: 0, lambda d_in: 0.0
        with pytest.raises(KeyboardInterrupt):
            dp.m.make_user_measurement(domain, metric, *loss)(value)


def test_an_interrupt_while_an_argument_is_read_stops_the_program():
    noisy = COUNT >> dp.m.then_laplace(1.0)
    for call in (
        lambda: noisy.map(Interrupt("tolist")),
        lambda: noisy.check(1, Items()),
        lambda: dp.t.make_count_by_categories(*SPACE, categories=Items()),
        lambda: dp.c.make_composition(Items()),
    ):
        with pytest.raises(KeyboardInterrupt):
            call()


def test_questions_nested_too_deeply_are_an_error_and_do_not_end_the_process():
    program = """if True:
    import threading
    import opendp_rs.prelude as dp

    space = dp.space_of(list[int])

    def nested(depth):
        def look(data):
            return 0 if depth == 0 else nested(depth - 1)(data)

        return dp.m.make_user_measurement(*space, dp.max_divergence(), look, lambda d_in: 0.0)

    def ask(found):
        assert nested(9)([1]) == 0
        try:
            nested(10_000)([1])
        except dp.FailedFunctionError as error:
            found.append(error.message)

    found = []
    ask(found)
    thread = threading.Thread(target=ask, args=(found,))
    thread.start()
    thread.join()
    assert len(found) == 2 and len(set(found)) == 1, found
    print(found[0])

    noisy = space >> dp.t.then_count() >> dp.m.then_laplace(1.0)

    class Column:
        def tolist(self):
            return noisy.map(Column())

    class Rows:
        def __iter__(self):
            return iter([noisy(Rows())])

    def privacy_map(_):
        return dp.m.make_user_measurement(*space, dp.max_divergence(), len, privacy_map).map(1)

    for call in (
        lambda: noisy.map(Column()),
        lambda: noisy(Rows()),
        lambda: privacy_map(1),
    ):
        try:
            call()
        except dp.OpenDPError:
            continue
        raise AssertionError
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "run inside each other: expected at most 16" in done.stdout


def test_a_task_that_was_started_in_a_search_warns(recwarn):
    release, tasks = COUNT >> dp.m.then_laplace(10.0), []

    async def ask():
        release.map(0)

    async def search():
        def condition(d_in):
            if not tasks:
                tasks.append(asyncio.get_running_loop().create_task(ask()))
            return release.check(d_in, 3.0)

        assert dp.binary_search(condition, T=int) == 30
        assert not recwarn.list
        await tasks[0]

    asyncio.run(search())
    assert ["d_in" in str(warning.message) for warning in recwarn.list] == [True]


def test_a_dictionary_that_changes_while_it_is_read_is_no_panic():
    class Grows:
        def tolist(self):
            table[len(table)] = 0
            return 1

    table = {"a": Grows(), "b": Grows()}
    assert MAP.member(table) in (True, False)


def test_an_interrupt_in_a_membership_function_stops_the_program():
    def interrupted(value):
        raise KeyboardInterrupt

    domain = dp.user_domain("x", interrupted)
    with pytest.raises(KeyboardInterrupt):
        domain.member(1)
    assert COUNT([1]) == 1
