//! The core crate's tables as Arrow, and back.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float64Type, Int32Type, Int64Type, TimestampNanosecondType, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float64Array, Int32Array, Int64Array, MapArray,
    RecordBatch, StringArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, TimeUnit};
use dormer_core::tables::{Column, ColumnType, SCHEMA_VERSION, TOOL_VERSION, Table, TableKind};

/// The metadata of a file.
pub(crate) type Metadata = HashMap<String, String>;

/// The metadata key of the options that the traces were analyzed with.
pub(crate) const OPTIONS: &str = "dormer.options";

/// The metadata of every file: `options` are the options as text, `batch` identifies its runs.
pub(crate) fn metadata(options: &str, batch: &str) -> Metadata {
    let entries = [
        ("dormer.tool_version", TOOL_VERSION.to_owned()),
        ("dormer.schema_version", SCHEMA_VERSION.to_string()),
        (OPTIONS, options.to_owned()),
        ("dormer.batch", batch.to_owned()),
    ];
    let entries = entries.into_iter();
    entries
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// The schema of a table without some of its columns.
fn schema(kind: &TableKind, without: &[&str], metadata: Metadata) -> Schema {
    let fields = kind.columns.iter();
    let fields = fields.filter(|field| !without.contains(&field.name()));
    let fields: Vec<Field> = fields
        .map(|field| {
            let notes = [
                ("label", field.label),
                ("unit", field.unit()),
                ("doc", field.doc),
            ];
            let notes = notes.into_iter().filter(|(_, text)| !text.is_empty());
            let notes: Metadata = notes
                .map(|(key, text)| (key.to_owned(), text.to_owned()))
                .collect();
            Field::new(field.name(), data_type(field.of), !is_required(field)).with_metadata(notes)
        })
        .collect();
    Schema::new(fields).with_metadata(metadata)
}

/// Whether every row has a value.
pub(crate) fn is_required(field: &dormer_core::tables::Field) -> bool {
    field.name() == "run_id"
}

fn data_type(of: ColumnType) -> DataType {
    match of {
        ColumnType::Str => DataType::Utf8,
        ColumnType::I32 => DataType::Int32,
        ColumnType::I64 => DataType::Int64,
        ColumnType::U64 => DataType::UInt64,
        ColumnType::F64 => DataType::Float64,
        ColumnType::Flag => DataType::Boolean,
        ColumnType::ListU64 => DataType::List(Arc::new(item())),
        ColumnType::MapStr => {
            let entries = Fields::from(vec![
                Field::new("key", DataType::Utf8, false),
                Field::new("value", DataType::Utf8, true),
            ]);
            let entries = Field::new("entries", DataType::Struct(entries), false);
            DataType::Map(Arc::new(entries), false)
        }
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
        ColumnType::Date => DataType::Date32,
    }
}

const UTC: &str = "UTC";

fn item() -> Field {
    Field::new("item", DataType::UInt64, true)
}

/// The schema of a table without some of its columns, as the beginning of a stream.
pub(crate) fn schema_message(kind: &TableKind, without: &[&str]) -> Result<Vec<u8>, ArrowError> {
    StreamWriter::try_new(Vec::new(), &schema(kind, without, Metadata::new()))?.into_inner()
}

fn array(column: &Column) -> Result<ArrayRef, ArrowError> {
    Ok(match column {
        Column::Str(values) => Arc::new(StringArray::from_iter(values)),
        Column::I32(values) => Arc::new(Int32Array::from_iter(values)),
        Column::I64(values) => Arc::new(Int64Array::from_iter(values)),
        Column::U64(values) => Arc::new(UInt64Array::from_iter(values)),
        Column::F64(values) => Arc::new(Float64Array::from_iter(values)),
        Column::Flag(values) => Arc::new(BooleanArray::from_iter(values)),
        Column::Date(values) => Arc::new(Date32Array::from_iter(values)),
        Column::Timestamp(values) => {
            Arc::new(TimestampNanosecondArray::from_iter(values).with_timezone(UTC))
        }
        Column::ListU64(values) => {
            let mut lists = ListBuilder::new(UInt64Builder::new()).with_field(item());
            for list in values {
                let is_known = list.is_some();
                for value in list.iter().flatten() {
                    lists.values().append_value(*value);
                }
                lists.append(is_known);
            }
            Arc::new(lists.finish())
        }
        Column::MapStr(values) => {
            let mut maps = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
            for map in values {
                for (key, value) in map.iter().flatten() {
                    maps.keys().append_value(key);
                    maps.values().append_value(value);
                }
                maps.append(map.is_some())?;
            }
            Arc::new(maps.finish())
        }
    })
}

/// A table of the core crate from a batch of [`stream`]; columns that it lacks become unknown values.
fn table(kind: &'static TableKind, batch: &RecordBatch) -> Table {
    let columns = kind.columns.iter().map(|field| {
        let found = batch.column_by_name(field.name());
        let read = found.and_then(|array| column(field.of, array));
        read.unwrap_or_else(|| {
            let mut unknown = Column::new(field.of);
            unknown.add_nulls(batch.num_rows());
            unknown
        })
    });
    Table {
        kind,
        columns: columns.collect(),
    }
}

fn column(of: ColumnType, array: &ArrayRef) -> Option<Column> {
    Some(match of {
        ColumnType::Str => Column::Str(texts(array)?),
        ColumnType::I32 => Column::I32(array.as_primitive_opt::<Int32Type>()?.iter().collect()),
        ColumnType::I64 => Column::I64(array.as_primitive_opt::<Int64Type>()?.iter().collect()),
        ColumnType::U64 => Column::U64(array.as_primitive_opt::<UInt64Type>()?.iter().collect()),
        ColumnType::F64 => Column::F64(array.as_primitive_opt::<Float64Type>()?.iter().collect()),
        ColumnType::Flag => Column::Flag(array.as_boolean_opt()?.iter().collect()),
        ColumnType::Date => Column::Date(array.as_primitive_opt::<Date32Type>()?.iter().collect()),
        ColumnType::Timestamp => Column::Timestamp(
            array
                .as_primitive_opt::<TimestampNanosecondType>()?
                .iter()
                .collect(),
        ),
        ColumnType::ListU64 => {
            let lists = array.as_list_opt::<i32>()?.iter();
            let lists = lists.map(|list| {
                let list = list?;
                Some(
                    list.as_primitive_opt::<UInt64Type>()?
                        .iter()
                        .flatten()
                        .collect(),
                )
            });
            Column::ListU64(lists.collect())
        }
        ColumnType::MapStr => Column::MapStr(maps(array.as_map_opt()?)),
    })
}

fn texts(array: &ArrayRef) -> Option<Vec<Option<String>>> {
    let values = array.as_string_opt::<i32>()?.iter();
    Some(values.map(|text| text.map(str::to_owned)).collect())
}

fn maps(array: &MapArray) -> Vec<Option<Vec<(String, String)>>> {
    let rows = (0..array.len()).map(|at| {
        let is_known = array.is_valid(at);
        let entries = is_known.then(|| array.value(at))?;
        let keys = texts(entries.columns().first()?)?;
        let values = texts(entries.columns().get(1)?)?;
        let pairs = keys.into_iter().zip(values);
        Some(
            pairs
                .filter_map(|(key, value)| Some((key?, value?)))
                .collect(),
        )
    });
    rows.collect()
}

/// A table as an Arrow stream; with `is_plain`, its columns have no metadata except their names.
pub(crate) fn stream(
    table: &Table,
    metadata: Metadata,
    is_plain: bool,
) -> Result<Vec<u8>, ArrowError> {
    let mut schema = schema(table.kind, &[], metadata);
    if is_plain {
        let fields = schema.fields.iter();
        let plain = fields.map(|field| field.as_ref().clone().with_metadata(Metadata::new()));
        schema = Schema::new(plain.collect::<Vec<Field>>());
    }
    let arrays: Result<Vec<ArrayRef>, ArrowError> = table.columns.iter().map(array).collect();
    let batch = RecordBatch::try_new(Arc::new(schema), arrays?)?;
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(&batch)?;
    writer.finish()?;
    writer.into_inner()
}

/// Reads the table of a stream.
pub(crate) fn read_stream(kind: &'static TableKind, bytes: &[u8]) -> Result<Table, ArrowError> {
    let mut all = Table::new(kind);
    for batch in StreamReader::try_new(bytes, None)? {
        all.append(table(kind, &batch?));
    }
    Ok(all)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use dormer_core::tables::TABLES;

    /// A table with a row of unknown values and one with values of every type.
    pub(crate) fn example(kind: &'static TableKind) -> Table {
        let mut table = Table::new(kind);
        for column in &mut table.columns {
            match column {
                Column::Str(values) => values.extend([Some("a".to_owned()), None]),
                Column::I32(values) | Column::Date(values) => values.extend([Some(3), None]),
                Column::I64(values) | Column::Timestamp(values) => values.extend([Some(-4), None]),
                Column::U64(values) => values.extend([Some(u64::MAX), None]),
                Column::F64(values) => values.extend([Some(0.5), None]),
                Column::Flag(values) => values.extend([Some(true), None]),
                Column::ListU64(values) => values.extend([Some(vec![1, 2]), None]),
                Column::MapStr(values) => {
                    values.extend([Some(vec![("k".to_owned(), "v".to_owned())]), None]);
                }
            }
        }
        // Every row has a run id.
        if let Some(Column::Str(ids)) = table.columns.first_mut() {
            ids[1] = Some("b".to_owned());
        }
        table
    }

    #[test]
    fn every_table_comes_back_as_it_was() {
        for kind in TABLES {
            let written = example(kind);
            for is_plain in [false, true] {
                let bytes = stream(&written, metadata("{}", "x"), is_plain).unwrap();
                assert_eq!(read_stream(kind, &bytes).unwrap(), written, "{}", kind.name);
            }
        }
    }
}
