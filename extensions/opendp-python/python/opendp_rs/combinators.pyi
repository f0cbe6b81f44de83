# Written by stubs.py from the registry. Do not edit.
from typing import Any, Callable, Collection, Sequence

from ._native import Domain as Domain, Function as Function, Measure as Measure, Measurement as Measurement, Metric as Metric, Odometer as Odometer, Transformation as Transformation
from ._partial import Partial

def make_RDP_to_approxDP(measurement: Measurement, MO: Any = ...) -> Measurement:
    """Convert the Renyi divergences of a measurement to a delta for each epsilon."""

def make_adaptive_composition(input_domain: Domain, input_metric: Metric, output_measure: Measure, d_in: Any, d_mids: Sequence[Any]) -> Measurement:
    """Make a measurement that answers a sequence of questions. An upper bound on the loss of each
    question is fixed in advance."""

def make_approximate(measurement: Measurement, MO: Any = ...) -> Measurement:
    """Make a measurement that states the loss of `measurement` as an approximate loss with delta = 0."""

def make_basic_composition(measurements: Sequence[Measurement]) -> Measurement:
    """Make a measurement that releases the answers of several measurements on the same data."""

def make_chain_mt(measurement1: Measurement, transformation0: Transformation) -> Measurement:
    """Chain a measurement after a transformation."""

def make_chain_pm(postprocess1: Callable[..., Any], measurement0: Measurement) -> Measurement:
    """Apply a function to the release of a measurement."""

def make_chain_tt(transformation1: Transformation, transformation0: Transformation) -> Transformation:
    """Chain a transformation after another transformation."""

def make_composition(measurements: Sequence[Measurement]) -> Measurement:
    """Make a measurement that releases the answers of several measurements on the same data."""

def make_fix_delta(measurement: Measurement, delta: float, MO: Any = ...) -> Measurement:
    """Convert a measurement with a privacy profile to a measurement that states its loss at one delta."""

def make_fixed_approxDP_to_approxDP(measurement: Measurement, MO: Any = ...) -> Measurement:
    """Convert the loss of a measurement from a single pair of epsilon and delta to a delta for each
    epsilon."""

def make_fixed_size_subsampling(measurement: Measurement, size: int, MO: Any = ...) -> Measurement:
    """Make a measurement that runs on a sample of fixed size, drawn without replacement."""

def make_fully_adaptive_composition(input_domain: Domain, input_metric: Metric, output_measure: Measure) -> Odometer:
    """Make an odometer, which answers any number of questions and reports their total loss."""

def make_group_privacy(measurement: Measurement, size: int, MO: Any = ...) -> Measurement:
    """Make a measurement whose map accepts larger distances than the map of the given measurement. The
    new map divides a distance into steps."""

def make_parallel_composition(input_domain: Domain, input_metric: Metric, part: Any, measurements: Sequence[Measurement], E: Any = ..., MO: Any = ..., M: Any = ...) -> Measurement:
    """Make a measurement that partitions the rows of a data set and makes a release of each part."""

def make_poisson_subsampling(measurement: Measurement, rate: float, size: int | None = ..., MO: Any = ...) -> Measurement:
    """Make a measurement that runs on a Poisson sample of the data."""

def make_population_amplification(measurement: Measurement, population_size: int, MO: Any = ...) -> Measurement:
    """Make a measurement that runs on a secret sample of a population. Its map states how much a
    release reveals about the population."""

def make_privacy_filter(odometer: Odometer, d_in: Any, d_out: Any) -> Measurement:
    """Make a measurement that answers questions while their total loss is within a budget."""

def make_pureDP_to_zCDP(measurement: Measurement) -> Measurement:
    """Convert the pure loss of a measurement to a zero-concentrated loss."""

def make_select_private_candidate(measurement: Measurement, stop_probability: float, threshold: float) -> Measurement:
    """Make a measurement that repeats another measurement until the score of its release reaches a
    threshold."""

def make_sequential_composition(input_domain: Domain, input_metric: Metric, output_measure: Measure, d_in: Any, d_mids: Sequence[Any]) -> Measurement:
    """Make a measurement that answers a sequence of questions. An upper bound on the loss of each
    question is fixed in advance."""

def make_zCDP_to_approxDP(measurement: Measurement, MO: Any = ...) -> Measurement:
    """Convert the zero-concentrated loss of a measurement to a delta for each epsilon."""

def then_RDP_to_approxDP(measurement: Measurement, MO: Any = ...) -> Measurement:
    """Convert the Renyi divergences of a measurement to a delta for each epsilon."""

def then_adaptive_composition(output_measure: Measure, d_in: Any, d_mids: Sequence[Any]) -> Partial:
    """Make a measurement that answers a sequence of questions. An upper bound on the loss of each
    question is fixed in advance."""

def then_approximate(measurement: Measurement, MO: Any = ...) -> Measurement:
    """Make a measurement that states the loss of `measurement` as an approximate loss with delta = 0."""

def then_basic_composition(measurements: Sequence[Measurement]) -> Measurement:
    """Make a measurement that releases the answers of several measurements on the same data."""

def then_chain_mt(measurement1: Measurement, transformation0: Transformation) -> Measurement:
    """Chain a measurement after a transformation."""

def then_chain_pm(postprocess1: Callable[..., Any], measurement0: Measurement) -> Measurement:
    """Apply a function to the release of a measurement."""

def then_chain_tt(transformation1: Transformation, transformation0: Transformation) -> Transformation:
    """Chain a transformation after another transformation."""

def then_composition(measurements: Sequence[Measurement]) -> Measurement:
    """Make a measurement that releases the answers of several measurements on the same data."""

def then_fix_delta(measurement: Measurement, delta: float, MO: Any = ...) -> Measurement:
    """Convert a measurement with a privacy profile to a measurement that states its loss at one delta."""

def then_fixed_approxDP_to_approxDP(measurement: Measurement, MO: Any = ...) -> Measurement:
    """Convert the loss of a measurement from a single pair of epsilon and delta to a delta for each
    epsilon."""

def then_fixed_size_subsampling(measurement: Measurement, size: int, MO: Any = ...) -> Measurement:
    """Make a measurement that runs on a sample of fixed size, drawn without replacement."""

def then_fully_adaptive_composition(output_measure: Measure) -> Partial:
    """Make an odometer, which answers any number of questions and reports their total loss."""

def then_group_privacy(measurement: Measurement, size: int, MO: Any = ...) -> Measurement:
    """Make a measurement whose map accepts larger distances than the map of the given measurement. The
    new map divides a distance into steps."""

def then_parallel_composition(part: Any, measurements: Sequence[Measurement], E: Any = ..., MO: Any = ..., M: Any = ...) -> Partial:
    """Make a measurement that partitions the rows of a data set and makes a release of each part."""

def then_poisson_subsampling(measurement: Measurement, rate: float, size: int | None = ..., MO: Any = ...) -> Measurement:
    """Make a measurement that runs on a Poisson sample of the data."""

def then_population_amplification(measurement: Measurement, population_size: int, MO: Any = ...) -> Measurement:
    """Make a measurement that runs on a secret sample of a population. Its map states how much a
    release reveals about the population."""

def then_privacy_filter(odometer: Odometer, d_in: Any, d_out: Any) -> Measurement:
    """Make a measurement that answers questions while their total loss is within a budget."""

def then_pureDP_to_zCDP(measurement: Measurement) -> Measurement:
    """Convert the pure loss of a measurement to a zero-concentrated loss."""

def then_select_private_candidate(measurement: Measurement, stop_probability: float, threshold: float) -> Measurement:
    """Make a measurement that repeats another measurement until the score of its release reaches a
    threshold."""

def then_sequential_composition(output_measure: Measure, d_in: Any, d_mids: Sequence[Any]) -> Partial:
    """Make a measurement that answers a sequence of questions. An upper bound on the loss of each
    question is fixed in advance."""

def then_zCDP_to_approxDP(measurement: Measurement, MO: Any = ...) -> Measurement:
    """Convert the zero-concentrated loss of a measurement to a delta for each epsilon."""
