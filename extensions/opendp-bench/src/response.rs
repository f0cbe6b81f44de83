//! Randomized response.

use opendp_core::Result;
use opendp_measurements::make_randomized_response_bool;

use crate::incumbent;
use crate::scalar::times;
use crate::timing::{Table, Target};

/// Responses about a bit and a bit vector.
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
    // Bit vectors, once `make_randomized_response_bitvec` is here.
    const BITS: usize = 100_000;
    let work = format!("randomized response, {BITS} bits");
    if table.wants(&work) {
        let mut theirs = incumbent::response_bits(BITS, 0.5)?;
        table.contest(&work).run("opendp", BITS, || theirs()).hold();
    }
    Ok(())
}
