"""Vectors of bits are read in each of their forms."""

import array
import math

import pytest

import opendp_rs.prelude as dp

numpy = pytest.importorskip("numpy")

BITS = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]
PACKED = numpy.packbits(BITS, bitorder="little")


def copied(value, size=12):
    """Return the vector of bits that the library reads."""
    space = dp.bitvector_domain(size=size), dp.discrete_distance()
    copy = dp.m.make_user_measurement(*space, dp.max_divergence(), lambda x: x, lambda _: math.inf)
    return copy(value)


@pytest.mark.parametrize(
    "value",
    [
        *(BITS, tuple(BITS), array.array("b", BITS), numpy.array(BITS), numpy.array(BITS, "uint8")),
        *(numpy.array(BITS, bool), [bit == 1 for bit in BITS], "100000000010"),
        *(PACKED, PACKED.tobytes(), bytearray(PACKED)),
    ],
)
def test_bits_are_read_in_each_form(value):
    assert copied(value) == [bit == 1 for bit in BITS]
    noisy = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=2, size=12), dp.discrete_distance(), f=0.5
    )
    release = noisy(value)
    assert len(release) == 12 and {type(bit) for bit in release} == {bool}
    # The domain takes what the measurement releases.
    assert dp.bitvector_domain(size=12).member(release)
    counts = dp.m.debias_randomized_response_bitvec([release, release], 0.5)
    assert set(counts) <= {-1.0, 3.0}


def test_bits_in_the_other_order_are_unpacked_first():
    assert copied(numpy.unpackbits(numpy.packbits(BITS), count=12)) == [bit == 1 for bit in BITS]
    text = dp.bitvector_domain.__doc__
    assert 'numpy.packbits(bits, bitorder="little")' in text and "numpy.unpackbits" in text


def test_values_that_are_no_bits_of_the_domain_are_refused_with_one_message():
    masked = numpy.ma.array(PACKED, mask=[0, 1])
    wrong = [
        *(PACKED.tobytes() + b"\0", PACKED.tobytes()[:1], numpy.packbits(BITS), b"\0\x10"),
        *(PACKED.astype(int), list(PACKED), PACKED.reshape(1, 2), masked, bytes(BITS)),
        *([2] * 12, [0.0] * 12, BITS[:11], "1" * 11, iter(BITS), [True] * 11 + [1]),
        *(dict.fromkeys(range(12)), set(range(12)), None, 5, object()),
    ]
    messages = set()
    for value in wrong:
        with pytest.raises(dp.ArgumentError) as caught:
            copied(value)
        messages.add(caught.value.message)
    [message] = messages
    assert 'a text such as "0011"' in message and 'numpy.packbits(bits, bitorder="little")' in message
    assert "the first bit is the lowest bit of its byte" in message and len(message) < 500
    with pytest.raises(dp.ArgumentError):
        copied({0: "a", 1: "b"}, size=2)
    for value in (BITS, PACKED, PACKED.tobytes()):
        with pytest.raises(dp.ArgumentError, match="if you state the `size` of the domain"):
            copied(value, size=None)


def test_packed_answers_are_not_debiased_as_if_their_bytes_were_bits():
    with pytest.raises(dp.ArgumentError, match="unpack packed bits"):
        dp.m.debias_randomized_response_bitvec([PACKED.tobytes()] * 2, 0.5)
