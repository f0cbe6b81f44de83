//! Tests of the registry and of documents, through the public API and with the catalogues linked.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

mod aggregates;
mod catalogue;
#[path = "../hostile/clock.rs"]
mod clock;
mod combinators;
mod documents;
mod foreign;
mod hostile;
mod laws;
mod maps;
mod members;
mod mutations;
mod resolution;
mod sampling;
mod scale;
mod signatures;
mod slips;
mod solving;
mod suggest;
mod user;
mod valid_documents;
mod versions;
mod written;

use opendp_analysis as _;
use opendp_core::erased::{AnyMeasurement, AnyTransformation};
use opendp_core::{Constructed, Result};
use opendp_measurements as _;
use opendp_registry::{Document, Registry};
use opendp_transformations as _;
use serde_json::Value as Json;

fn build(document: Json) -> Result<Constructed> {
    Document::new(document)?.build(Registry::global())
}
#[track_caller]
fn transformation(document: Json) -> AnyTransformation {
    build(document).unwrap().transformation().unwrap()
}
#[track_caller]
fn measurement(document: Json) -> AnyMeasurement {
    build(document).unwrap().measurement().unwrap()
}
fn map(made: &Constructed, d_in: Json) -> Result<Json> {
    made.map(&d_in)
}
