//! The rows that are kept of some individuals.

use super::prf::Keys;
use super::waiting::Waiting;

/// How much of each individual is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// All rows.
    pub(crate) rows: u32,
    /// The rows of one group, at most `rows`.
    pub(crate) per_group: u32,
    /// The groups.
    pub(crate) groups: Option<u32>,
}
/// The end of a chain, and an empty place of the table.
const NONE: u32 = u32::MAX;

/// An id.
#[derive(Clone, Copy)]
pub(crate) enum Id<'a> {
    Whole(i64),
    Text(&'a str),
}
impl Id<'_> {
    pub(crate) fn hash(self, keys: Keys) -> u64 {
        match self {
            Id::Whole(id) => keys.ids.words(id.cast_unsigned(), 0),
            Id::Text(id) => keys.ids.bytes(id.as_bytes()),
        }
    }
}
/// A row of an individual, as it is read.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) hash: u64,
    pub(crate) group: u32,
    /// A hash of the keys of the group.
    pub(crate) group_hash: u64,
}
/// An individual.
struct Person {
    hash: u64,
    /// The integer, or where the text begins.
    id: i64,
    /// The length of the text.
    length: u32,
    /// The number of rows up to now.
    seen: u32,
    /// The first kept row.
    head: u32,
    /// The number of kept rows.
    kept: u32,
    /// The largest lot of a kept row.
    worst: u64,
}
/// A kept row. Its values are in a list of their own.
#[derive(Clone, Copy)]
struct Node {
    lot: u64,
    next: u32,
    group: u32,
}
/// Something does not fit 32 bits.
#[derive(Debug)]
pub(crate) struct TooMany;

/// The individuals whose hash begins with the same bits, and their kept rows.
pub(crate) struct Shard {
    limits: Limits,
    /// The number of values of a row.
    width: usize,
    /// Places of individuals, by their hash. The length is a power of two, or 0.
    table: Vec<u32>,
    people: Vec<Person>,
    texts: String,
    nodes: Vec<Node>,
    /// The lots of the groups of the nodes, if the number of groups has a limit.
    group_lots: Vec<u64>,
    values: Vec<i64>,
    /// Nodes that are not used any more.
    free: Vec<u32>,
    /// The nodes of one individual, while they are looked at.
    chain: Vec<u32>,
    waiting: Waiting,
}
impl Shard {
    pub(crate) fn new(limits: Limits, width: usize) -> Self {
        Shard {
            limits,
            width,
            table: Vec::new(),
            people: Vec::new(),
            texts: String::new(),
            nodes: Vec::new(),
            group_lots: Vec::new(),
            values: Vec::new(),
            free: Vec::new(),
            chain: Vec::new(),
            waiting: Waiting::default(),
        }
    }
    /// Return a shard without rows, for the same limits.
    pub(crate) fn emptied(&self) -> Self {
        Shard::new(self.limits, self.width)
    }
    /// Return the memory that the shard takes.
    pub(crate) fn bytes(&self) -> usize {
        self.table.capacity() * size_of::<u32>()
            + self.people.capacity() * size_of::<Person>()
            + self.texts.capacity()
            + self.nodes.capacity() * size_of::<Node>()
            + (self.values.capacity() + self.group_lots.capacity()) * size_of::<u64>()
            + self.waiting.bytes()
    }
    /// Take a row into account, at once or later.
    pub(crate) fn add(
        &mut self,
        keys: Keys,
        row: Row<'_>,
        values: impl Iterator<Item = i64>,
    ) -> Result<(), TooMany> {
        if self.waiting.push(row, values)? { self.settle(keys) } else { Ok(()) }
    }
    /// Take all waiting rows into account.
    fn settle(&mut self, keys: Keys) -> Result<(), TooMany> {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.each(self.width, |row, values| self.take(keys, row, values.iter().copied()))?;
        self.waiting = waiting;
        Ok(())
    }
    /// Take a row into account. It may be kept, and others may be dropped for it.
    fn take(
        &mut self,
        keys: Keys,
        row: Row<'_>,
        values: impl Iterator<Item = i64>,
    ) -> Result<(), TooMany> {
        let place = self.person(row.id, row.hash)?;
        let person = &mut self.people[place];
        let lot = keys.rows.words(row.hash, u64::from(person.seen));
        person.seen = person.seen.checked_add(1).ok_or(TooMany)?;
        let plain = self.limits.groups.is_none() && self.limits.per_group == self.limits.rows;
        if plain {
            return self.add_plain(place, lot, row.group, values);
        }
        let group_lot = keys.groups.words(row.hash, row.group_hash);
        self.add_grouped(place, (lot, group_lot), row.group, values)
    }
    /// Find an individual, or add one.
    fn person(&mut self, id: Id<'_>, hash: u64) -> Result<usize, TooMany> {
        if self.table.len() <= 2 * self.people.len() {
            self.grow()?;
        }
        let mask = self.table.len() - 1;
        // The first bits chose the shard, the last ones choose the place. The cast keeps those.
        let mut at = hash as usize & mask;
        while self.table[at] != NONE {
            let person = &self.people[self.table[at] as usize];
            if person.hash == hash && self.is(person, id) {
                return Ok(self.table[at] as usize);
            }
            at = (at + 1) & mask;
        }
        let place = u32::try_from(self.people.len()).ok().filter(|place| *place < NONE);
        self.table[at] = place.ok_or(TooMany)?;
        let (id, length) = match id {
            Id::Whole(id) => (id, 0),
            Id::Text(text) => {
                let start = i64::try_from(self.texts.len()).map_err(|_| TooMany)?;
                self.texts.push_str(text);
                (start, u32::try_from(text.len()).map_err(|_| TooMany)?)
            }
        };
        let (seen, head, kept, worst) = (0, NONE, 0, 0);
        self.people.push(Person { hash, id, length, seen, head, kept, worst });
        Ok(self.people.len() - 1)
    }
    fn is(&self, person: &Person, id: Id<'_>) -> bool {
        match id {
            Id::Whole(id) => person.id == id,
            Id::Text(text) => {
                let start = usize::try_from(person.id).unwrap_or(usize::MAX);
                let end = start.saturating_add(person.length as usize);
                self.texts.get(start..end) == Some(text)
            }
        }
    }
    fn grow(&mut self) -> Result<(), TooMany> {
        let length = (2 * self.table.len()).max(64);
        let mut table = vec![NONE; length];
        for (place, person) in self.people.iter().enumerate() {
            let mut at = person.hash as usize & (length - 1);
            while table[at] != NONE {
                at = (at + 1) & (length - 1);
            }
            table[at] = u32::try_from(place).map_err(|_| TooMany)?;
        }
        self.table = table;
        Ok(())
    }
    /// Keep the rows with the smallest lots.
    fn add_plain(
        &mut self,
        place: usize,
        lot: u64,
        group: u32,
        values: impl Iterator<Item = i64>,
    ) -> Result<(), TooMany> {
        let person = &self.people[place];
        if person.kept < self.limits.rows {
            let worst = person.worst.max(lot);
            self.push(place, (lot, 0), group, values)?;
            self.people[place].worst = worst;
        } else if lot < person.worst {
            self.collect(place);
            let node = self.worst(|_| true).ok_or(TooMany)?;
            self.write(node, (lot, 0), group, values);
            let lots = self.chain.iter().map(|node| self.nodes[*node as usize].lot);
            self.people[place].worst = lots.max().unwrap_or(0);
        }
        Ok(())
    }
    /// Keep the groups with the smallest lots; of each of them, the rows with the smallest lots;
    /// and of all these the rows with the smallest lots. If the number of groups has a limit, the
    /// last step is done at the end, because a group that is dropped makes room.
    fn add_grouped(
        &mut self,
        place: usize,
        lots: (u64, u64),
        group: u32,
        values: impl Iterator<Item = i64>,
    ) -> Result<(), TooMany> {
        self.collect(place);
        let of_group = |node: &Node| node.group == group;
        let chain = || self.chain.iter().map(|node| &self.nodes[*node as usize]);
        let count = chain().filter(|node| of_group(node)).count();
        if count == 0
            && let Some(limit) = self.limits.groups
        {
            let mut groups: Vec<u32> = chain().map(|node| node.group).collect();
            groups.sort_unstable();
            groups.dedup();
            if limit as usize <= groups.len() {
                let lot = |node: &u32| self.group_lots[*node as usize];
                let last = self.chain.iter().copied().max_by_key(lot).ok_or(TooMany)?;
                if lot(&last) <= lots.1 {
                    return Ok(());
                }
                let dropped = self.nodes[last as usize].group;
                self.remove(place, |_, node| node.group == dropped);
            }
        }
        if self.limits.per_group as usize <= count {
            let worst = self.worst(of_group).ok_or(TooMany)?;
            if lots.0 < self.nodes[worst as usize].lot {
                self.write(worst, lots, group, values);
            }
            return Ok(());
        }
        self.push(place, lots, group, values)?;
        if self.limits.groups.is_none() && self.limits.rows < self.people[place].kept {
            self.collect(place);
            let worst = self.worst(|_| true).ok_or(TooMany)?;
            self.remove(place, |at, _| at == worst);
        }
        Ok(())
    }
    /// List the nodes of an individual.
    fn collect(&mut self, place: usize) {
        self.chain.clear();
        let mut node = self.people[place].head;
        while node != NONE {
            self.chain.push(node);
            node = self.nodes[node as usize].next;
        }
    }
    /// Find the listed node with the largest lot, among some.
    fn worst(&self, among: impl Fn(&Node) -> bool) -> Option<u32> {
        let among = self.chain.iter().copied().filter(|node| among(&self.nodes[*node as usize]));
        among.max_by_key(|node| self.nodes[*node as usize].lot)
    }
    fn push(
        &mut self,
        place: usize,
        lots: (u64, u64),
        group: u32,
        values: impl Iterator<Item = i64>,
    ) -> Result<(), TooMany> {
        let node = match self.free.pop() {
            Some(node) => node,
            None => {
                let node = u32::try_from(self.nodes.len()).ok().filter(|node| *node < NONE);
                self.nodes.push(Node { lot: 0, next: NONE, group: 0 });
                self.values.resize(self.values.len() + self.width, 0);
                if self.limits.groups.is_some() {
                    self.group_lots.push(0);
                }
                node.ok_or(TooMany)?
            }
        };
        self.write(node, lots, group, values);
        self.nodes[node as usize].next = self.people[place].head;
        self.people[place].head = node;
        self.people[place].kept += 1;
        Ok(())
    }
    fn write(
        &mut self,
        node: u32,
        (lot, group_lot): (u64, u64),
        group: u32,
        values: impl Iterator<Item = i64>,
    ) {
        let place = node as usize;
        self.nodes[place].lot = lot;
        self.nodes[place].group = group;
        if let Some(known) = self.group_lots.get_mut(place) {
            *known = group_lot;
        }
        let start = place * self.width;
        let to = &mut self.values[start..start + self.width];
        to.iter_mut().zip(values).for_each(|(to, value)| *to = value);
    }
    /// Remove some of the listed nodes from their individual.
    fn remove(&mut self, place: usize, which: impl Fn(u32, &Node) -> bool) {
        let mut head = NONE;
        for node in std::mem::take(&mut self.chain) {
            if which(node, &self.nodes[node as usize]) {
                self.free.push(node);
                self.people[place].kept -= 1;
            } else {
                self.nodes[node as usize].next = head;
                head = node;
            }
        }
        self.people[place].head = head;
    }
    /// Pass the groups and values of the rows of each individual on, one individual at a time.
    pub(crate) fn finish(
        mut self,
        keys: Keys,
        mut each: impl FnMut(&[(u32, &[i64])]),
    ) -> Result<(), TooMany> {
        self.settle(keys)?;
        for place in 0..self.people.len() {
            self.collect(place);
            let nodes = &self.nodes;
            if self.limits.rows < self.people[place].kept {
                self.chain.sort_unstable_by_key(|node| nodes[*node as usize].lot);
                self.chain.truncate(self.limits.rows as usize);
            }
            let row = |node: &u32| {
                let start = *node as usize * self.width;
                let values = self.values.get(start..start + self.width).unwrap_or_default();
                (nodes[*node as usize].group, values)
            };
            let rows: Vec<(u32, &[i64])> = self.chain.iter().map(row).collect();
            each(&rows);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
