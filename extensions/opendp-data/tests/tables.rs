//! Tests that a cell of a table affects only its own row, whatever its content.
#![allow(clippy::unwrap_used, reason = "tests stop by panicking")]

use std::fmt::Debug;
use std::io::Cursor;

use opendp_core::{
    AtomDomain, Bounds, ColumnDomain, DataFrame, DataFrameDomain, Domain, OptionDomain, Result,
    VectorDomain,
};
use opendp_data::{CsvColumn, CsvFrame};

/// Lines that caused faults in some programs: a wrong number of records, an aborted run, or a value
/// out of the domain.
const HOSTILE: [&[u8]; 16] = [
    b"1,0.75",
    b"1,1e400",
    b"1,NaN",
    b"1, 5",
    "1,\u{663}".as_bytes(),
    b"1,",
    b"",
    b"1",
    b"1,9223372036854775808",
    b"1,\"0.6",
    b"1,\"a\"b\"",
    b"\"1",
    b"1,-0.0\r",
    b"1,\xff\xfe",
    b"1,0.7,3,4",
    b"#1,0.9",
];

/// Check a law for the function `read`, which reads the column `x` of a table. Each line must give
/// one row, and this row must be a member of the domain. The row must not depend on the other
/// lines: a table that contains only this line must give the same row.
fn law<T: Clone + Debug + PartialEq>(
    read: impl Fn(&[u8]) -> Result<Vec<T>>,
    member: impl Fn(&T) -> bool,
) -> Result<usize, String> {
    let lines: Vec<&[u8]> = HOSTILE.to_vec();
    let table = |lines: &[&[u8]]| [&[&b"id,x"[..]], lines, &[&b""[..]]].concat().join(&b'\n');
    let read = |lines: &[&[u8]]| {
        let show = || String::from_utf8_lossy(&lines.join(&b'|')).into_owned();
        let rows = read(&table(lines)).map_err(|error| format!("{}: {error}", show()))?;
        if rows.len() == lines.len() && rows.iter().all(&member) {
            Ok(rows)
        } else {
            Err(format!("{} is read as {rows:?}", show()))
        }
    };
    let alone: Vec<T> =
        lines.iter().map(|line| Ok(read(&[*line])?.remove(0))).collect::<Result<_, String>>()?;
    let mut tables = 0;
    for (i, first) in lines.iter().enumerate() {
        for (j, second) in lines.iter().enumerate() {
            for (k, third) in lines.iter().enumerate() {
                let found = read(&[*first, *second, *third])?;
                let expected = [i, j, k].map(|line| alone[line].clone());
                if found != expected {
                    return Err(format!("{first:?} {second:?} {third:?} is read as {found:?}"));
                }
                tables += 1;
            }
        }
    }
    Ok(tables)
}
fn unit() -> AtomDomain<f64> {
    AtomDomain::bounded(Bounds::new(0.5, 1.0).unwrap())
}
fn column<D>(domain: D) -> impl Fn(&[u8]) -> Result<Vec<<D as Domain>::Carrier>>
where
    VectorDomain<D>: Domain<Carrier = Vec<D::Carrier>>,
    D: Domain,
{
    let rows = VectorDomain::new(domain);
    move |table: &[u8]| {
        let chunks = CsvColumn::new(Cursor::new(table.to_vec()), Some("x"), &rows)?;
        Ok(chunks.collect::<Result<Vec<_>>>()?.concat())
    }
}

#[test]
fn a_line_is_a_row_that_no_other_line_touches() {
    assert_eq!(law(column(unit()), |x| unit().member(x)), Ok(4096));
    assert_eq!(law(column(AtomDomain::<i64>::default()), |_| true), Ok(4096));
    let may_lack = OptionDomain::new(unit());
    assert_eq!(law(column(may_lack.clone()), |x| may_lack.member(x)), Ok(4096));
    assert_eq!(law(column(AtomDomain::<String>::default()), |_| true), Ok(4096));
}
#[test]
fn a_line_is_a_row_of_a_frame_that_no_other_line_touches() {
    let schema = DataFrameDomain::with_schema([
        ("x".to_owned(), ColumnDomain::new(unit())),
        ("id".to_owned(), ColumnDomain::new(OptionDomain::new(AtomDomain::<i32>::default()))),
    ])
    .unwrap();
    let read = |table: &[u8]| {
        let frames = CsvFrame::new(Cursor::new(table.to_vec()), &schema)?;
        let frames = frames.collect::<Result<Vec<DataFrame<String>>>>()?;
        assert!(frames.iter().all(|frame| schema.member(frame)));
        let rows = frames.iter().flat_map(|frame| {
            let x = frame.cells::<f64>(&"x".to_owned()).unwrap_or_default();
            let id = frame.cells::<Option<i32>>(&"id".to_owned()).unwrap_or_default();
            x.iter().copied().zip(id.iter().copied())
        });
        Ok(rows.collect())
    };
    assert_eq!(law(read, |(x, _)| unit().member(x)), Ok(4096));
}
#[test]
fn usual_readers_break_the_law() {
    let cell = |record: &csv::ByteRecord| {
        std::str::from_utf8(record.get(1)?).ok()?.trim().parse::<f64>().ok()
    };
    let records = |table: &[u8]| {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table);
        reader.byte_records().map(|record| record.unwrap()).collect::<Vec<_>>()
    };
    // In this reader, a quoted cell can extend beyond its line, and an empty line gives no row. The
    // first table that breaks the law has only an empty line after its header.
    let standard =
        |table: &[u8]| Ok(records(table).iter().map(|r| cell(r).unwrap_or(0.5)).collect());
    assert!(law(standard, |_| true).unwrap_err().contains("is read as []"));
    let lines = |table: &[u8]| -> Vec<Option<f64>> {
        let lines = table.split(|byte| *byte == b'\n').skip(1);
        let rows = lines.map(|line| line.split(|byte| *byte == b',').nth(1));
        let rows: Vec<_> =
            rows.map(|cell| std::str::from_utf8(cell?).ok()?.trim().parse::<f64>().ok()).collect();
        rows[..rows.len() - 1].to_vec()
    };
    // This reader drops the rows of cells that do not parse.
    let dropping = |table: &[u8]| Ok(lines(table).into_iter().flatten().collect());
    assert!(law(dropping, |_: &f64| true).is_err());
    // This reader returns an error at the first cell that does not parse.
    let failing = |table: &[u8]| {
        let bad = || opendp_core::Error::argument("data", "a cell does not read");
        lines(table).into_iter().map(|cell| cell.ok_or_else(bad)).collect()
    };
    assert!(law(failing, |_: &f64| true).unwrap_err().contains("does not read"));
    // This reader keeps values that are out of bounds, and NaN.
    let as_they_are = |table: &[u8]| {
        Ok(lines(table).into_iter().map(|cell| cell.unwrap_or(0.5)).collect::<Vec<f64>>())
    };
    assert!(law(as_they_are, |x| unit().member(x)).is_err());
    // If a cell does not parse or is out of bounds, this reader fills the cell with the value of
    // the previous row.
    let filled = |table: &[u8]| {
        let mut last = 0.5;
        let fill = |cell: Option<f64>| {
            last = cell.filter(|x| unit().member(x)).unwrap_or(last);
            last
        };
        Ok(lines(table).into_iter().map(fill).collect())
    };
    assert!(law(filled, |x| unit().member(x)).unwrap_err().contains("is read as"));
    // The control: this reader works line by line, and gives only values within the bounds. So it
    // obeys the law.
    let member = |cell: Option<f64>| cell.filter(|x| unit().member(x)).unwrap_or(0.5);
    let total = |table: &[u8]| Ok(lines(table).into_iter().map(member).collect());
    assert_eq!(law(total, |x| unit().member(x)), Ok(4096));
}
