"""The module ``mod`` of OpenDP 0.16: objects, searches, features and documents.

All names are also in ``opendp_rs.prelude``.
"""

from .prelude import (
    Domain,
    Function,
    Measure,
    Measurement,
    Metric,
    Odometer,
    OdometerQueryable,
    OpenDPException,
    PrivacyProfile,
    Queryable,
    Transformation,
    UnknownTypeException,
    assert_features,
    binary_search,
    binary_search_chain,
    binary_search_param,
    deserialize,
    disable_features,
    enable_features,
    exponential_bounds_search,
    serialize,
)

__all__ = [
    "Domain",
    "Function",
    "Measure",
    "Measurement",
    "Metric",
    "Odometer",
    "OdometerQueryable",
    "OpenDPException",
    "PrivacyProfile",
    "Queryable",
    "Transformation",
    "UnknownTypeException",
    "assert_features",
    "binary_search",
    "binary_search_chain",
    "binary_search_param",
    "deserialize",
    "disable_features",
    "enable_features",
    "exponential_bounds_search",
    "serialize",
]
