//! Statistics of Parquet files do not change how rows are read. Each row is read as if its file had
//! no other rows.

use datafusion::arrow::array::{Int16Array, Int32Array, UInt64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::config::ConfigOptions;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::SessionContext;
use opendp_core::IBig;

use super::*;
use crate::DataFusion;
use crate::engine::Engine;
use crate::released::Exact;

const SEED: &str = "0123456789abcdef";
const NAN: f64 = f64::NAN;
const SECONDS: DataType = DataType::Timestamp(TimeUnit::Second, None);
use Type::{Boolean, Date, Float, Integer, Text, Timestamp};

/// Make the columns of a row group of a Parquet file. Statistics leave out NaN and nulls. In many
/// row groups, all other cells of a column are equal. So the least and the largest cell in the
/// statistics are equal.
fn group(k: usize) -> Vec<(&'static str, ArrayRef)> {
    let floats = [
        [Some(5.0), Some(NAN), Some(5.0), Some(NAN)],
        [Some(NAN), Some(NAN), Some(NAN), Some(NAN)],
        [None, None, None, None],
        [Some(-1.0), Some(0.0), Some(-1.0), None],
        [Some(6.5), Some(1.0), Some(-0.0), Some(f64::INFINITY)],
    ];
    let flags = [
        [Some(-1), Some(0), Some(-1), Some(0)],
        [Some(0), Some(0), Some(0), Some(0)],
        [None, None, None, None],
        [Some(5), Some(5), Some(5), Some(5)],
        [Some(-1), Some(7), Some(0), None],
    ];
    let large = 1_u64 << 63;
    let unsigned = [
        [Some(5), Some(5), Some(6), None],
        [Some(large), Some(u64::MAX), Some(large), Some(large)],
        [None, None, None, None],
        [Some(large - 1), Some(0), Some(large), Some(5)],
        [Some(1), Some(1), Some(1), Some(1)],
    ];
    let texts = [
        [Some("5"), Some("5"), Some("05"), Some("NaN")],
        [Some("true"), Some("false"), Some("-1"), Some("0")],
        [None, None, None, None],
        [Some("5"), Some("5"), Some("5"), Some("5")],
        [Some(""), Some("5.0"), Some("é"), None],
    ];
    let days = [
        [Some(18_262), Some(18_262), Some(18_262), None],
        [Some(i32::MAX), Some(i32::MIN), Some(i32::MAX), Some(i32::MAX)],
        [None, None, None, None],
        [Some(18_321), Some(-719_163), Some(18_321), Some(2_932_897)],
        [Some(18_262), Some(18_263), Some(0), Some(-1)],
    ];
    let days = Int32Array::from(days[k].to_vec());
    let days = cast(&days, &DataType::Date32).unwrap();
    let times = cast(&cast(&days, &DataType::Int64).unwrap(), &SECONDS).unwrap();
    let (flags, unsigned) = (Int16Array::from(flags[k].to_vec()), unsigned[k].to_vec());
    let (floats, unsigned) = (
        Arc::new(Float64Array::from(floats[k].to_vec())) as ArrayRef,
        Arc::new(UInt64Array::from(unsigned)) as ArrayRef,
    );
    let same = Arc::new(Float64Array::from(vec![5.0, NAN, 5.0, NAN])) as ArrayRef;
    let of_type = |column: &ArrayRef, kind: DataType| cast(column, &kind).unwrap();
    vec![
        ("half", of_type(&floats, DataType::Float16)),
        ("cents", of_type(&floats, DataType::Decimal128(20, 2))),
        ("floats", floats),
        ("same", of_type(&same, DataType::Float32)),
        ("flags", Arc::new(flags)),
        ("never", Arc::new(Int64Array::from(vec![None; 4]))),
        ("whole", of_type(&unsigned, DataType::Decimal128(38, 0))),
        ("unsigned", unsigned),
        ("texts", Arc::new(StringArray::from(texts[k].to_vec()))),
        ("days", days),
        ("times", times),
    ]
}
/// Return the types that a column can be declared with.
fn kinds(name: &str) -> &'static [Type] {
    match name {
        "cents" | "whole" => &[Integer, Float, Text],
        "half" => &[Boolean, Float],
        "texts" => &[Boolean, Integer, Float, Text, Date, Timestamp],
        "days" | "times" => &[Text, Date, Timestamp],
        _ => &[Boolean, Integer, Float, Text],
    }
}
fn declared(name: &str, kind: Type) -> String {
    format!("{name}_{}", format!("{kind:?}").to_lowercase())
}
/// Make the row groups. Each column occurs once for each type that it can be declared with.
fn groups() -> Vec<RecordBatch> {
    let columns = |k: i64| {
        let copies = |(name, column): (&'static str, ArrayRef)| {
            kinds(name).iter().map(move |kind| (declared(name, *kind), column.clone(), true))
        };
        let ids = Int64Array::from_iter_values((0..4).map(|row| (4 * k + row) / 2));
        let ids = ("pid".to_owned(), Arc::new(ids) as ArrayRef, true);
        let columns = group(usize::try_from(k).unwrap()).into_iter().flat_map(copies);
        RecordBatch::try_from_iter_with_nullable(columns.chain([ids])).unwrap()
    };
    (0..5).map(columns).collect()
}
fn table(unit: PrivacyUnit) -> Table {
    let table = Table::private(unit).with("pid", Column::new(Integer));
    group(0).iter().fold(table, |table, (name, _)| {
        kinds(name).iter().fold(table, |table, kind| {
            let column = Column::new(*kind);
            let column = if kind.is_number() { column.bounds(-2.0, 8.0) } else { column };
            table.with(&declared(name, *kind), column)
        })
    })
}
/// Write each batch as one row group of a Parquet file, and return the path of the file.
fn written(folder: &std::path::Path, name: &str, batches: &[RecordBatch]) -> String {
    let path = folder.join(format!("{name}.parquet"));
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), None).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    path.to_string_lossy().into_owned()
}
/// Return a table of DataFusion that reads a Parquet file with the default options.
fn provider(engine: &DataFusion, path: String) -> Source {
    let options = ListingOptions::new(Arc::new(ParquetFormat::new()));
    let url = ListingTableUrl::parse(path).unwrap();
    let state = engine.context().state();
    let schema = engine.wait(options.infer_schema(&state, &url)).unwrap();
    let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(schema);
    Source::Provider(Arc::new(ListingTable::try_new(config).unwrap()))
}
fn zones() -> (Table, RecordBatch) {
    let code = Arc::new(Int64Array::from(vec![5, 0, -1, 7])) as ArrayRef;
    let size = Arc::new(Int64Array::from(vec![1, 2, 3, 4])) as ArrayRef;
    let table = Table::public("code").with("code", Column::new(Integer));
    let table = table.with("size", Column::new(Integer).bounds(0.0, 9.0));
    (table, RecordBatch::try_from_iter([("code", code), ("size", size)]).unwrap())
}
/// Conditions on a column of numbers. A null meets none of these conditions.
const NUMBERS: [&str; 13] = [
    "{} > 5",
    "{} >= 5",
    "{} < 6",
    "{} <= 0",
    "{} = 5",
    "{} <> 5",
    "5 < {}",
    "{} BETWEEN 0 AND 5",
    "{} NOT BETWEEN 0 AND 5",
    "{} IN (0, 5, 7)",
    "{} NOT IN (0, 7)",
    "NOT {} > 5",
    "abs(CAST({} AS DOUBLE)) >= 1",
];
const TEXTS: [&str; 4] =
    ["{} = '5'", "{} <> '5'", "{} IN ('5', 'true', 'NaN')", "NOT {} IN ('05', 'x')"];
const CONDITIONS: [&str; 4] = ["{}", "NOT {}", "{} = TRUE", "{} <> TRUE"];
/// Conditions on a column of dates or times. A null meets none of these conditions.
const DATES: [&str; 7] = [
    "{} > '2020-01-01'",
    "{} <= '2020-01-01'",
    "{} BETWEEN '1969-12-31' AND '2020-01-02'",
    "{} NOT IN ('2020-01-01', '1970-01-01')",
    "EXTRACT(YEAR FROM {}) = 2020",
    "date_trunc('month', {}) <> DATE '2020-01-01'",
    "NOT {} > '1970-01-01'",
];
const DATES_WITH_NULLS: [&str; 1] = ["coalesce({}, '2020-01-01') = '2020-01-01'"];
/// Conditions that a null can meet.
const WITH_NULLS: [&str; 2] = ["{} IS NULL", "{} IS NOT NULL"];
const NUMBERS_WITH_NULLS: [&str; 4] = [
    "CASE WHEN {} > 5 THEN 'yes' ELSE 'no' END = 'no'",
    "coalesce({}, 7) = 7",
    "nullif({}, 5) IS NULL",
    "{} > 5 OR {} IS NULL",
];
const TEXTS_WITH_NULLS: [&str; 2] =
    ["CASE WHEN {} = '5' THEN 1 ELSE 0 END = 0", "coalesce({}, '5') = '5'"];
const CONDITIONS_WITH_NULLS: [&str; 3] = [
    "CASE WHEN {} THEN 'yes' ELSE 'no' END = 'yes'",
    "CASE WHEN {} THEN 'yes' ELSE 'no' END = 'no'",
    "coalesce({}, TRUE)",
];
/// Queries with more than a condition on one column, for example with joins, unions or groups.
const QUERIES: [&str; 12] = [
    "SELECT SUM(same_float), AVG(same_integer), COUNT(same_boolean), COUNT(same_text) FROM people",
    "SELECT same_boolean, COUNT(*), SUM(floats_float) FROM people GROUP BY same_boolean",
    "SELECT COUNT(*) FILTER (WHERE flags_boolean), COUNT(*) FILTER (WHERE half_float > 5) FROM people",
    "SELECT CASE WHEN half_float > 5 THEN 'a' WHEN flags_boolean THEN 'b' ELSE 'c' END AS k, \
     COUNT(*) FROM people GROUP BY k",
    "SELECT MEDIAN(same_float), quantile(unsigned_integer, 0.9), MAX(floats_float) FROM people",
    "SELECT COUNT(*), SUM(x) FROM (SELECT same_integer AS x, flags_boolean AS f FROM people WHERE \
     floats_float IS NULL) AS p WHERE f OR x = 5",
    "SELECT COUNT(*), SUM(x) FROM (SELECT floats_integer AS x FROM people WHERE flags_boolean UNION \
     ALL SELECT unsigned_integer AS x FROM people WHERE unsigned_integer > 5) AS p",
    "SELECT COUNT(*), SUM(size) FROM people JOIN zones ON same_integer = code",
    "SELECT COUNT(*), SUM(size) FROM people JOIN zones ON flags_integer = code WHERE size > 1",
    "SELECT COUNT(*), COUNT(size) FROM people LEFT JOIN zones ON unsigned_integer = code WHERE \
     size IS NULL",
    "SELECT COUNT(*), VAR(same_float) FROM people WHERE never_integer IS NULL AND TRUE",
    "SELECT COUNT(*), COUNT(x) FROM (SELECT 5 AS x, same_float FROM people WHERE same_float = 5) AS p",
];
/// Open the same rows in memory, in a file, and in a file that a table of DataFusion reads.
fn engines(folder: &std::path::Path, unit: &PrivacyUnit) -> (Session, Vec<(String, DataFusion)>) {
    let (described, batches, (public, zones)) = (table(unit.clone()), groups(), zones());
    let path = written(folder, "people", &batches);
    let open = |name: &str, source: &dyn Fn(&DataFusion) -> Source| {
        let engine = DataFusion::new().unwrap();
        engine.register("people", &described, source(&engine)).unwrap();
        engine.register("zones", &public, Source::Batches(vec![zones.clone()])).unwrap();
        (name.to_owned(), engine)
    };
    let file = || open("file", &|_| Source::Parquet(path.clone()));
    let (name, portable) = file();
    let engines = vec![
        open("batches", &|_| Source::Batches(batches.clone())),
        file(),
        (name + " in SQL", portable.portable()),
        open("provider", &|engine| provider(engine, path.clone())),
    ];
    let mut metadata = metadata(described.clone());
    metadata.tables.insert("zones".into(), public.clone());
    let idle = Box::new(DataFusion::new().unwrap());
    (Session::with_engine(metadata, idle).unwrap(), engines)
}
/// Check that all engines give the same exact results. Return the sums of the first group.
#[track_caller]
fn same(session: &Session, engines: &[(String, DataFusion)], sql: &str) -> Vec<IBig> {
    let plan = session.checked(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).plan;
    let run = |engine: &DataFusion| Exact::run(&plan, engine, SEED).unwrap();
    let first = run(&engines[0].1);
    for (name, engine) in &engines[1..] {
        let other = run(engine);
        assert_eq!((&first.sums, &first.buckets), (&other.sums, &other.buckets), "{name}: {sql}");
    }
    first.sums.into_values().next().unwrap_or_default()
}
#[test]
fn a_file_and_batches_of_the_same_rows_give_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let (session, engines) = engines(folder.path(), &PrivacyUnit::rows(1));
    let count = |column: &str, condition: &str| {
        let condition = condition.replace("{}", column);
        let sql = format!("SELECT COUNT(*), COUNT({column}) FROM people WHERE {condition}");
        same(&session, &engines, &sql)
    };
    for (name, _) in group(0) {
        for kind in kinds(name) {
            let (strict, other): (&[&str], &[&str]) = match kind {
                Boolean => (&CONDITIONS, &CONDITIONS_WITH_NULLS),
                Text => (&TEXTS, &TEXTS_WITH_NULLS),
                Integer | Float => (&NUMBERS, &NUMBERS_WITH_NULLS),
                Date | Timestamp => (&DATES, &DATES_WITH_NULLS),
            };
            let column = declared(name, *kind);
            for condition in strict {
                // A cell that is read as null meets no condition.
                let counts = count(&column, condition);
                assert_eq!(counts[0], counts[1], "{column} {condition}");
            }
            for condition in WITH_NULLS.iter().chain(other) {
                count(&column, condition);
            }
        }
    }
    for sql in QUERIES {
        same(&session, &engines, sql);
    }
}
/// An id that is NaN is null. So a NaN is not read as the id of other rows of its file.
#[test]
fn ids_are_the_same_in_a_file_and_in_batches() {
    for id in ["pid", "same_integer", "same_text", "flags_integer", "unsigned_integer"] {
        let folder = tempfile::tempdir().unwrap();
        let (session, engines) = engines(folder.path(), &PrivacyUnit::id(id, 3));
        for sql in
            [&format!("SELECT COUNT(*), COUNT(DISTINCT {id}) FROM people"), QUERIES[0], QUERIES[6]]
        {
            same(&session, &engines, sql);
        }
    }
}

/// NaN is null, whatever type is declared and however the column is encoded.
#[test]
fn nan_is_null_in_a_column_of_each_type() {
    use DataType::{Dictionary, Float16, Float32, Float64, Int8};
    let folder = tempfile::tempdir().unwrap();
    let floats = Arc::new(Float64Array::from(vec![NAN, 0.0, -2.5, -NAN])) as ArrayRef;
    let encoded = Dictionary(Box::new(Int8), Box::new(Float64));
    for kind in [Float16, Float32, Float64, encoded] {
        let column = cast(&floats, &kind).unwrap();
        let table = Table::private(PrivacyUnit::rows(1)).with("b", Column::new(Boolean));
        let table = table.with("i", Column::new(Integer)).with("t", Column::new(Text));
        let columns = ["b", "i", "t"].map(|name| (name, column.clone()));
        let rows = RecordBatch::try_from_iter(columns).unwrap();
        let path = written(folder.path(), "people", std::slice::from_ref(&rows));
        for source in [Source::Batches(vec![rows]), Source::Parquet(path)] {
            let engine = DataFusion::new().unwrap();
            engine.register("people", &table, source).unwrap();
            let found = engine.run("SELECT b, i, t IS NULL FROM people").unwrap();
            let nan = [None, None, Some("true")];
            let whole = [Some("false"), Some("0"), Some("false")];
            let fraction = [Some("true"), None, Some("false")];
            let expected = [nan, whole, fraction, nan];
            let expected = expected.map(|row| row.map(|cell| cell.map(str::to_owned)));
            assert_eq!(found, expected, "{kind}");
        }
    }
}
/// Add one row to a file. Return by how much the added row changes two counts: the count of the
/// numbers that are not NaN, and the count of the rows that meet a condition.
fn changes(
    engine: impl Fn() -> DataFusion,
    source: impl Fn(&DataFusion, String) -> Source,
) -> [u64; 2] {
    let folder = tempfile::tempdir().unwrap();
    let rows = |more: usize| {
        let numbers = [vec![5.0; 50], vec![NAN; 50], vec![6.0; more]].concat();
        let flags = [vec![-1; 30], vec![0; 70], vec![1; more]].concat();
        let columns = [
            ("number", Arc::new(Float64Array::from(numbers)) as ArrayRef),
            ("flag", Arc::new(Int64Array::from(flags))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let counts = |more: usize| {
        let engine = engine();
        let path = written(folder.path(), &format!("more{more}"), &[rows(more)]);
        let number = Column::new(Float);
        let table = Table::private(PrivacyUnit::rows(1)).with("number", number);
        engine.register("people", &table, source(&engine, path)).unwrap();
        let count = |statement: &str| {
            let cells = engine.run(statement).unwrap().concat();
            cells[0].as_ref().unwrap().parse::<u64>().unwrap()
        };
        // The second statement reads the raw columns of the file, because queries on `people` do
        // not cast numbers to booleans.
        [
            count("SELECT COUNT(*) FROM people WHERE NOT isnan(number)"),
            count(
                "SELECT COUNT(*) FROM \"__raw people\" \
                 WHERE CASE WHEN TRY_CAST(flag AS BOOLEAN) THEN 1 ELSE 0 END = 1",
            ),
        ]
    };
    let (left, right) = (counts(0), counts(1));
    [0, 1].map(|k| left[k].abs_diff(right[k]))
}
#[test]
fn one_more_row_does_not_change_other_rows_of_its_file() {
    let file = |_: &DataFusion, path| Source::Parquet(path);
    let plain = || DataFusion::new().unwrap();
    let on_context = || DataFusion::on(SessionContext::new()).unwrap();
    assert_eq!(changes(plain, file), [1, 1]);
    assert_eq!(changes(plain, provider), [1, 1]);
    assert_eq!(changes(on_context, file), [1, 1]);
    // The controls: if some settings have the defaults of DataFusion, one row changes how other
    // rows are read.
    let with = |change: &dyn Fn(&mut ConfigOptions)| {
        let engine = on_context();
        change(engine.context().state_ref().write().config_mut().options_mut());
        engine
    };
    let reset = |options: &mut ConfigOptions| {
        let defaults = ConfigOptions::default();
        (options.execution, options.optimizer) = (defaults.execution, defaults.optimizer);
    };
    assert_eq!(changes(|| with(&reset), file), [49, 31]);
    let collect = |options: &mut ConfigOptions| options.execution.collect_statistics = true;
    assert_eq!(changes(|| with(&collect), file), [49, 31]);
    let prune = |options: &mut ConfigOptions| options.execution.parquet.pruning = true;
    assert_eq!(changes(|| with(&prune), file), [1, 31]);
    // The planner of this context passes conditions to the table `provider`, which reads its file
    // with the default options.
    assert_eq!(changes(on_context, provider), [1, 31]);
}
