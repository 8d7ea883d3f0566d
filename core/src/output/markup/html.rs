//! A document as one self-contained HTML page: for printing, mail and archives.

use super::{Block, DocTable, Document, Span, line, slug};

/// Writes a document as a standalone page, without scripts or external URLs.
pub fn html(document: &Document) -> String {
    let title = document.headings().next().map_or("", |(_, text, _)| text);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(title)
    );
    contents(&mut out, document);
    out.push_str("<main>\n");
    write_blocks(&mut out, document);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// A document as part of another page, which has to include `report.css`.
pub fn part(document: &Document) -> String {
    let mut out = String::new();
    contents(&mut out, document);
    write_blocks(&mut out, document);
    out
}

const STYLE: &str = include_str!("report.css");

fn contents(out: &mut String, document: &Document) {
    out.push_str("<nav aria-label=\"Contents\">\n<ul>\n");
    for (level, text, slug) in document.headings() {
        if level == 2 {
            out.push_str(&format!(
                "<li><a href=\"#{}\">{}</a></li>\n",
                escape(&slug),
                write(&line(text))
            ));
        }
    }
    out.push_str("</ul>\n</nav>\n");
}

fn write_blocks(out: &mut String, document: &Document) {
    for block in &document.blocks {
        write_block(out, block);
    }
}

fn write_block(out: &mut String, block: &Block) {
    match block {
        Block::Heading { level, text } => out.push_str(&format!(
            "<h{level} id=\"{}\">{}</h{level}>\n",
            escape(&slug(text)),
            write(&line(text))
        )),
        Block::Text(spans) => out.push_str(&format!("<p>{}</p>\n", write(spans))),
        Block::Bullets(items) => {
            out.push_str("<ul>\n");
            for item in items {
                out.push_str(&format!("<li>{}</li>\n", write(item)));
            }
            out.push_str("</ul>\n");
        }
        Block::Table(table) => write_table(out, table),
        Block::Picture { svg, caption } => out.push_str(&format!(
            "<figure>\n{svg}\n<figcaption>{}</figcaption>\n</figure>\n",
            escape(caption)
        )),
    }
}

fn write_table(out: &mut String, table: &DocTable) {
    let class = |column: usize| match table.columns.get(column) {
        Some((_, true)) => " class=\"number\"",
        _ => "",
    };
    out.push_str("<div class=\"table\"><table>\n<thead><tr>");
    for (at, (head, _)) in table.columns.iter().enumerate() {
        out.push_str(&format!(
            "<th scope=\"col\"{}>{}</th>",
            class(at),
            escape(head)
        ));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            out.push_str(&format!("<td{}>{}</td>", class(at), write(cell)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn write(spans: &[Span]) -> String {
    spans
        .iter()
        .map(|span| match span {
            Span::Text(text) => escape(text),
            Span::Bold(text) => format!("<strong>{}</strong>", escape(text)),
            Span::Code(name) => format!("<code>{}</code>", escape(name)),
            Span::Link { text, slug } => {
                format!("<a href=\"#{}\">{}</a>", escape(slug), escape(text))
            }
        })
        .collect()
}

/// Escapes text for an element or a double-quoted attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_trace_says_is_text() {
        let mut document = Document::new("T");
        document.text("`<script>alert(1)</script>` & \"more\"");
        let page = html(&document);
        assert!(page.contains(
            "<p><code>&lt;script&gt;alert(1)&lt;/script&gt;</code> &amp; &quot;more&quot;</p>"
        ));
        assert!(!page.contains("<script"));
    }

    #[test]
    fn numbers_are_aligned_and_links_lead_somewhere() {
        let mut document = Document::new("T");
        document.heading(2, "Where `it` went");
        let rows = DocTable::of([("`k`", "3 ms")]);
        let rows = rows.line("Kernel", |row| line(row.0));
        document.table(rows.text(">Time", |row| row.1));
        let page = html(&document);
        assert!(page.contains("<td class=\"number\">3 ms</td>"));
        assert!(page.contains("<a href=\"#where-it-went\">"));
        assert!(page.contains("<h2 id=\"where-it-went\">Where <code>it</code> went</h2>"));
    }
}
