//! Tables as Parquet files, and back.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use arrow_array::RecordBatchReader;
use dormer_core::tables::{Column, Table, TableKind};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::arrow::{self, Metadata};

/// Writes a table; columns in `without` are omitted.
pub(crate) fn write(
    to: impl Write + Send,
    table: &Table,
    without: &[&str],
    metadata: Metadata,
) -> Result<(), ParquetError> {
    let mut entries: Vec<KeyValue> = metadata
        .iter()
        .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
        .collect();
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    let batch = arrow::batch(table, without, Metadata::new())?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("dormer {}", dormer_core::tables::TOOL_VERSION))
        .set_key_value_metadata(Some(entries))
        .build();
    let mut writer = ArrowWriter::try_new(to, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

/// The metadata of a file under a key.
pub(crate) fn metadata_value(file: &Path, key: &str) -> Result<Option<String>, ParquetError> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?;
    let entries = reader.metadata().file_metadata().key_value_metadata();
    let found = entries.and_then(|all| all.iter().find(|entry| entry.key == key));
    Ok(found.and_then(|entry| entry.value.clone()))
}

/// Reads a table; if columns are named, only those, and the others stay empty.
pub(crate) fn read(
    file: &Path,
    kind: &'static TableKind,
    columns: Option<&[&str]>,
) -> Result<Table, ParquetError> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?;
    let mask = match columns {
        Some(names) => ProjectionMask::columns(reader.parquet_schema(), names.iter().copied()),
        None => ProjectionMask::all(),
    };
    let reader = reader.with_projection(mask).build()?;
    debug_assert!(!reader.schema().fields().is_empty());
    let mut all = Table::new(kind);
    for batch in reader {
        all.append(arrow::table(kind, &batch?));
    }
    if let Some(names) = columns {
        for (field, column) in kind.columns.iter().zip(&mut all.columns) {
            if !names.contains(&field.name()) {
                *column = Column::new(field.of);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow::tests::example;
    use dormer_core::tables::TABLES;

    #[test]
    fn every_table_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        for kind in TABLES {
            let written = example(kind);
            let file = File::create(&path).unwrap();
            write(file, &written, &[], arrow::metadata("{}", "x")).unwrap();
            assert_eq!(read(&path, kind, None).unwrap(), written, "{}", kind.name);
            let ids = read(&path, kind, Some(&["run_id"])).unwrap();
            assert_eq!(ids.strs("run_id"), written.strs("run_id"));
            assert_eq!(ids.len(), 2);
        }
    }
}
