//! A table as text for pasting elsewhere.

/// A table as shown: its headings, and the cells of each row.
pub struct TableText {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl TableText {
    /// Tab-separated cells, as spreadsheets accept them.
    pub fn tabbed(&self) -> String {
        self.lines("\t", |cell| {
            // A spreadsheet would evaluate cells that look like formulas.
            let is_number = cell.parse::<f64>().is_ok();
            let is_formula = !is_number && cell.starts_with(['=', '+', '-', '@']);
            let mark = if is_formula { "'" } else { "" };
            format!("{mark}{}", cell.replace(['\t', '\n', '\r'], " "))
        })
    }

    /// A Markdown table.
    pub fn markdown(&self) -> String {
        let cell = |cell: &str| cell.replace('|', "\\|").replace(['\n', '\r'], " ");
        let lines = self.lines(" | ", cell);
        let mut lines = lines.lines().map(|line| format!("| {line} |\n"));
        let head: String = lines.next().unwrap_or_default();
        let rule = format!("|{}\n", " --- |".repeat(self.heads.len()));
        [head, rule].into_iter().chain(lines).collect()
    }

    fn lines(&self, between: &str, cell: impl Fn(&str) -> String) -> String {
        let line = |cells: &Vec<String>| {
            let cells = cells.iter().map(|one| cell(one));
            cells.collect::<Vec<_>>().join(between) + "\n"
        };
        std::iter::once(&self.heads)
            .chain(&self.rows)
            .map(line)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_in_their_columns() {
        let text = |text: &[&str]| text.iter().map(|one| (*one).to_owned()).collect();
        let table = TableText {
            heads: text(&["Kernel", "GPU time"]),
            rows: vec![
                text(&["a|b\tc", "1.00 ms"]),
                text(&["=evil()", ""]),
                text(&["-x", "-1.5"]),
            ],
        };
        assert_eq!(
            table.tabbed(),
            "Kernel\tGPU time\na|b c\t1.00 ms\n'=evil()\t\n'-x\t-1.5\n"
        );
        assert_eq!(
            table.markdown(),
            "| Kernel | GPU time |\n| --- | --- |\n| a\\|b\tc | 1.00 ms |\n| =evil() |  |\n| -x | -1.5 |\n"
        );
    }
}
