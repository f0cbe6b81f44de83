//! Reads a column of a Parquet file.

use std::sync::Arc;
use std::{fmt, fs::File};

use arrow::datatypes::{DataType, FieldRef, Schema};
use opendp_core::{Error, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetStatisticsPolicy;

use crate::arrow_frame::names;
use crate::panics::caught;
use crate::parquet_batches::Batches;
use crate::progress::place;
use crate::{ArrowColumn, ArrowDomain, Progress};

/// The number of rows in one chunk.
const CHUNK: usize = 1 << 16;

/// A Parquet file whose schema was read.
pub(crate) struct Table {
    pub(crate) names: Vec<String>,
    builder: ParquetRecordBatchReaderBuilder<File>,
}
impl Table {
    pub(crate) fn open(file: File) -> Result<Self> {
        let builder = caught(|| without_dictionaries(file)).and_then(Result::ok);
        let builder = builder.ok_or_else(invalid)?;
        let names = names(builder.schema());
        // A column is read by its position in the Parquet schema. The schema of the batches leaves
        // out groups without columns. So a column can have another position in the schema of the
        // batches.
        let roots = builder.parquet_schema().root_schema().get_fields();
        if !roots.iter().map(|root| root.name()).eq(names.iter().map(String::as_str)) {
            let reason = "the file has a group without columns: write the file without this group";
            return Err(Error::argument("data", reason));
        }
        Ok(Table { names, builder })
    }
    /// Read only the pages of the columns at the given positions. Return the batches and the number
    /// of rows that the file states. The batches contain these columns in the order of the file.
    pub(crate) fn columns(self, places: impl IntoIterator<Item = usize>) -> Result<(Batches, u64)> {
        let builder = self.builder;
        let rows = u64::try_from(builder.metadata().file_metadata().num_rows());
        let rows = rows.map_err(|_| invalid())?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), places);
        let builder = builder.with_projection(mask).with_batch_size(CHUNK);
        let reader = caught(|| builder.build()).and_then(Result::ok).ok_or_else(invalid)?;
        Ok((Batches::new(reader, rows), rows))
    }
}
/// Open a file, and read its columns without dictionaries.
///
/// A file can state that a column has a dictionary with keys of a narrow type, such as `i8`. The
/// Parquet library panics if a batch of this column has more different values than this type has
/// keys. So if the dictionaries were kept, the records would decide whether the library panics.
fn without_dictionaries(
    file: File,
) -> std::result::Result<ParquetRecordBatchReaderBuilder<File>, ParquetError> {
    let mut read = ArrowReaderMetadata::load(&file, options())?;
    let fields: Vec<FieldRef> = read.schema().fields().iter().map(plain).collect();
    if read.schema().fields()[..] != fields[..] {
        let schema = Schema::new_with_metadata(fields, read.schema().metadata().clone());
        let options = options().with_schema(Arc::new(schema));
        read = ArrowReaderMetadata::try_new(read.metadata().clone(), options)?;
    }
    Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, read))
}
/// Return options that skip the statistics of the file. Statistics are, for example, the least and
/// the largest cell of a column. The statistics depend on the records, so an error in them would
/// depend on the records.
fn options() -> ArrowReaderOptions {
    ArrowReaderOptions::new()
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
}
/// Replace the type of a dictionary by the type of its values. Do the same for dictionaries within
/// lists, maps and structs.
fn plain(field: &FieldRef) -> FieldRef {
    let new = match field.data_type() {
        // A dictionary stores each text once. Without the dictionary, the texts of a batch can need
        // more than the `2^31` bytes of a `Utf8` array. So use an array with longer offsets.
        DataType::Dictionary(_, values) => match &**values {
            DataType::Utf8 => DataType::LargeUtf8,
            DataType::Binary => DataType::LargeBinary,
            values => values.clone(),
        },
        DataType::List(item) => DataType::List(plain(item)),
        DataType::LargeList(item) => DataType::LargeList(plain(item)),
        DataType::ListView(item) => DataType::ListView(plain(item)),
        DataType::LargeListView(item) => DataType::LargeListView(plain(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(plain(item), *size),
        DataType::Map(entry, sorted) => DataType::Map(plain(entry), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain).collect()),
        _ => return field.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(new))
}
fn invalid() -> Error {
    Error::argument("data", "the file is not a Parquet file")
}

/// The chunks of one column, which is read from a Parquet file. Each chunk is a member of a domain
/// of rows. Only the pages of this column are read.
pub struct ParquetColumn<D>(ArrowColumn<D>);
impl<D: ArrowDomain> ParquetColumn<D> {
    /// Read a column by its name. The name is optional if there is only one column.
    ///
    /// # Errors
    /// `Argument` when the file is not a Parquet file, or has a group without columns. `Argument`
    /// when the file has no column or several columns with this name. `Argument` when no name is
    /// given, and the file does not have exactly one column. Further errors are the errors of
    /// [`ArrowDomain::read_array`].
    pub fn new(file: File, column: Option<&str>, domain: &D) -> Result<Self> {
        let table = Table::open(file)?;
        let place = place(&table.names, column)?;
        let (batches, rows) = table.columns([place])?;
        let schema = batches.schema();
        ArrowColumn::at(&schema, 0, Some(rows), Box::new(batches), domain).map(ParquetColumn)
    }
    /// Call `listener` with the progress, once for each batch of rows that is read.
    #[must_use]
    pub fn on_progress(self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        ParquetColumn(self.0.on_progress(listener))
    }
}
impl<D: ArrowDomain> Iterator for ParquetColumn<D> {
    type Item = Result<D::Carrier>;
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}
impl<D: fmt::Debug> fmt::Debug for ParquetColumn<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ParquetColumn").field(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;
    use arrow::array::{
        DictionaryArray, Float64Array, Int8Array, Int64Array, RecordBatch, StringArray,
    };
    use arrow::datatypes::Field;
    use opendp_core::{AtomDomain, VectorDomain};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Repetition, Type as Physical};
    use parquet::data_type::Int64Type;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::Type;

    fn file(rows: i64) -> File {
        let schema = Arc::new(Schema::new(vec![
            Field::new("id", DataType::Int64, false),
            Field::new("x", DataType::Float64, true),
        ]));
        let ids = Int64Array::from_iter_values(0..rows);
        let x = Float64Array::from_iter((0..rows).map(|i| (i % 3 != 0).then_some(i as f64)));
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(ids), Arc::new(x)]).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        let mut writer = ArrowWriter::try_new(&mut file, schema, None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn a_column_with_more_values_than_keys_of_its_dictionary_is_read() {
        let kind = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Int64));
        let schema = Arc::new(Schema::new(vec![Field::new("x", kind, true)]));
        let mut file = tempfile::tempfile().unwrap();
        let mut writer = ArrowWriter::try_new(&mut file, schema.clone(), None).unwrap();
        // Each row group has its own dictionary of 100 values, and one batch contains both row
        // groups. So the batch has 200 values, but keys of type `Int8` are at most 127.
        for first in [0, 100] {
            let keys = Int8Array::from_iter_values(0..100);
            let values = Arc::new(Int64Array::from_iter_values(first..first + 100));
            let column = Arc::new(DictionaryArray::new(keys, values));
            writer.write(&RecordBatch::try_new(schema.clone(), vec![column]).unwrap()).unwrap();
            writer.flush().unwrap();
        }
        writer.close().unwrap();
        file.rewind().unwrap();
        let domain = VectorDomain::new(AtomDomain::<i64>::default());
        let column = ParquetColumn::new(file, None, &domain).unwrap();
        let all = column.collect::<Result<Vec<Vec<i64>>>>().unwrap().concat();
        assert_eq!(all, (0..200).collect::<Vec<i64>>());
    }
    #[test]
    fn streams_a_column_in_chunks() {
        let domain = VectorDomain::new(AtomDomain::<f64>::non_nan());
        let rows = 2 * CHUNK as i64 + 5;
        let column = ParquetColumn::new(file(rows), Some("x"), &domain).unwrap();
        let chunks: Vec<Vec<f64>> = column.collect::<Result<_>>().unwrap();
        assert!(chunks.len() >= 3);
        let all = chunks.concat();
        assert_eq!(all.len() as i64, rows);
        assert!(all.iter().enumerate().all(|(i, x)| *x == if i % 3 == 0 { 0.0 } else { i as f64 }));
    }
    #[test]
    fn refuses_what_is_not_parquet_and_unknown_columns() {
        let domain = VectorDomain::new(AtomDomain::<f64>::non_nan());
        let text = stored(b"a,b\n1,2\n");
        assert_eq!(ParquetColumn::new(text, None, &domain).unwrap_err().kind(), "Argument");
        let error = ParquetColumn::new(file(3), Some("y"), &domain).unwrap_err();
        assert!(error.to_string().contains("2 columns"), "{error}");
        assert!(ParquetColumn::new(file(3), Some("x"), &domain.with_size(4)).unwrap().count() > 1);
    }
    /// Write bytes to a new file.
    fn stored(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }
    #[test]
    fn a_text_that_is_not_utf_8_is_an_error_that_depends_on_the_records() {
        let schema = Arc::new(Schema::new(vec![Field::new("name", DataType::Utf8, false)]));
        let names = StringArray::from(vec!["Ada", "hostile"]);
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(names)]).unwrap();
        let domain = VectorDomain::new(AtomDomain::<String>::default());
        // In the written file, replace the first byte of the text `hostile` by `first`.
        let read = |first: u8| {
            let mut bytes = Vec::new();
            let mut writer = ArrowWriter::try_new(&mut bytes, schema.clone(), None).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            while let Some(place) = bytes.windows(7).position(|part| part == b"hostile") {
                bytes[place] = first;
            }
            let column = ParquetColumn::new(stored(&bytes), None, &domain).unwrap();
            column.collect::<Result<Vec<_>>>()
        };
        assert_eq!(read(b'H').unwrap().concat(), ["Ada", "Hostile"]);
        assert!(crate::depends_on_records(&read(0xff).unwrap_err()));
    }
    #[test]
    fn a_group_without_columns_does_not_move_the_columns_after_it() {
        let domain = VectorDomain::new(AtomDomain::<i64>::default());
        let read = |groups: &[&str]| {
            let group = |name: &&str| {
                let group = Type::group_type_builder(name).with_repetition(Repetition::REQUIRED);
                Arc::new(group.build().unwrap())
            };
            let number = |name: &str| {
                let number = Type::primitive_type_builder(name, Physical::INT64);
                Arc::new(number.with_repetition(Repetition::REQUIRED).build().unwrap())
            };
            let roots = groups.iter().map(group).chain([number("a"), number("x")]).collect();
            let schema = Type::group_type_builder("rows").with_fields(roots).build().unwrap();
            let mut bytes = Vec::new();
            let mut writer =
                SerializedFileWriter::new(&mut bytes, Arc::new(schema), Default::default())
                    .unwrap();
            let (mut rows, mut value) = (writer.next_row_group().unwrap(), 0);
            while let Some(mut column) = rows.next_column().unwrap() {
                value += 1;
                column.typed::<Int64Type>().write_batch(&[value], None, None).unwrap();
                column.close().unwrap();
            }
            rows.close().unwrap();
            writer.close().unwrap();
            ParquetColumn::new(stored(&bytes), Some("x"), &domain)?.collect::<Result<Vec<_>>>()
        };
        assert_eq!(read(&[]).unwrap().concat(), [2]);
        let error = read(&["empty"]).unwrap_err().to_string();
        assert!(error.contains("a group without columns"), "{error}");
    }
    #[test]
    fn a_table_without_records_is_one_empty_chunk() {
        let domain = VectorDomain::new(AtomDomain::<f64>::non_nan());
        let column = ParquetColumn::new(file(0), Some("x"), &domain).unwrap();
        assert_eq!(column.collect::<Vec<_>>(), [Ok(vec![])]);
    }
}
