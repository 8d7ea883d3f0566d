//! A document as Markdown.

use super::{Block, DocTable, Document, Span, line};

/// Writes a document as Markdown. Names from the trace are put in code spans, which no renderer interprets; everything
/// else is escaped.
pub fn markdown(document: &Document) -> String {
    let mut out = String::new();
    for block in &document.blocks {
        if !out.is_empty() {
            out.push('\n');
        }
        match block {
            Block::Heading { level, text } => {
                let marks = "#".repeat(usize::from(*level));
                out.push_str(&format!("{marks} {}\n", write(&line(text))));
            }
            Block::Text(spans) => out.push_str(&format!("{}\n", write(spans))),
            Block::Bullets(items) => {
                for item in items {
                    out.push_str(&format!("- {}\n", write(item)));
                }
            }
            Block::Table(table) => write_table(&mut out, table),
            Block::Picture { caption, .. } => out.push_str(&format!("*{}*\n", escape(caption))),
        }
    }
    out
}

fn write(spans: &[Span]) -> String {
    spans
        .iter()
        .map(|span| match span {
            Span::Text(text) => escape(text),
            Span::Bold(text) => format!("**{}**", escape(text)),
            Span::Code(text) => code(text),
            Span::Link { text, slug } => format!("[{}](#{slug})", escape(text)),
        })
        .collect()
}

fn write_table(out: &mut String, table: &DocTable) {
    let mut push = |cells: Vec<String>| out.push_str(&format!("| {} |\n", cells.join(" | ")));
    let columns = || table.columns.iter();
    let rule = |is_number: bool| if is_number { "---:" } else { "---" }.to_owned();
    push(columns().map(|(head, _)| escape(head)).collect());
    push(columns().map(|(_, is_number)| rule(*is_number)).collect());
    for row in &table.rows {
        push(row.iter().map(|cell| write(cell)).collect());
    }
}

/// A name as a code span, so that nothing in it is interpreted as markup.
fn code(name: &str) -> String {
    let name = name.replace(|letter: char| letter.is_control(), " ");
    if name.trim().is_empty() {
        return "(no name)".to_owned();
    }
    // A fence longer than any run of backticks inside. A pipe would end the table cell.
    let runs = name.split(|letter| letter != '`');
    let fence = "`".repeat(runs.map(str::len).max().unwrap_or(0) + 1);
    let is_at_end = name.starts_with('`') || name.ends_with('`');
    let pad = if is_at_end { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", name.replace('|', "\\|"))
}

/// Escapes text that may contain a name from the trace.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if "\\`*_[]<>|#&~!".contains(letter) {
            out.push('\\');
        }
        out.push(if letter.is_control() { ' ' } else { letter });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_its_markdown() {
        let mut document = Document::new("A & B");
        document.heading(2, "`a_b` is *slow*");
        document.field("Issue", "`aten::mm` is slow");
        let rows = DocTable::of([("`a|b`", "3 ms")]);
        let rows = rows.line("Kernel", |row| line(row.0));
        document.table(rows.text(">Time", |row| row.1));
        document.bullets(vec![vec![Span::Link {
            text: "details".to_owned(),
            slug: "a--b".to_owned(),
        }]]);
        assert_eq!(
            markdown(&document),
            "# A \\& B\n\n## `a_b` is \\*slow\\*\n\n**Issue:** `aten::mm` is slow\n\n| Kernel | Time |\n| --- | ---: |\n\
             | `a\\|b` | 3 ms |\n\n- [details](#a--b)\n"
        );
    }

    #[test]
    fn what_a_trace_says_is_no_markup() {
        let mut document = Document::new("<script>");
        document.blocks.push(Block::Text(vec![
            Span::Text("[x](javascript:1)\n# no".to_owned()),
            Span::Code("a`b".to_owned()),
            Span::Code("\n".to_owned()),
        ]));
        assert_eq!(
            markdown(&document),
            "# \\<script\\>\n\n\\[x\\](javascript:1) \\# no``a`b``(no name)\n"
        );
    }
}
