//! The cost of a document, and its limits.

use opendp_core::{Error, Result};

/// The largest number of links on a path through a document. Each link adds a frame to the stack of
/// a run and of a map. The links of nested chains count too.
pub(super) const MAX_LINKS: usize = 256;
/// The largest total number of links: each takes memory.
const MAX_LINKS_IN_ALL: usize = 1 << 14;
/// The largest number of measurements that `repeat` may make. Members of members count each time.
const MAX_MEMBERS: usize = 1_000_000;

/// The cost of an object that a node describes.
#[derive(Clone, Copy, Default)]
pub(super) struct Weight {
    /// The number of links on the longest path through it.
    links: usize,
    /// The number of members that it runs.
    members: usize,
}
impl Weight {
    /// Add a link whose arguments have this weight.
    pub(super) fn link(self) -> Result<Weight> {
        Weight { links: self.links.saturating_add(1), members: self.members.max(1) }.checked()
    }
    /// Combine a chain with the part that follows.
    pub(super) fn then(self, next: Weight) -> Result<Weight> {
        self.joined(next).checked()
    }
    /// Combine two arguments of one call.
    pub(super) fn beside(self, next: Weight) -> Result<Weight> {
        self.joined(next).checked()
    }
    fn joined(self, next: Weight) -> Weight {
        let links = self.links.saturating_add(next.links);
        Weight { links, members: self.members.max(next.members) }
    }
    /// Add a member to the members of a list, this many times.
    pub(super) fn and_members(self, next: Weight, times: usize) -> Result<Weight> {
        // Plain JSON is not a member, but takes memory when it is repeated.
        let each = if times == 1 { next.members } else { next.members.max(1) };
        let members = each.checked_mul(times).and_then(|all| all.checked_add(self.members));
        match members.filter(|members| *members <= MAX_MEMBERS) {
            Some(members) => Ok(Weight { links: self.links.max(next.links), members }),
            None => Err(Error::argument(
                "repeat",
                format!(
                    "expected at most {MAX_MEMBERS} members in all, with repeated ones counted each \
                     time"
                ),
            )),
        }
    }
    fn checked(self) -> Result<Weight> {
        if self.links <= MAX_LINKS {
            return Ok(self);
        }
        let reason = format!("expected at most {MAX_LINKS} links, with those of inner chains");
        Err(Error::argument("chain", reason))
    }
}

/// Count one more link of the whole document.
pub(super) fn one_more(links: usize) -> Result<usize> {
    if links < MAX_LINKS_IN_ALL {
        return Ok(links + 1);
    }
    let reason = format!(
        "the document has more than {MAX_LINKS_IN_ALL} links in all; write equal members of a list \
         once, with `repeat`"
    );
    Err(Error::argument("pipeline", reason))
}
