//! Tables as Parquet files, and back.
//!
//! Columns are written and read as Parquet's own, without Arrow's arrays between: the command is half a megabyte smaller
//! without readers of every type that Arrow has.

mod read;
mod write;

pub(crate) use read::{metadata_value, read};
pub(crate) use write::write;

#[cfg(test)]
mod tests {
    use std::fs::File;

    use dormer_core::tables::{Column, TABLES, TableKind};
    use parquet::column::writer::ColumnWriter;
    use parquet::data_type::{ByteArray, Int96};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;
    use crate::arrow;
    use crate::arrow::tests::example;

    #[test]
    fn every_table_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        for kind in TABLES {
            let written = example(kind);
            let file = File::create(&path).unwrap();
            write(file, &written, &[], &arrow::metadata("{}", "x")).unwrap();
            assert_eq!(read(&path, kind, None).unwrap(), written, "{}", kind.name);
            let ids = read(&path, kind, Some(&["run_id"])).unwrap();
            assert_eq!(ids.strs("run_id"), written.strs("run_id"));
            assert_eq!(ids.len(), 2);
            let options = metadata_value(&path, arrow::OPTIONS).unwrap();
            assert_eq!(options.as_deref(), Some("{}"));
        }
    }

    #[test]
    fn an_omitted_column_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let kind = TableKind::find("ops").unwrap();
        let without = ["date", "op_key"];
        let file = File::create(&path).unwrap();
        write(file, &example(kind), &without, &arrow::metadata("{}", "x")).unwrap();
        let read = read(&path, kind, None).unwrap();
        assert_eq!(read.u64s("op_key"), [None, None]);
        assert_eq!(read.i64s("kernel_ns"), [Some(-4), None]);
    }

    /// What Spark writes: unsigned integers as decimals, times as INT96 or in microseconds, and required elements.
    #[test]
    fn types_of_other_writers_are_understood() {
        let schema = "message schema {
            required binary run_id (STRING);
            optional int96 start;
            optional int64 ingested (TIMESTAMP(MICROS,true));
            optional fixed_len_byte_array(9) op_key (DECIMAL(20,0));
            optional group tags (MAP) {
                repeated group key_value {
                    required binary key (STRING);
                    optional binary value (STRING);
                }
            }
            required group op_keys (LIST) {
                repeated group list { required fixed_len_byte_array(9) element (DECIMAL(20,0)); }
            }
            optional binary status (STRING);
            optional float efficiency;
        }";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let schema = parse_message_type(schema).unwrap().into();
        let mut file =
            SerializedFileWriter::new(File::create(&path).unwrap(), schema, Default::default())
                .unwrap();
        let mut group = file.next_row_group().unwrap();
        let decimal = |value: u64| {
            let bytes = [&[0][..], &value.to_be_bytes()].concat();
            ByteArray::from(bytes).into()
        };
        // 2440588 is the Julian day of 1970-01-01.
        let second = Int96::from(vec![1_000_000_000, 0, 2_440_588]);
        let (a, b) = (ByteArray::from("a"), ByteArray::from("b"));
        while let Some(mut column) = group.next_column().unwrap() {
            match column.untyped() {
                ColumnWriter::ByteArrayColumnWriter(to) => match to.get_descriptor().name() {
                    "run_id" => to.write_batch(&[a.clone(), b.clone()], None, None),
                    "key" => {
                        to.write_batch(&[a.clone(), b.clone()], Some(&[2, 2, 1]), Some(&[0, 1, 0]))
                    }
                    "value" => {
                        to.write_batch(std::slice::from_ref(&b), Some(&[3, 2, 1]), Some(&[0, 1, 0]))
                    }
                    _ => to.write_batch(&[], Some(&[0, 0]), None),
                },
                ColumnWriter::Int96ColumnWriter(to) => {
                    to.write_batch(&[second], Some(&[1, 0]), None)
                }
                ColumnWriter::Int64ColumnWriter(to) => to.write_batch(&[7], Some(&[1, 0]), None),
                ColumnWriter::FloatColumnWriter(to) => to.write_batch(&[0.5], Some(&[1, 0]), None),
                ColumnWriter::FixedLenByteArrayColumnWriter(to) => match to.get_descriptor().name()
                {
                    "op_key" => to.write_batch(&[decimal(u64::MAX)], Some(&[1, 0]), None),
                    _ => to.write_batch(
                        &[decimal(1), decimal(2)],
                        Some(&[1, 1, 0]),
                        Some(&[0, 1, 0]),
                    ),
                },
                _ => Ok(0),
            }
            .unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        file.close().unwrap();

        let of = |table: &str, name: &str| {
            let kind = TableKind::find(table).unwrap();
            let read = read(&path, kind, None).unwrap();
            let at = kind.columns.iter().position(|field| field.name() == name);
            read.columns[at.unwrap()].clone()
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            of("runs", "run_id"),
            Column::Str(vec![text("a"), text("b")])
        );
        assert_eq!(
            of("runs", "start"),
            Column::Timestamp(vec![Some(1_000_000_000), None])
        );
        assert_eq!(
            of("runs", "ingested"),
            Column::Timestamp(vec![Some(7000), None])
        );
        let tags = vec![Some(vec![("a".to_owned(), "b".to_owned())]), Some(vec![])];
        assert_eq!(of("runs", "tags"), Column::MapStr(tags));
        assert_eq!(of("ops", "op_key"), Column::U64(vec![Some(u64::MAX), None]));
        assert_eq!(
            of("findings", "op_keys"),
            Column::ListU64(vec![Some(vec![1, 2]), Some(vec![])])
        );
        assert_eq!(of("ops", "efficiency"), Column::F64(vec![None, None]));
    }
}
