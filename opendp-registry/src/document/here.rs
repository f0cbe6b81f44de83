//! The current spaces of the chains around a node. The current space of a chain is the space that
//! the next link of the chain takes.

use std::mem;

use opendp_core::{Arg, Constructed, Result};
use serde_json::Value as Json;

use super::build::Builder;

/// The current spaces around the current node, and a record of their use.
pub(super) struct Here {
    /// The current space of each chain, from the outermost chain inwards.
    spaces: Vec<Arg>,
    /// The innermost space is the last item of `spaces`. Each time this space is read, the number
    /// of items in `spaces` is recorded. This field is the least recorded number.
    least: usize,
}
impl Default for Here {
    fn default() -> Self {
        Here { spaces: Vec::new(), least: usize::MAX }
    }
}

impl Builder<'_> {
    /// Return the current space of the chain around the current node.
    pub(super) fn here(&mut self) -> Option<Arg> {
        self.here.least = self.here.least.min(self.here.spaces.len());
        self.here.spaces.last().cloned()
    }
    /// Run a function. If `here` is a space, it is the current space while the function runs.
    /// Chains without their own space start from the current space.
    pub(super) fn inside(
        &mut self,
        here: Option<Arg>,
        run: impl FnOnce(&mut Self, Option<Arg>) -> Result<Constructed>,
    ) -> Result<Constructed> {
        let depth = self.here.spaces.len();
        self.here.spaces.extend(here.clone());
        let made = run(self, here);
        self.here.spaces.truncate(depth);
        made
    }
    /// Read a node. Inside the node, there is no current space.
    pub(super) fn alone(&mut self, json: &Json) -> Result<Arg> {
        let around = mem::take(&mut self.here);
        let read = self.read(json);
        self.here = around;
        read
    }
    /// Run a function. Also return whether the function asked for the current space. The answer is
    /// yes even if the function asked and there was no current space. If the function did not ask,
    /// its result is the same on every current space.
    pub(super) fn depending<R>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<(R, bool)> {
        let (depth, before) = (self.here.spaces.len(), self.here.least);
        self.here.least = usize::MAX;
        let made = run(self);
        // If `least` exceeds `depth`, there are two cases. The function read no current space, or
        // it read only spaces that were added while it ran.
        let depends = self.here.least <= depth;
        self.here.least = self.here.least.min(before);
        Ok((made?, depends))
    }
}
