//! CSV as Dormer writes it, read back.

/// Rows of a CSV file: quoted cells may hold commas, quotes (doubled) and line ends.
pub(crate) fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    let mut cell = String::new();
    let mut is_quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            letter => cell.push(letter),
        }
    }
    rows
}

#[test]
fn csv_is_read_as_it_is_meant() {
    let rows = rows("a,\"b,\"\"c\"\"\n\",\n1,,\"\"\n");
    let expected = [["a", "b,\"c\"\n", ""], ["1", "", ""]];
    assert_eq!(rows, expected.map(|row| row.map(str::to_owned).to_vec()));
}
