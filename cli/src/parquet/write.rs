//! Columns of values as Parquet's: values, and levels that say where one is missing and where a list begins.

use std::io::Write;
use std::ops::Range;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use dormer_core::tables::{Column, ColumnType, Field, TOOL_VERSION, Table};
use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::arrow::{self, Metadata};

/// Rows of a row group: engines read groups in parallel.
const GROUP_ROWS: usize = 1 << 20;

/// Writes a table; columns in `without` are omitted.
pub(crate) fn write(
    to: impl Write + Send,
    table: &Table,
    without: &[&str],
    metadata: &Metadata,
) -> Result<(), ParquetError> {
    let columns = table.kind.columns.iter().zip(&table.columns);
    let columns = columns.filter(|(field, _)| !without.contains(&field.name()));
    let columns: Vec<(&Field, &Column)> = columns.collect();
    let fields: String = columns
        .iter()
        .map(|(field, _)| declaration(field))
        .collect();
    let schema = parse_message_type(&format!("message {} {{ {fields} }}", table.kind.name))?;
    // Units and meanings of columns: readers of Arrow find its schema under this key.
    let schema_of_arrow = arrow::schema_message(table.kind, without)
        .map_err(|error| ParquetError::External(error.into()))?;
    let arrow_schema = BASE64_STANDARD.encode(schema_of_arrow);
    let entry = |(key, value): (&String, &String)| KeyValue::new(key.clone(), value.clone());
    let mut entries: Vec<KeyValue> = metadata.iter().map(entry).collect();
    entries.push(KeyValue::new("ARROW:schema".to_owned(), arrow_schema));
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("dormer {TOOL_VERSION}"))
        .set_key_value_metadata(Some(entries))
        .build();
    let mut file = SerializedFileWriter::new(to, schema.into(), properties.into())?;
    for first in (0..table.len()).step_by(GROUP_ROWS) {
        let mut group = file.next_row_group()?;
        for (_, column) in &columns {
            let rows = first..(first + GROUP_ROWS).min(table.len());
            write_column(&mut group, column, rows)?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

/// The column in the language of Parquet's schemas.
fn declaration(field: &Field) -> String {
    let name = field.name();
    let repetition = if arrow::is_required(field) {
        "required"
    } else {
        "optional"
    };
    let (of, more) = match field.of {
        ColumnType::Str => ("binary", "(STRING)"),
        ColumnType::I32 => ("int32", ""),
        ColumnType::I64 => ("int64", ""),
        ColumnType::U64 => ("int64", "(INTEGER(64,false))"),
        ColumnType::F64 => ("double", ""),
        ColumnType::Flag => ("boolean", ""),
        ColumnType::Timestamp => ("int64", "(TIMESTAMP(NANOS,true))"),
        ColumnType::Date => ("int32", "(DATE)"),
        ColumnType::ListU64 => (
            "group",
            "(LIST) { repeated group list { optional int64 item (INTEGER(64,false)); } }",
        ),
        ColumnType::MapStr => (
            "group",
            "(MAP) { repeated group entries {
                required binary key (STRING); optional binary value (STRING); } }",
        ),
    };
    let end = if of == "group" { "" } else { ";" };
    format!("{repetition} {of} {name} {more}{end}\n")
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    rows: Range<usize>,
) -> Result<(), ParquetError> {
    let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    match column {
        Column::Str(values) => {
            let values = part(values, rows).iter();
            Leaf::flat(values.map(|value| value.as_deref().map(text)))
                .write::<ByteArrayType, W>(group)
        }
        Column::I32(values) | Column::Date(values) => {
            Leaf::flat(part(values, rows).iter().copied()).write::<Int32Type, W>(group)
        }
        Column::I64(values) | Column::Timestamp(values) => {
            Leaf::flat(part(values, rows).iter().copied()).write::<Int64Type, W>(group)
        }
        Column::U64(values) => {
            let values = part(values, rows).iter();
            Leaf::flat(values.map(|value| value.map(u64::cast_signed))).write::<Int64Type, W>(group)
        }
        Column::F64(values) => {
            Leaf::flat(part(values, rows).iter().copied()).write::<DoubleType, W>(group)
        }
        Column::Flag(values) => {
            Leaf::flat(part(values, rows).iter().copied()).write::<BoolType, W>(group)
        }
        Column::ListU64(values) => {
            let lists = part(values, rows).iter().map(Option::as_deref);
            Leaf::nested(lists, ITEM, |value| value.cast_signed()).write::<Int64Type, W>(group)
        }
        Column::MapStr(values) => {
            let maps = || part(values, rows.clone()).iter().map(Option::as_deref);
            Leaf::nested(maps(), KEY, |(key, _)| text(key)).write::<ByteArrayType, W>(group)?;
            Leaf::nested(maps(), ITEM, |(_, value)| text(value)).write::<ByteArrayType, W>(group)
        }
    }
}

fn part<T>(values: &[T], rows: Range<usize>) -> &[T] {
    values.get(rows).unwrap_or_default()
}

/// The definition level of a map's key, which is required.
const KEY: i16 = 2;

/// The definition level of what is optional in a list or a map.
const ITEM: i16 = 3;

/// What Parquet stores of a column: the known values, and a level for each place where there could be one.
/// [The format](https://parquet.apache.org/docs/file-format/nestedencoding/) explains levels.
struct Leaf<T> {
    values: Vec<T>,
    /// How much of the path to the value exists.
    definitions: Vec<i16>,
    /// 0 where a row begins.
    repetitions: Vec<i16>,
}

impl<T> Leaf<T> {
    fn flat(values: impl ExactSizeIterator<Item = Option<T>>) -> Leaf<T> {
        let mut definitions = Vec::with_capacity(values.len());
        let values = values.inspect(|value| definitions.push(i16::from(value.is_some())));
        Leaf {
            values: values.flatten().collect(),
            definitions,
            repetitions: Vec::new(),
        }
    }

    /// A part of each element of lists; `present` is its definition level. 0 stands for no list, 1 for an empty one.
    fn nested<'a, V: 'a>(
        lists: impl Iterator<Item = Option<&'a [V]>>,
        present: i16,
        part: impl Fn(&'a V) -> T,
    ) -> Leaf<T> {
        let mut leaf = Leaf {
            values: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
        };
        for list in lists {
            let elements = list.unwrap_or_default();
            if elements.is_empty() {
                leaf.definitions.push(i16::from(list.is_some()));
                leaf.repetitions.push(0);
            }
            for (at, element) in elements.iter().enumerate() {
                leaf.values.push(part(element));
                leaf.definitions.push(present);
                leaf.repetitions.push(i16::from(at > 0));
            }
        }
        leaf
    }

    /// Writes it as the next column of a row group.
    fn write<D: DataType<T = T>, W: Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = group.next_column()? else {
            return Err(ParquetError::General(
                "more columns than in the schema".to_owned(),
            ));
        };
        let repetitions = (!self.repetitions.is_empty()).then_some(&self.repetitions[..]);
        let to = column.typed::<D>();
        to.write_batch(&self.values, Some(&self.definitions), repetitions)?;
        column.close()
    }
}
