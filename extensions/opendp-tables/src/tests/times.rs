//! Test columns of dates, times and durations. A cell that cannot be written as text, such as a
//! date beyond the calendar, is null in a text column.

use datafusion::arrow::array::{Array, DictionaryArray, Int32Array, ListArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::arrow::util::display::{DurationFormat, FormatOptions};
use datafusion::parquet::arrow::ArrowWriter;

use super::*;
use crate::DataFusion;
use crate::engine::Engine;

/// Return the numbers around the limits of all types of dates, times and durations. Also return
/// numbers of the largest magnitudes.
fn numbers_at_limits() -> Vec<i64> {
    let (first, last) = (-8_334_601_228_800_i64, 8_210_266_876_799_i64);
    let mut all = vec![0, 1, -1, i64::MIN, i64::MAX, i64::MAX / 1000, i64::MIN / 1000];
    for parts in [1, 1000, 1_000_000] {
        all.extend([first * parts, last * parts + (parts - 1)]);
        all.extend([(first + 86_400) * parts, (last + 1 - 86_400) * parts]);
    }
    for parts in [1, 1000, 1_000_000, 1_000_000_000] {
        all.extend([86_399 * parts, 86_400 * parts]);
    }
    all.extend([first / 86_400, last / 86_400, i64::from(i32::MIN), i64::from(i32::MAX)]);
    all.iter().flat_map(|n| [n.saturating_sub(1), *n, n.saturating_add(1)]).collect()
}
/// Make a column of a type. Its last cell is null.
fn column(kind: &DataType) -> ArrayRef {
    let narrow = matches!(kind, DataType::Date32 | DataType::Time32(_));
    let cells = numbers_at_limits().into_iter().map(Some).chain([None]);
    if !narrow {
        return cast(&Int64Array::from_iter(cells), kind).unwrap();
    }
    let cells = cells.map(|cell| cell.and_then(|n| i32::try_from(n).ok()));
    cast(&Int32Array::from_iter(cells), kind).unwrap()
}
fn kinds() -> Vec<DataType> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let mut kinds = vec![
        DataType::Date32,
        DataType::Date64,
        DataType::Time32(Second),
        DataType::Time32(Millisecond),
        DataType::Time64(Microsecond),
        DataType::Time64(Nanosecond),
    ];
    for unit in [Second, Millisecond, Microsecond, Nanosecond] {
        kinds.push(DataType::Duration(unit));
        for zone in [None, Some("UTC"), Some("+14:00"), Some("-12:30")] {
            kinds.push(DataType::Timestamp(unit, zone.map(Into::into)));
        }
    }
    kinds
}
/// Write each cell separately as a text. On the first and the last day of the calendar, a time in a
/// time zone gets no text, because its local time can be beyond the calendar.
fn texts(column: &ArrayRef) -> Vec<Option<String>> {
    let format = FormatOptions::new().with_duration_format(DurationFormat::Pretty);
    let options = CastOptions { safe: true, format_options: format };
    let parts = match column.data_type() {
        DataType::Timestamp(TimeUnit::Second, Some(_)) => 1,
        DataType::Timestamp(TimeUnit::Millisecond, Some(_)) => 1000,
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => 1_000_000,
        _ => 0,
    };
    let (first, last) = (-8_334_601_142_400_i64 * parts, 8_210_266_790_400_i64 * parts);
    let stored = cast(column, &DataType::Int64);
    let text = |row| {
        let number = stored.as_ref().ok()?.as_primitive::<Int64Type>().value(row);
        if 0 < parts && !(first..last).contains(&number) {
            return None;
        }
        let text = cast_with_options(&column.slice(row, 1), &DataType::Utf8, &options).ok()?;
        let text = text.as_string::<i32>();
        // The cast writes this text for a duration that is too long.
        (text.is_valid(0) && text.value(0) != "<invalid>").then(|| text.value(0).to_owned())
    };
    (0..column.len()).map(text).collect()
}
fn table(kind: Type) -> Table {
    let time = Column::new(kind);
    let time =
        if matches!(kind, Type::Text | Type::Boolean) { time } else { time.bounds(0.0, 9.0) };
    Table::private(PrivacyUnit::rows(1)).with("time", time)
}
fn batch(column: &ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter([("time", column.clone())]).unwrap()
}
/// Return two sources of a table with the column: batches in memory, and a file.
fn sources(column: &ArrayRef, folder: &std::path::Path) -> Vec<Source> {
    let path = folder.join("people.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch(column).schema(), None).unwrap();
    writer.write(&batch(column)).unwrap();
    writer.close().unwrap();
    let file = Source::Parquet(path.to_string_lossy().into_owned());
    vec![Source::Batches(vec![batch(column)]), file]
}
/// Check that a text column has the given texts, in each engine.
fn has_texts(column: &ArrayRef, expected: &[Option<String>]) {
    let folder = tempfile::tempdir().unwrap();
    let kind = column.data_type();
    let known = expected.iter().flatten().count() as f64;
    for source in sources(column, folder.path()) {
        for portable in [false, true] {
            let engine = DataFusion::new().unwrap();
            let engine = if portable { engine.portable() } else { engine };
            engine.register("people", &table(Type::Text), source.clone()).unwrap();
            let found = engine.run("SELECT \"time\" FROM people").unwrap();
            assert_eq!(found.concat(), expected, "{kind} {source:?}");
            let session = Session::with_engine(metadata(table(Type::Text)), Box::new(engine));
            let session = session.unwrap();
            let asked = |sql: &str| numbers(&ask(&session, sql).table);
            let answer = asked("SELECT COUNT(*), COUNT(time) FROM people");
            assert_eq!(answer, [[expected.len() as f64, known]], "{kind} {source:?} {portable}");
            // The engine can also evaluate a condition on the texts while it reads the file.
            let first = expected.iter().flatten().next().unwrap();
            let same = expected.iter().flatten().filter(|text| *text == first).count() as f64;
            let answer = asked(&format!("SELECT COUNT(*) FROM people WHERE time = '{first}'"));
            assert_eq!(answer, [[same]], "{kind} {source:?} {portable}");
        }
    }
}
#[test]
fn a_cell_without_a_text_is_null() {
    for kind in kinds() {
        let column = column(&kind);
        let texts = texts(&column);
        let cells = column.len() - column.null_count();
        let known = texts.iter().flatten().count();
        let all = matches!(
            kind,
            DataType::Duration(TimeUnit::Microsecond | TimeUnit::Nanosecond)
                | DataType::Timestamp(TimeUnit::Nanosecond, _)
        );
        assert!(0 < known && (known < cells) != all, "{kind}: {known} of {cells}");
        has_texts(&column, &texts);
    }
}
#[test]
fn a_value_of_a_dictionary_without_a_text_affects_only_its_cells() {
    for kind in kinds() {
        let values = column(&kind);
        let keys = Int32Array::from(vec![Some(0), Some(3), None, Some(1), Some(0)]);
        let texts = texts(&values);
        let expected = [0, 3, values.len() - 1, 1, 0].map(|row| texts[row].clone());
        let column: ArrayRef = Arc::new(DictionaryArray::new(keys, values));
        has_texts(&column, &expected);
    }
}
/// The numbers of dates and times can be read, whatever their size.
#[test]
fn dates_are_read_as_numbers() {
    for kind in kinds() {
        let column = column(&kind);
        let cells = (column.len() - column.null_count()) as f64;
        let folder = tempfile::tempdir().unwrap();
        for source in sources(&column, folder.path()) {
            for number in [Type::Integer, Type::Float, Type::Boolean] {
                let engine = DataFusion::new().unwrap();
                // Some types cannot be read as numbers. Whether a type can be read does not depend
                // on the cells.
                if let Err(error) = engine.register("people", &table(number), source.clone()) {
                    assert!(error.to_string().contains("cannot be read as"), "{error}");
                    continue;
                }
                let session = Session::with_engine(metadata(table(number)), Box::new(engine));
                let answer = ask(&session.unwrap(), "SELECT COUNT(time) FROM people");
                assert_eq!(numbers(&answer.table), [[cells]], "{kind} {number:?} {source:?}");
            }
        }
    }
}
/// Arrow says that it can cast these intervals to integers, but the engine cannot.
#[test]
fn intervals_are_not_read_as_integers() {
    use datafusion::arrow::array::{IntervalDayTimeArray, IntervalYearMonthArray};
    use datafusion::arrow::datatypes::IntervalDayTime;
    let days = vec![IntervalDayTime::MIN, IntervalDayTime::MAX];
    let columns: [ArrayRef; 2] = [
        Arc::new(IntervalYearMonthArray::from(vec![i32::MIN, i32::MAX])),
        Arc::new(IntervalDayTimeArray::from(days)),
    ];
    for column in columns {
        let open = |kind: Type| {
            let source = Source::Batches(vec![batch(&column)]);
            Session::new(metadata(table(kind)), vec![("people".into(), source)])
        };
        let error = open(Type::Integer).unwrap_err().to_string();
        assert!(error.contains("cannot be read as integer"), "{error}");
        // The control: both intervals have texts.
        let answer = ask(&open(Type::Text).unwrap(), "SELECT COUNT(time) FROM people");
        assert_eq!(numbers(&answer.table), [[2.0]]);
    }
}
#[test]
fn a_list_whose_times_could_have_no_local_time_is_refused() {
    let list = |values: ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(vec![1; values.len()]);
        Arc::new(ListArray::new(field, offsets, values, None))
    };
    let open = |column: &ArrayRef| {
        let source = Source::Batches(vec![batch(column)]);
        Session::new(metadata(table(Type::Text)), vec![("people".into(), source)])
    };
    let zoned = DataType::Timestamp(TimeUnit::Second, Some("+14:00".into()));
    let times = list(column(&zoned));
    let error = open(&list(times.clone())).unwrap_err().to_string();
    assert!(open(&times).is_err() && error.contains("cannot be read as text"), "{error}");
    // The controls: lists of other dates and times, and of numbers, are texts.
    for kind in [DataType::Date32, DataType::Timestamp(TimeUnit::Second, None), DataType::Int64] {
        let values = if kind == DataType::Int64 {
            Arc::new(Int64Array::from(vec![1, 2]))
        } else {
            column(&kind)
        };
        let cells = values.len() as f64;
        let answer = ask(&open(&list(values)).unwrap(), "SELECT COUNT(time) FROM people");
        assert_eq!(numbers(&answer.table), [[cells]], "{kind}");
    }
}
/// The rows do not decide whether the zone is known. So the table is refused when it is opened, and
/// no question is charged.
#[test]
fn a_column_of_times_in_an_unknown_zone_is_refused_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let zoned = |zone: &str| column(&DataType::Timestamp(TimeUnit::Second, Some(zone.into())));
    for (zone, known) in [("Mars/Olympus", false), ("UTC", true), ("+01:00", true)] {
        for source in sources(&zoned(zone), folder.path()) {
            let open =
                |kind| Session::new(metadata(table(kind)), vec![("people".into(), source.clone())]);
            match open(Type::Text) {
                Ok(_) => assert!(known, "{zone}"),
                Err(error) => {
                    assert!(!known && error.to_string().contains("read as text"), "{error}");
                }
            }
            // The control: no zone is needed to read the times as numbers.
            let answer = ask(&open(Type::Integer).unwrap(), "SELECT COUNT(time) FROM people");
            assert!(0.5 < numbers(&answer.table)[0][0], "{zone}");
        }
    }
}
