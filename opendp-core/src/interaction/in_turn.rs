//! Several mechanisms on the same data, one after the other.

use crate::{Carrier, Interaction, Result, Turns};

/// Run several mechanisms one after the other, and list their releases.
///
/// A release can be a conversation, such as a [`Queryable`](crate::Queryable) or a
/// [`Session`](crate::Session). A measure states whether several conversations can be interleaved
/// ([`Measure::interaction`](crate::Measure::interaction)). If conversations cannot be interleaved,
/// each new mechanism closes the conversations of the earlier mechanisms. Then only the last
/// conversation answers questions. Use this function in a combinator that runs more than one
/// mechanism.
///
/// # Errors
/// The first error of a mechanism.
///
/// ```
/// # use opendp_core::{Interaction, Queryable, in_turn};
/// let open = |number: i32| Ok(Queryable::stateless(move |query: &i32| Ok(number + query)));
/// let both = in_turn(Interaction::Sequential, [1, 2].map(|number| move || open(number)))?;
/// assert!(both[0].ask(&5).is_err());
/// assert_eq!(both[1].ask(&5)?, 7);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn in_turn<TO: Carrier>(
    interaction: Interaction,
    mechanisms: impl IntoIterator<Item = impl FnOnce() -> Result<TO>>,
) -> Result<Vec<TO>> {
    let mut releases = Vec::new();
    match interaction {
        Interaction::Concurrent => {
            for mechanism in mechanisms {
                releases.push(mechanism()?);
            }
        }
        Interaction::Sequential => {
            let turns = Turns::new();
            for mechanism in mechanisms {
                releases.push(turns.begin(|| Ok(()), |turn| Ok(mechanism()?.bound_to(&turn)))?);
            }
        }
    }
    Ok(releases)
}
