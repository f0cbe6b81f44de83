//! Benchmarks of randomized response.

use opendp_core::{BitVector, BitVectorDomain, DiscreteDistance, Result, Space};
use opendp_measurements::{make_randomized_response_bitvec, make_randomized_response_bool};

use crate::incumbent;
use crate::scalar::times;
use crate::timing::{Table, Target};

/// Measure randomized response on a bit and on a bit vector.
pub fn responses(table: &mut Table) -> Result<()> {
    let work = "randomized response, bool";
    if table.wants(work) {
        let response = make_randomized_response_bool(0.75, false)?;
        let mut theirs = incumbent::response(0.75)?;
        table
            .contest(work)
            .run("this project", 10_000, || times(|| response.invoke(&true).is_ok()))
            .against("opendp", 10_000, Target::Faster(1.0), || times(|| theirs(&true)))
            .hold();
    }
    const BITS: usize = 100_000;
    let work = format!("randomized response, {BITS} bits");
    if table.wants(&work) {
        let truth: BitVector = (0..BITS).map(|bit| bit % 8 == 0).collect();
        let domain = BitVectorDomain::default().with_size(BITS).with_max_weight(BITS);
        let response =
            make_randomized_response_bitvec(Space::new(domain, DiscreteDistance)?, 0.5, false)?;
        let mut theirs = incumbent::response_bits(BITS, 0.5)?;
        table
            .contest(&work)
            .run("this project", BITS, || response.invoke(&truth))
            .against("opendp", BITS, Target::Faster(30.0), || theirs())
            .hold();
    }
    Ok(())
}
