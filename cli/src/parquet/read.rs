//! Parquet's columns as columns of values: those that Dormer wrote, or an engine that read and wrote them again.

use std::fs::File;
use std::path::Path;

use dormer_core::tables::{Column, ColumnType, Field, Table, TableKind};
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

/// The metadata of a file under a key.
pub(crate) fn metadata_value(file: &Path, key: &str) -> Result<Option<String>, ParquetError> {
    let reader = SerializedFileReader::new(File::open(file)?)?;
    let entries = reader.metadata().file_metadata().key_value_metadata();
    let found = entries.and_then(|all| all.iter().find(|entry| entry.key == key));
    Ok(found.and_then(|entry| entry.value.clone()))
}

/// Reads a table; if columns are named, only those, and the others stay empty. Columns that are missing or have an
/// unsupported type become unknown values, unknown columns are ignored.
pub(crate) fn read(
    file: &Path,
    kind: &'static TableKind,
    columns: Option<&[&str]>,
) -> Result<Table, ParquetError> {
    let reader = SerializedFileReader::new(File::open(file)?)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut table = Table::new(kind);
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let n_rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        for (field, column) in kind.columns.iter().zip(&mut table.columns) {
            if columns.is_some_and(|names| !names.contains(&field.name())) {
                continue;
            }
            let found = read_column(field, &schema, group.as_ref(), n_rows)?;
            let read = found.filter(|read| read.len() == n_rows);
            match read {
                Some(read) => column.append(read),
                None => column.add_nulls(n_rows),
            }
        }
    }
    Ok(table)
}

/// The rows of a column in a row group; `None` if it is missing, or of a type that the field cannot be read from.
fn read_column(
    field: &Field,
    schema: &SchemaDescriptor,
    group: &dyn RowGroupReader,
    n_rows: usize,
) -> Result<Option<Column>, ParquetError> {
    let is_of_field = |leaf: &usize| schema.get_column_root(*leaf).name() == field.name();
    let leaves = (0..schema.num_columns()).filter(is_of_field);
    let leaves = leaves.map(|leaf| Leaf::read(leaf, schema, group, n_rows));
    let leaves: Vec<Leaf> = leaves.collect::<Result<_, _>>()?;
    let mut leaves = leaves.into_iter();
    let Some(Leaf { levels, values }) = leaves.next() else {
        return Ok(None);
    };
    Ok(match (field.of, values) {
        (ColumnType::Str, Values::Bytes(all)) => Some(Column::Str(levels.flat(all, text))),
        (ColumnType::I32, Values::I32(all)) => Some(Column::I32(levels.flat(all, Some))),
        (ColumnType::Date, Values::I32(all)) => Some(Column::Date(levels.flat(all, Some))),
        (ColumnType::I64, Values::I64(all)) => Some(Column::I64(levels.flat(all, Some))),
        (ColumnType::Timestamp, Values::I64(all)) => {
            Some(Column::Timestamp(levels.flat(all, Some)))
        }
        (ColumnType::U64, Values::I64(all)) => Some(Column::U64(
            levels.flat(all, |number| Some(number.cast_unsigned())),
        )),
        (ColumnType::F64, Values::F64(all)) => Some(Column::F64(levels.flat(all, Some))),
        (ColumnType::Flag, Values::Flag(all)) => Some(Column::Flag(levels.flat(all, Some))),
        (ColumnType::ListU64, Values::I64(all)) => {
            let lists = levels
                .nested(all, |number| Some(number.cast_unsigned()))
                .into_iter();
            let known = lists.map(|list| Some(list?.into_iter().flatten().collect()));
            Some(Column::ListU64(known.collect()))
        }
        (ColumnType::MapStr, Values::Bytes(keys)) => {
            let keys = levels.nested(keys, text);
            leaves.next().and_then(|of_values| match of_values.values {
                Values::Bytes(values) => {
                    let values = of_values.levels.nested(values, text);
                    Some(Column::MapStr(maps(keys, values)))
                }
                _ => None,
            })
        }
        _ => None,
    })
}

fn text(bytes: ByteArray) -> Option<String> {
    String::from_utf8(bytes.data().to_vec()).ok()
}

/// Nested texts, `None` where a row or an element is unknown.
type Texts = Vec<Option<Vec<Option<String>>>>;

fn maps(keys: Texts, values: Texts) -> Vec<Option<Vec<(String, String)>>> {
    let rows = keys.into_iter().zip(values);
    let rows = rows.map(|(keys, values)| {
        let entries = keys?.into_iter().zip(values?);
        let known = entries.filter_map(|(key, value)| Some((key?, value?)));
        Some(known.collect())
    });
    rows.collect()
}

/// The values of a leaf of the schema, which all are known.
enum Values {
    Flag(Vec<bool>),
    I32(Vec<i32>),
    /// Also decimals, as bits of unsigned integers, and times, in nanoseconds.
    I64(Vec<i64>),
    F64(Vec<f64>),
    Bytes(Vec<ByteArray>),
    /// Types that no column of a table has.
    Other,
}

/// Where values are missing, and where lists begin.
struct Levels {
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    /// The definition level of a known value.
    present: i16,
    /// The definition level of an empty list; lower ones stand for no list.
    empty: i16,
}

struct Leaf {
    levels: Levels,
    values: Values,
}

impl Leaf {
    fn read(
        leaf: usize,
        schema: &SchemaDescriptor,
        group: &dyn RowGroupReader,
        n_rows: usize,
    ) -> Result<Leaf, ParquetError> {
        let column = schema.column(leaf);
        let root = schema.get_column_root(leaf).get_basic_info();
        let mut levels = Levels {
            definitions: Vec::new(),
            repetitions: Vec::new(),
            present: column.max_def_level(),
            empty: i16::from(root.repetition() == Repetition::OPTIONAL),
        };
        let to = &mut levels;
        let values = match group.get_column_reader(leaf)? {
            ColumnReader::BoolColumnReader(from) => Values::Flag(read_values(from, n_rows, to)?),
            ColumnReader::Int32ColumnReader(from) => Values::I32(read_values(from, n_rows, to)?),
            ColumnReader::Int64ColumnReader(from) => {
                let factor = nanoseconds(&column);
                let mut values = read_values(from, n_rows, to)?;
                for value in &mut values {
                    *value = value.saturating_mul(factor);
                }
                Values::I64(values)
            }
            ColumnReader::Int96ColumnReader(from) => {
                let times = read_values(from, n_rows, to)?.into_iter();
                Values::I64(times.map(|time| time.to_nanos()).collect())
            }
            ColumnReader::DoubleColumnReader(from) => Values::F64(read_values(from, n_rows, to)?),
            ColumnReader::ByteArrayColumnReader(from) => {
                Values::Bytes(read_values(from, n_rows, to)?)
            }
            ColumnReader::FixedLenByteArrayColumnReader(from) => {
                let decimals = read_values(from, n_rows, to)?;
                let values: Option<Vec<i64>> = decimals.iter().map(decimal).collect();
                values.map_or(Values::Other, Values::I64)
            }
            ColumnReader::FloatColumnReader(_) => Values::Other,
        };
        Ok(Leaf { levels, values })
    }
}

fn read_values<D: DataType>(
    mut from: ColumnReaderImpl<D>,
    n_rows: usize,
    levels: &mut Levels,
) -> Result<Vec<D::T>, ParquetError> {
    let mut values = Vec::new();
    let (definitions, repetitions) = (&mut levels.definitions, &mut levels.repetitions);
    from.read_records(n_rows, Some(definitions), Some(repetitions), &mut values)?;
    Ok(values)
}

/// What one in a column of times stands for; 1 for other columns.
fn nanoseconds(column: &ColumnDescriptor) -> i64 {
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Timestamp(time)), _) => match time.unit {
            TimeUnit::MILLIS => 1_000_000,
            TimeUnit::MICROS => 1000,
            TimeUnit::NANOS => 1,
        },
        (_, ConvertedType::TIMESTAMP_MILLIS) => 1_000_000,
        (_, ConvertedType::TIMESTAMP_MICROS) => 1000,
        _ => 1,
    }
}

/// The bits of an unsigned integer: Spark, which has none, writes decimals, big-endian.
fn decimal(bytes: &FixedLenByteArray) -> Option<i64> {
    let (high, low) = bytes.data().split_last_chunk::<8>()?;
    let is_unsigned = high.iter().all(|byte| *byte == 0);
    is_unsigned.then(|| u64::from_be_bytes(*low).cast_signed())
}

impl Levels {
    /// One value for each row.
    fn flat<T, V>(&self, values: Vec<T>, of: impl Fn(T) -> Option<V>) -> Vec<Option<V>> {
        let mut values = values.into_iter().map(of);
        if self.present == 0 {
            return values.collect();
        }
        let rows = self.definitions.iter();
        let rows = rows.map(|level| (*level == self.present).then(|| values.next())??);
        rows.collect()
    }

    /// A list for each row; `None` for no list, and in a list for an unknown element.
    fn nested<T, V>(
        &self,
        values: Vec<T>,
        of: impl Fn(T) -> Option<V>,
    ) -> Vec<Option<Vec<Option<V>>>> {
        let mut values = values.into_iter().map(of);
        let mut lists: Vec<Option<Vec<Option<V>>>> = Vec::new();
        for (definition, repetition) in self.definitions.iter().zip(&self.repetitions) {
            if *repetition == 0 {
                lists.push((*definition >= self.empty).then(Vec::new));
            }
            if *definition > self.empty
                && let Some(Some(list)) = lists.last_mut()
            {
                let is_known = *definition == self.present;
                list.push(is_known.then(|| values.next()).flatten().flatten());
            }
        }
        lists
    }
}
