//! The documents about one trace and about two: the fair one for decision makers, the rough one for reviewers.
//!
//! ```text
//! Documented ─fair→ Document         summary, warnings, recommendations, details, appendix
//!            ├illustrated→ Document  the same with pictures
//!            └rough→ Document        every step with its raw tables, gaps, questions, and the results
//!                                    of checking all that was written ([`check`])
//! ```
//!
//! Both share one skeleton and one list of rules; a `Documented` provides what differs.

/// Methods of a [`Documented`] that are implemented as functions elsewhere.
macro_rules! written_by {
    ($($method:ident -> $type:ty = $write:path;)+) => {
        $(fn $method(&self) -> $type {
            $write(self)
        })+
    };
}

mod card;
pub mod check;
pub mod compared;
pub(crate) mod job;
mod parts;
pub mod single;

use crate::base::map::Set;
use crate::output::markup::{Block, Document, Line, line};
use card::Card;
use check::{Check, Written};

type Part = (String, Document);

type Picture = (String, &'static str);

/// Names of operators and kernels.
type Names = Set<String>;

fn part(title: impl Into<String>, write: impl FnOnce(&mut Document)) -> Part {
    let mut document = Document::default();
    write(&mut document);
    (title.into(), document)
}

/// Headings and labels that differ between the documents of one trace and of two.
struct Words {
    /// The label of a card's problem: "Issue", or "Gap" to the reference.
    problem: &'static str,
    details: &'static str,
    /// The third section of the rough document.
    middle: &'static str,
    n_steps: usize,
}

impl Words {
    fn rough(&self) -> [&'static str; 6] {
        [
            "Analysis Process Summary",
            "Raw Data Exploration",
            self.middle,
            "Analysis Gaps",
            "Questions for Further Investigation",
            "Checks",
        ]
    }
}

struct File {
    key: &'static str,
    document: Document,
    /// The sections that it must have.
    sections: Vec<&'static str>,
    /// Fields before them, with their values.
    fields: Vec<(&'static str, &'static str)>,
}

/// A time that a document shows.
struct Shown {
    /// The heading above the table.
    section: String,
    /// The first cell of the row.
    label: &'static str,
    /// The time in each of the next cells, and the whole that it is a share of if it is written as a share.
    cells: Vec<(i64, i64)>,
}

/// What documents are about: the sections in output order, then the data that checks compare them with.
trait Documented {
    fn words(&self) -> &'static Words;
    fn title(&self) -> String;

    /// The part of the trace it covers, if that is not all of it.
    fn window(&self) -> Option<String> {
        None
    }

    fn summary(&self) -> Document;

    /// What failed, and what is wrong with the data.
    fn warnings(&self) -> Vec<Line>;

    fn pictures(&self) -> Vec<Picture>;

    fn recommendations(&self) -> String;

    /// The text before the cards.
    fn lead(&self) -> Vec<String>;

    fn cards(&self) -> Vec<Card<'_>>;

    /// States that findings were left out.
    fn small(&self) -> Option<String>;

    fn details(&self) -> Vec<Part>;
    fn appendix(&self) -> Vec<Part>;
    fn steps(&self) -> Vec<Part>;
    fn raw(&self) -> Vec<Part>;

    /// The third section of the rough document.
    fn middle(&self) -> Vec<Part>;

    /// What could not be analyzed.
    fn gaps(&self) -> Document;

    /// Questions that somebody who knows the model can answer.
    fn questions(&self) -> Vec<String>;

    fn files(&self) -> Vec<File> {
        Vec::new()
    }

    /// Names of models and devices from the trace; they are used in sentences without quotes.
    fn names(&self) -> Vec<&str>;

    /// Names of operators and kernels that tables may quote; `None` if the traces are not available.
    fn quotable(&self) -> Option<Names> {
        None
    }

    fn needs_warnings(&self) -> bool;

    /// The rows of the summary's table, in order.
    fn rows(&self) -> &'static [&'static str];

    /// The operations that take the longest, with their times; `None` if no document lists them.
    fn bottlenecks(&self) -> Option<Vec<(String, i64)>> {
        None
    }

    fn shown(&self) -> Vec<Shown>;

    /// Parts that do not add up to their whole; `None` if nothing was measured.
    fn wrong_sums(&self) -> Option<Vec<String>>;

    /// Findings or rows that are out of order.
    fn wrong_order(&self) -> Vec<String>;

    /// Savings that exceed what is there.
    fn wrong_savings(&self) -> Vec<String>;

    /// Verdicts that do not follow from their figure, in `fair` too.
    fn wrong_judgments(&self, fair: &Document) -> Vec<String>;
}

/// What can be written about one trace, an [`Input`](single::Input), and about two, a
/// [`Comparison`](crate::compare::Comparison).
pub trait Documents {
    /// The document for decision makers.
    fn fair(&self) -> Document;

    /// The same with pictures, for one printed page.
    fn illustrated(&self) -> Document;

    /// The working notes for reviewers.
    fn rough(&self) -> Document;

    /// Checks all that is written: both documents and the files of each analysis, against each other and against their
    /// source.
    fn checks(&self) -> Vec<Check>;
}

impl<T: Documented> Documents for T {
    fn fair(&self) -> Document {
        fair(self, false)
    }

    fn illustrated(&self) -> Document {
        fair(self, true)
    }

    fn rough(&self) -> Document {
        let written = Written::new(self);
        let checks = written.checks();
        let mut document = written.rough;
        document.text(
            "Each rule is checked against the documents as they are written and the figures behind them.",
        );
        document.table(check::table(&checks));
        document
    }

    fn checks(&self) -> Vec<Check> {
        Written::new(self).checks()
    }
}

fn fair(subject: &dyn Documented, with_pictures: bool) -> Document {
    let words = subject.words();
    let mut document = Document::new(&subject.title());
    document.texts(subject.window());
    document.heading(2, "Executive Summary");
    document.append(subject.summary());
    let warnings = subject.warnings();
    if !warnings.is_empty() {
        document.heading(2, "Warnings");
        document.bullets(warnings);
    }
    if with_pictures {
        let pictures = subject.pictures().into_iter();
        document
            .blocks
            .extend(pictures.map(|(svg, caption)| Block::Picture {
                svg,
                caption: caption.to_owned(),
            }));
    }
    document.heading(2, &subject.recommendations());
    card::write(&mut document, subject);
    document.heading(2, words.details);
    for (at, (title, part)) in subject.details().into_iter().enumerate() {
        document.heading(3, &format!("{}. {title}", at + 1));
        document.append(part);
    }
    document.heading(2, "Appendix");
    write(&mut document, subject.appendix());
    document
}

/// The rough document up to the heading of the checks, which need it as input.
fn notes(subject: &dyn Documented) -> Document {
    let mut document = Document::new(&format!("{} (Rough)", subject.title()));
    document.texts(subject.window());
    let [steps, raw, middle, gaps, questions, checks] = subject.words().rough();
    document.heading(2, steps);
    for (at, (title, part)) in subject.steps().into_iter().enumerate() {
        document.heading(3, &format!("Step {}: {title}", at + 1));
        document.append(part);
    }
    document.heading(2, raw);
    write(&mut document, subject.raw());
    document.heading(2, middle);
    write(&mut document, subject.middle());
    document.heading(2, gaps);
    document.append(subject.gaps());
    document.heading(2, questions);
    let mut items = Document::default();
    items.bullets(subject.questions().iter().map(|item| line(item)));
    items.or_text("None.");
    document.append(items);
    document.heading(2, checks);
    document
}

/// Parts under level-3 headings; one without a title gets no heading.
fn write(document: &mut Document, parts: Vec<Part>) {
    for (title, part) in parts {
        if !title.is_empty() {
            document.heading(3, &title);
        }
        document.append(part);
    }
}
