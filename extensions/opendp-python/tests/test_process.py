"""Releases in threads and in child processes. Each release runs its function once."""

import multiprocessing
import subprocess
import sys
import threading

import pytest

import opendp_rs.prelude as dp

numpy = pytest.importorskip("numpy")

FLOATS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
ROWS = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()


def noisy_sum():
    return FLOATS >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum() >> dp.m.then_laplace(1.0)


def test_another_thread_runs_while_a_release_does():
    """If a release kept the lock of the interpreter, the other thread could not run meanwhile."""
    ready, start, turns = threading.Event(), threading.Event(), []

    def other():
        ready.set()
        start.wait()
        turns.append(None)

    data, release = numpy.zeros(3_000_000), noisy_sum()
    thread = threading.Thread(target=other)
    thread.start()
    ready.wait()
    interval = sys.getswitchinterval()
    # With this switch interval, the other thread runs only when this thread releases the
    # interpreter's lock.
    sys.setswitchinterval(1000.0)
    try:
        start.set()
        waiting = len(turns)
        # On a busy machine, one release can end before the other thread gets a processor.
        for _ in range(1000):
            release(data)
            if turns:
                break
        during = len(turns)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert (waiting, during) == (0, 1)


def test_many_threads_release_at_the_same_time():
    release, results = noisy_sum(), []
    data = numpy.ones(200_000)
    threads = [threading.Thread(target=lambda: results.append(release(data))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 8 and all(abs(x - 200_000) < 100 for x in results)


def test_another_thread_that_writes_changes_no_checked_row():
    """The sum uses the checked value of a row, even if another thread changes the row later."""
    data, stop = numpy.ones(1_000_000), threading.Event()
    total = FLOATS >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum()

    def write():
        while not stop.is_set():
            data[::1000] = numpy.nan
            data[::1000] = 1e300
            data[::1000] = 1.0

    other = threading.Thread(target=write)
    other.start()
    sums, refused = [], 0
    try:
        for _ in range(40):
            try:
                sums.append(total(data))
            except dp.ArgumentError:
                refused += 1
    finally:
        stop.set()
        other.join()
    assert all(1_000_000 <= found <= 1_009_000 for found in sums)
    assert total(data) == 1_000_000 and len(sums) + refused == 40


def test_a_release_runs_its_function_once():
    calls = []
    counted = dp.m.make_user_measurement(
        *ROWS, dp.max_divergence(), lambda rows: calls.append(len(rows)), lambda d_in: 1.0
    )
    counted([1, 2, 3])
    counted(numpy.arange(200_000))
    assert calls == [3, 200_000]
    chained = dp.t.make_count(*ROWS) >> dp.m.make_user_measurement(
        *dp.t.make_count(*ROWS).output_space,
        dp.max_divergence(),
        lambda count: calls.append(count),
        lambda d_in: 1.0,
    )
    chained(numpy.arange(300_000))
    assert calls == [3, 200_000, 300_000]


def _child(pipe):
    data = numpy.ones(300_000)
    whole = dp.c.make_composition([noisy_sum(), noisy_sum()])
    pipe.send(
        [noisy_sum()(data), noisy_sum()([1.0] * 300_000), *whole(data), *whole([1.0] * 300_000)]
    )
    pipe.close()


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork")
def test_a_forked_child_has_noise_of_its_own_and_does_not_wait_for_threads_of_its_parent():
    # Before the fork, start the parent's threads, and use the parent's source of randomness.
    whole = dp.c.make_composition([noisy_sum(), noisy_sum()])
    data = numpy.ones(300_000)
    mine = [noisy_sum()(data), *whole([1.0] * 300_000)]
    fork = multiprocessing.get_context("fork")
    answers = [mine]
    for _ in range(2):
        ours, theirs = fork.Pipe(duplex=False)
        child = fork.Process(target=_child, args=(theirs,))
        child.start()
        theirs.close()
        assert ours.poll(60), "the child waits for threads that it does not have"
        answers.append(ours.recv())
        child.join()
    flat = [value for values in answers for value in values]
    assert len(set(flat)) == len(flat)


def _ask_in_threads(pipe):
    """Let three threads ask a queryable that releases a sum of many rows under its lock."""
    data, release, found = numpy.ones(600_000), noisy_sum(), []
    queryable = dp.new_queryable(lambda state, _: (state, release(data)))(0)

    def ask():
        for _ in range(12):
            try:
                found.append(abs(queryable(1) - 600_000) < 1000)
            except dp.OpenDPError as error:
                found.append(str(error))

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    pipe.send(found)
    pipe.close()


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork")
def test_a_forked_child_divides_no_rows_under_a_lock():
    """If a child divided rows under a lock, a deadlock would be possible.

    A thread holds the lock, and waits for the parts of its work. While it waits, this thread could
    run the question of another thread. The other question would wait for the same lock.
    """
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    child = fork.Process(target=_ask_in_threads, args=(theirs,))
    child.start()
    theirs.close()
    try:
        assert ours.poll(120), "the threads of the child wait for each other"
        assert ours.recv() == [True] * 36
    finally:
        child.kill()
        child.join()


def test_the_import_loads_neither_numpy_nor_others():
    code = (
        "import sys, opendp_rs.prelude as dp; dp.t.make_count;"
        "found = {'numpy', 'pandas', 'polars', 'pyarrow'} & set(sys.modules);"
        "sys.exit(str(found) if found else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_lists_work_without_numpy():
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import array, opendp_rs.prelude as dp\n"
        "total = dp.space_of(list[int]) >> dp.t.then_clamp((0, 5)) >> dp.t.then_sum()\n"
        "assert total([1, 2, 9]) == 8\n"
        "assert total(array.array('i', [1, 2, 9])) == 8\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("library", ["numpy", "polars", "pandas", "pyarrow", "a table"])
def test_a_column_is_not_copied_as_a_whole(library):
    """The peak of memory grows by less than a quarter of the column."""
    pytest.importorskip("resource")
    table = library == "a table"
    library = "numpy" if table else library
    pytest.importorskip(library)
    make = {"numpy": "data", "polars": "l.Series(data)", "pandas": "l.Series(data)"}
    code = f"""
import resource, numpy, {library} as l, opendp_rs.prelude as dp
space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
total = space >> dp.t.then_clamp((0.0, 2.0)) >> dp.t.then_sum()
def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
column = lambda data: {make.get(library, "l.array(data)")}
total(column(numpy.ones(300_000)))
data = column(numpy.ones(12_000_000))
if {table}:
    data = numpy.ones((12_000_000, 2))[:, 0]
before = peak()
assert total(data) == 12_000_000
grown = peak() - before
assert grown < 24_000_000, grown
if {library == "numpy" and not table}:
    # Control: the measured peak of memory grows when the column is copied.
    copy = data.copy()
    assert peak() - before > 24_000_000
"""
    # On Linux, the peak of a new process begins at the peak of the process that starts it. So a
    # small process starts the measured process.
    start = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)"
    subprocess.run([sys.executable, "-c", start, code], check=True)
