//! Random members of domains for tests. The members are likely to break a transformation.

use std::collections::HashMap;

use crate::laws::{frames, vectors};
use crate::random::{RandomSource, Seeded};
use crate::{
    Atom, AtomDomain, BitVector, BitVectorDomain, Carrier, Chunk, Column, ColumnDomain, DataFrame,
    DataFrameDomain, Domain, HashableAtom, IBig, MapDomain, OptionDomain, PairDomain, VectorDomain,
};

/// A repeatable stream of choices for tests. The same seed gives the same choices.
#[derive(Debug)]
pub struct Draw(Seeded);
impl Draw {
    /// Start the stream of choices for a seed.
    pub fn new(seed: u64) -> Self {
        Draw(Seeded::new(seed))
    }
    /// Choose a number below `count`, or 0 when `count` is 0. The probabilities of the numbers
    /// differ slightly, which is irrelevant for tests.
    pub fn below(&mut self, count: usize) -> usize {
        let word = self.0.word().unwrap_or(0);
        (word % (count.max(1) as u64)) as usize
    }
    /// Choose an item of a list. Return `None` if the list is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// A domain from which tests can draw members, preferably extreme members.
///
/// If your own domain implements this trait, [`Grounds`](crate::laws::Grounds) can test
/// transformations from and to this domain.
pub trait Sample: Domain {
    /// Draw a few members that are likely to break a transformation. Examples are the smallest and
    /// largest values of a type, bounds, signed zeros, subnormals, infinities, NaN, missing values,
    /// and empty or repeated data. For a domain of collections, such as vectors, also draw an
    /// alphabet, which is a short list of elements. Return all small collections with elements in
    /// this alphabet.
    fn few(&self, draw: &mut Draw) -> Vec<Self::Carrier>;
    /// Draw a larger member. The default draws one of the members of [`few`](Sample::few).
    fn one(&self, draw: &mut Draw) -> Option<Self::Carrier> {
        let few = self.few(draw);
        draw.pick(&few).cloned()
    }
    /// Return a variation of a member, for example with a few changed records or keys. The result
    /// can be outside of the domain, or unchanged. The default draws another member.
    fn vary(&self, member: &Self::Carrier, draw: &mut Draw) -> Self::Carrier {
        self.one(draw).unwrap_or_else(|| member.clone())
    }
}

/// An atomic type with values that are likely to break a transformation.
pub trait SampleAtom: Atom {
    /// List extreme and ordinary values.
    fn hostile() -> Vec<Self>;
}
macro_rules! integers {
    ($($t:ident)*) => {$(
        impl SampleAtom for $t {
            fn hostile() -> Vec<Self> {
                let low = $t::MIN.saturating_add(1);
                vec![0, 1, 2, 3, 7, 100, $t::MIN, low, $t::MIN / 2, $t::MAX, $t::MAX - 1, $t::MAX / 2]
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
macro_rules! floats {
    ($($t:ident)*) => {$(
        impl SampleAtom for $t {
            fn hostile() -> Vec<Self> {
                vec![
                    0.0, -0.0, 1.0, -1.0, 0.1, 1.5, 3.0, 100.0, 1e-3, $t::EPSILON, $t::MAX, $t::MIN,
                    $t::INFINITY, $t::NEG_INFINITY, $t::NAN, $t::MIN_POSITIVE, -$t::MIN_POSITIVE,
                    $t::from_bits(1), -$t::from_bits(1), 1.0 + $t::EPSILON, 9007199254740992.0,
                ]
            }
        }
    )*};
}
floats!(f32 f64);
impl SampleAtom for IBig {
    fn hostile() -> Vec<Self> {
        let wide = IBig::ONE << 200_usize;
        let mut values: Vec<IBig> = i64::hostile().into_iter().map(IBig::from).collect();
        values.extend([-&wide, &wide - IBig::ONE, wide]);
        values
    }
}
impl SampleAtom for bool {
    fn hostile() -> Vec<Self> {
        vec![false, true]
    }
}
impl SampleAtom for String {
    fn hostile() -> Vec<Self> {
        let long = "x,\n\"a\r\n".repeat(50);
        ["", "a", "b", "0", "-0", "1", "1e400", "NaN", " 5", "٣", "9223372036854775808", &long]
            .map(str::to_owned)
            .to_vec()
    }
}

/// Draw at most `count` items from different positions of a list.
fn some<T: Clone>(mut items: Vec<T>, count: usize, draw: &mut Draw) -> Vec<T> {
    let mut chosen = Vec::new();
    while chosen.len() < count && !items.is_empty() {
        chosen.push(items.swap_remove(draw.below(items.len())));
    }
    chosen
}

impl<T: SampleAtom> Sample for AtomDomain<T> {
    fn few(&self, draw: &mut Draw) -> Vec<T> {
        let mut members = T::hostile();
        members.extend(self.bounds().map(|bounds| bounds.lower()));
        members.extend(self.bounds().map(|bounds| bounds.upper()));
        members.retain(|value| self.member(value));
        some(members, 12, draw)
    }
}
impl<T: SampleAtom> Sample for OptionDomain<AtomDomain<T>> {
    fn few(&self, draw: &mut Draw) -> Vec<Option<T>> {
        let inner = self.element().few(draw).into_iter().map(Some);
        std::iter::once(None).chain(inner).collect()
    }
}
impl<A: SampleAtom, B: SampleAtom> Sample for PairDomain<AtomDomain<A>, AtomDomain<B>> {
    fn few(&self, draw: &mut Draw) -> Vec<(A, B)> {
        let (first, second) = (self.first().few(draw), self.second().few(draw));
        let count = first.len().max(second.len());
        (0..count)
            .filter_map(|_| draw.pick(&first).cloned().zip(draw.pick(&second).cloned()))
            .collect()
    }
}
impl Sample for BitVectorDomain {
    fn few(&self, _: &mut Draw) -> Vec<BitVector> {
        let lengths = self.size().map_or(vec![0, 1, 7, 8, 9, 63, 64, 65, 130], |size| vec![size]);
        let vectors_of = |length: usize| {
            let bits =
                move |bit: fn(usize, usize) -> bool| (0..length).map(|i| bit(i, length)).collect();
            // Six vectors. In this order, the bits that are 1 are: none; all bits; every second
            // bit; the first bit; the last bit; some bits in the middle.
            [
                bits(|_, _| false),
                bits(|_, _| true),
                bits(|i, _| i % 2 == 0),
                bits(|i, _| i == 0),
                bits(|i, length| i + 1 == length),
                bits(|i, length| length / 3 <= i && i < length / 2),
            ]
        };
        let mut members: Vec<BitVector> = lengths.into_iter().flat_map(vectors_of).collect();
        members.retain(|bits| self.member(bits));
        members
    }
    fn vary(&self, member: &BitVector, draw: &mut Draw) -> BitVector {
        let place = draw.below(member.len());
        member.iter().enumerate().map(|(i, bit)| bit != (i == place)).collect()
    }
}
impl<D: Sample> Sample for VectorDomain<D> {
    fn few(&self, draw: &mut Draw) -> Vec<Vec<D::Carrier>> {
        let alphabet = some(self.element().few(draw), 3, draw);
        let mut all = vectors(&alphabet, self.size().unwrap_or(3).min(3));
        all.retain(|vector| self.size().is_none_or(|size| size == vector.len()));
        all
    }
    fn one(&self, draw: &mut Draw) -> Option<Vec<D::Carrier>> {
        let letters = 1 + draw.below(6);
        let alphabet = some(self.element().few(draw), letters, draw);
        let length = self.size().unwrap_or_else(|| draw.below(12));
        (0..length).map(|_| draw.pick(&alphabet).cloned()).collect()
    }
    fn vary(&self, member: &Vec<D::Carrier>, draw: &mut Draw) -> Vec<D::Carrier> {
        let mut varied = member.clone();
        for _ in 0..=draw.below(3) {
            let place = draw.below(varied.len());
            let fresh = self.element().one(draw);
            match (draw.below(if self.size().is_some() { 3 } else { 5 }), fresh) {
                (0, Some(fresh)) if place < varied.len() => varied[place] = fresh,
                (1, _) if place < varied.len() => {
                    let changed = self.element().vary(&varied[place], draw);
                    varied[place] = changed;
                }
                (2, _) if place < varied.len() => {
                    let other = draw.below(varied.len());
                    varied.swap(place, other);
                }
                (3, Some(fresh)) => varied.insert(place, fresh),
                (4, _) if place < varied.len() => {
                    varied.remove(place);
                }
                _ => {}
            }
        }
        varied
    }
}
impl<K: SampleAtom + HashableAtom, V: SampleAtom> Sample
    for MapDomain<AtomDomain<K>, AtomDomain<V>>
{
    fn few(&self, draw: &mut Draw) -> Vec<HashMap<K, V>> {
        let keys = some(self.key().few(draw), 2, draw);
        let values = some(self.value().few(draw), 3, draw);
        let pairs = |vector: Vec<V>| keys.iter().cloned().zip(vector).collect();
        vectors(&values, 2).into_iter().map(pairs).collect()
    }
    fn vary(&self, member: &HashMap<K, V>, draw: &mut Draw) -> HashMap<K, V> {
        let mut varied = member.clone();
        if let (Some(key), Some(value)) = (self.key().one(draw), self.value().one(draw)) {
            varied.insert(key, value);
        }
        if draw.below(2) == 0
            && let Some(key) = varied.keys().next().cloned()
        {
            varied.remove(&key);
        }
        varied
    }
}

/// Find the type of cells that has the name `$found`. Define `$t` as this type, and return `$run`
/// from the calling function. The type can be an `Option`. If no type has this name, do nothing.
macro_rules! of_cells {
    ($found:expr, $t:ident => $run:expr) => {
        of_cells!(@each $found, $t => $run;
            bool String f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize)
    };
    (@each $found:expr, $t:ident => $run:expr; $($atom:ident)*) => {$(
        {
            type $t = $atom;
            if $found == <$t as crate::Named>::type_name() {
                return $run;
            }
        }
        {
            type $t = Option<$atom>;
            if $found == <$t as crate::Named>::type_name() {
                return $run;
            }
        }
    )*};
}
/// Draw a cell that is likely to break a transformation. Return the cell as a column of one row. If
/// no cell can be drawn, return a column without rows.
fn cell(domain: &ColumnDomain, draw: &mut Draw) -> Column {
    of_cells!(domain.cell_type(), T => {
        let cell = domain.cell::<T>().and_then(|cells| cells.one(draw));
        Column::new(cell.into_iter().collect::<Vec<T>>())
    });
    domain.empty()
}
/// Return the domain of all cells that have the same type as the cells of a column.
fn any_cell(column: &Column) -> Option<ColumnDomain> {
    of_cells!(column.cell_type(), T => Some(ColumnDomain::new(<T as crate::Cell>::Domain::default())));
    None
}
/// Draw a schema with the columns `a` and `b`, or with only the column `a`. Also draw the type of
/// each column.
fn some_schema(draw: &mut Draw) -> Option<DataFrameDomain<String>> {
    let types = [
        ColumnDomain::new(AtomDomain::<bool>::default()),
        ColumnDomain::new(AtomDomain::<i32>::default()),
        ColumnDomain::new(AtomDomain::<f64>::default()),
        ColumnDomain::new(AtomDomain::<String>::default()),
        ColumnDomain::new(OptionDomain::new(AtomDomain::<i64>::default())),
    ];
    let names = ["a", "b"].iter().take(1 + draw.below(2));
    let columns = names.map(|name| Some(((*name).to_owned(), draw.pick(&types)?.clone())));
    DataFrameDomain::with_schema(columns.collect::<Option<Vec<_>>>()?).ok()
}
impl DataFrameDomain<String> {
    /// Draw a row that fits the schema of the domain.
    fn row(&self, draw: &mut Draw) -> Option<DataFrame<String>> {
        let columns = self.schema()?.iter().map(|(name, d)| (name.clone(), cell(d, draw)));
        DataFrame::new(columns.collect::<Vec<_>>()).ok()
    }
}
impl Sample for DataFrameDomain<String> {
    fn few(&self, draw: &mut Draw) -> Vec<DataFrame<String>> {
        if self.schema().is_none() {
            // The members of a domain without a schema can have different schemas, so draw several
            // schemas.
            let schemas: Vec<_> = (0..3).filter_map(|_| some_schema(draw)).collect();
            let sized = |schema: DataFrameDomain<String>| match self.size() {
                Some(size) => schema.with_size(size),
                None => schema,
            };
            return schemas.into_iter().flat_map(|schema| sized(schema).few(draw)).collect();
        }
        let alphabet: Vec<_> = (0..3).filter_map(|_| self.row(draw)).collect();
        let mut all = frames(&alphabet, self.size().unwrap_or(3).min(3));
        all.retain(|frame| self.size().is_none_or(|size| size == frame.rows()));
        all
    }
    fn vary(&self, member: &DataFrame<String>, draw: &mut Draw) -> DataFrame<String> {
        let columns = member.columns().map(|(n, column)| Some((n.clone(), any_cell(column)?)));
        let own = columns
            .collect::<Option<Vec<_>>>()
            .and_then(|columns| DataFrameDomain::with_schema(columns).ok());
        let schema = if self.schema().is_some() { Some(self.clone()) } else { own };
        let Some(fresh) = schema.and_then(|schema| schema.row(draw)) else { return member.clone() };
        let part = |rows: std::ops::Range<usize>| {
            let mut part = DataFrame::buffer();
            part.append_rows(member.chunk().narrow(rows));
            part
        };
        // Replace, insert or remove a row.
        let (rows, place) = (member.rows(), draw.below(member.rows()));
        let (fresh, skip) = match draw.below(if self.size().is_some() { 1 } else { 3 }) {
            0 => (Some(fresh), 1),
            1 => (Some(fresh), 0),
            _ => (None, 1),
        };
        let mut varied = part(0..place);
        fresh.into_iter().for_each(|row| varied.append(row));
        varied.append(part(rows.min(place + skip)..rows));
        varied
    }
}
