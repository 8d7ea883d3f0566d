//! Columns of values with nulls, and tables of them.

use super::schema::TableKind;
use crate::base::labels::labeled;

labeled! {
    /// The type of a column's values. Labels are Arrow's type names.
    pub enum ColumnType {
        /// Text.
        Str => "string",
        /// Small integers.
        I32 => "int32",
        /// Integers.
        I64 => "int64",
        /// Hashes.
        U64 => "uint64",
        /// Numbers.
        F64 => "float64",
        /// True or false.
        Flag => "bool",
        /// Hashes of several things.
        ListU64 => "list<uint64>",
        /// Named texts.
        MapStr => "map<string, string>",
        /// Nanoseconds since 1970, UTC.
        Timestamp => "timestamp(ns, UTC)",
        /// Days since 1970, UTC.
        Date => "date32",
    }
}

/// The values of a column, one per row; an unknown value is `None`.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "as in ColumnType")]
pub enum Column {
    Str(Vec<Option<String>>),
    I32(Vec<Option<i32>>),
    I64(Vec<Option<i64>>),
    U64(Vec<Option<u64>>),
    F64(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
    ListU64(Vec<Option<Vec<u64>>>),
    MapStr(Vec<Option<Vec<(String, String)>>>),
    Timestamp(Vec<Option<i64>>),
    Date(Vec<Option<i32>>),
}

/// One value of a new row; in a column of another type it counts as unknown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Str(String),
    /// For columns of integers, times and days.
    Int(i64),
    U64(u64),
    F64(f64),
    Flag(bool),
    ListU64(Vec<u64>),
    MapStr(Vec<(String, String)>),
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

macro_rules! from {
    ($($of:ty => $into:expr;)*) => {
        $(impl From<$of> for Value {
            fn from(value: $of) -> Value {
                ($into)(value)
            }
        })*
    };
}

from! {
    String => Value::Str;
    &str => |text: &str| Value::Str(text.to_owned());
    i64 => Value::Int;
    i32 => |number: i32| Value::Int(i64::from(number));
    u32 => |number: u32| Value::Int(i64::from(number));
    u64 => Value::U64;
    f64 => |number: f64| match number.is_finite() {
        true => Value::F64(number),
        false => Value::Null,
    };
    bool => Value::Flag;
    Vec<u64> => Value::ListU64;
    Vec<(String, String)> => Value::MapStr;
}

/// Applies an expression to the values of a column of any type.
macro_rules! each {
    ($column:expr, $values:ident => $then:expr) => {
        match $column {
            Column::Str($values) => $then,
            Column::I32($values) => $then,
            Column::I64($values) => $then,
            Column::U64($values) => $then,
            Column::F64($values) => $then,
            Column::Flag($values) => $then,
            Column::ListU64($values) => $then,
            Column::MapStr($values) => $then,
            Column::Timestamp($values) => $then,
            Column::Date($values) => $then,
        }
    };
}

impl Column {
    /// Creates an empty column.
    pub fn new(of: ColumnType) -> Column {
        match of {
            ColumnType::Str => Column::Str(Vec::new()),
            ColumnType::I32 => Column::I32(Vec::new()),
            ColumnType::I64 => Column::I64(Vec::new()),
            ColumnType::U64 => Column::U64(Vec::new()),
            ColumnType::F64 => Column::F64(Vec::new()),
            ColumnType::Flag => Column::Flag(Vec::new()),
            ColumnType::ListU64 => Column::ListU64(Vec::new()),
            ColumnType::MapStr => Column::MapStr(Vec::new()),
            ColumnType::Timestamp => Column::Timestamp(Vec::new()),
            ColumnType::Date => Column::Date(Vec::new()),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends `n` unknown values.
    pub fn add_nulls(&mut self, n: usize) {
        each!(self, values => values.resize(values.len() + n, None));
    }

    /// Keeps the rows at some positions.
    pub fn retain(&mut self, keeps: impl Fn(usize) -> bool) {
        each!(self, values => {
            let mut at = 0;
            values.retain(|_| {
                at += 1;
                keeps(at - 1)
            });
        });
    }

    /// Keeps the rows at these positions, in this order; each may occur at most once.
    pub fn pick(&mut self, order: &[usize]) {
        each!(self, values => {
            *values = order.iter().map(|at| values.get_mut(*at).and_then(Option::take)).collect();
        });
    }

    /// Appends the rows of another column; if its type differs they are unknown.
    pub fn append(&mut self, other: Column) {
        match (self, other) {
            (Column::Str(all), Column::Str(more)) => all.extend(more),
            (Column::I32(all), Column::I32(more)) => all.extend(more),
            (Column::I64(all), Column::I64(more)) => all.extend(more),
            (Column::U64(all), Column::U64(more)) => all.extend(more),
            (Column::F64(all), Column::F64(more)) => all.extend(more),
            (Column::Flag(all), Column::Flag(more)) => all.extend(more),
            (Column::ListU64(all), Column::ListU64(more)) => all.extend(more),
            (Column::MapStr(all), Column::MapStr(more)) => all.extend(more),
            (Column::Timestamp(all), Column::Timestamp(more)) => all.extend(more),
            (Column::Date(all), Column::Date(more)) => all.extend(more),
            (all, more) => all.add_nulls(more.len()),
        }
    }

    fn push(&mut self, value: Value) {
        match (self, value) {
            (Column::Str(all), Value::Str(text)) => all.push(Some(text)),
            (Column::I32(all) | Column::Date(all), Value::Int(number)) => {
                all.push(i32::try_from(number).ok());
            }
            (Column::I64(all) | Column::Timestamp(all), Value::Int(number)) => {
                all.push(Some(number));
            }
            (Column::I64(all), Value::U64(number)) => all.push(i64::try_from(number).ok()),
            (Column::U64(all), Value::U64(number)) => all.push(Some(number)),
            (Column::F64(all), Value::F64(number)) => all.push(Some(number)),
            (Column::Flag(all), Value::Flag(flag)) => all.push(Some(flag)),
            (Column::ListU64(all), Value::ListU64(list)) => all.push(Some(list)),
            (Column::MapStr(all), Value::MapStr(map)) => all.push(Some(map)),
            (column, value) => {
                debug_assert_eq!(value, Value::Null, "of another type than its column");
                column.add_nulls(1);
            }
        }
    }
}

/// A table: its kind, and a column of values for each of the kind's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Which table it is.
    pub kind: &'static TableKind,
    /// In the order of [`TableKind::columns`]; all of the same length.
    pub columns: Vec<Column>,
}

/// For each type of column, a method that gives the values of one by its name.
macro_rules! typed_values {
    ($($(#[$doc:meta])* $name:ident: $($variant:ident)|+ -> $type:ty;)+) => {$(
        $(#[$doc])*
        pub fn $name(&self, name: &str) -> &[Option<$type>] {
            match self.column(name) {
                $(Some(Column::$variant(values)))|+ => values,
                _ => &[],
            }
        }
    )+};
}

impl Table {
    /// Creates an empty table.
    pub fn new(kind: &'static TableKind) -> Table {
        let columns = kind.columns.iter().map(|field| Column::new(field.of));
        Table {
            kind,
            columns: columns.collect(),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a row, in the order of the columns.
    pub(crate) fn push(&mut self, row: Vec<Value>) {
        debug_assert_eq!(row.len(), self.columns.len(), "{}", self.kind.name);
        let mut row = row.into_iter();
        for column in &mut self.columns {
            column.push(row.next().unwrap_or(Value::Null));
        }
    }

    /// Appends the rows of another table of the same kind.
    pub fn append(&mut self, other: Table) {
        let n = other.len();
        let mut more = other.columns.into_iter();
        for column in &mut self.columns {
            match more.next() {
                Some(rows) => column.append(rows),
                None => column.add_nulls(n),
            }
        }
    }

    /// Keeps the rows at some positions.
    pub fn retain(&mut self, keeps: impl Fn(usize) -> bool) {
        for column in &mut self.columns {
            column.retain(&keeps);
        }
    }

    /// Keeps the rows at these positions, in this order; each may occur at most once.
    pub fn pick(&mut self, order: &[usize]) {
        for column in &mut self.columns {
            column.pick(order);
        }
    }

    /// The values of a column by its name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let mut fields = self.kind.columns.iter();
        let at = fields.position(|field| field.name() == name)?;
        self.columns.get(at)
    }

    typed_values! {
        /// The values of a text column; empty if it is missing or has another type.
        strs: Str -> String;
        /// Like [`Table::strs`], for a column of small integers or days.
        i32s: I32 | Date -> i32;
        /// Like [`Table::strs`], for a column of integers or times.
        i64s: I64 | Timestamp -> i64;
        /// Like [`Table::strs`], for a column of hashes.
        u64s: U64 -> u64;
        /// Like [`Table::strs`], for a column of flags.
        flags: Flag -> bool;
        /// Like [`Table::strs`], for a column of lists of hashes.
        lists: ListU64 -> Vec<u64>;
        /// Like [`Table::strs`], for a column of named texts.
        maps: MapStr -> Vec<(String, String)>;
    }
}
