//! The vocabulary of everything that a user reads: the field's terms, and American spelling.
//!
//! Checks every string in the sources outside of tests, since most of them appear on the page, in a document or on the
//! command line. Names from traces and other tools (kernels, operators, columns of the reference) are exempt and listed
//! in [`ALLOWED`].

use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::support::source;

/// Forbidden words, each with its replacement; a trailing `*` matches the start of a word.
const WORDS: &[(&str, &str)] = &[
    ("products", "GEMMs, matrix multiplications"),
    ("matrix product", "GEMM, matrix multiplication"),
    ("batched product", "batched GEMM"),
    ("roof", "roofline"),
    ("won", "saved"),
    ("wins", "saves"),
    ("host work", "CPU work"),
    ("host works", "CPU work"),
    ("host launches", "launch-bound; the CPU launches"),
    ("the host", "the CPU"),
    ("stands before", "precedes"),
    ("stands behind", "follows"),
    ("stands above", "calls"),
    ("stands below", "is called by"),
    ("how much work", "FLOPs and bytes"),
    ("unknown work", "no FLOP/byte model"),
    ("separate products", "expert GEMMs"),
    ("rounds", "waves"),
    ("stretched", "broadcast"),
    ("reordered operands", "non-contiguous, strided"),
    ("order of memory", "strided"),
    ("whole vectors", "misaligned (not 16-byte aligned)"),
    ("as the values say", "data-dependent output size"),
    ("in 32 bits", "FP32"),
    ("in 16 bits", "FP16, BF16"),
    ("gpu works", "GPU activity, kernels"),
    ("work of the gpu", "GPU activity, kernels"),
    ("gpu work", "GPU activity, kernels"),
    ("idles", "is idle"),
    ("idling", "idle time"),
    ("trouble", "issue"),
    ("mend", "fix"),
    ("reckon", "compute"),
    ("hangs on", "depends on"),
    ("hang on", "depend on"),
    ("held against", "compared with"),
    ("story", "details"),
    ("op models", "Custom perf models"),
    ("of the roof", "% of roofline"),
    ("gpu, own", "GPU self time"),
    ("cpu, own", "CPU self time"),
    ("leave the house", "share externally"),
    ("thousand million", "billion"),
    ("as it has to be", "as expected"),
    ("normalis*", "normaliz…"),
    ("quantis*", "quantiz…"),
    ("synchronis*", "synchroniz…"),
    ("optimis*", "optimiz…"),
    ("modelled", "modeled"),
    ("labelled", "labeled"),
    ("judgement*", "judgment"),
    ("recognis*", "recogniz…"),
    ("cancelled", "canceled"),
    ("neighbour*", "neighbor"),
    ("colour*", "color"),
    ("analysed", "analyzed"),
    ("licence", "license"),
    ("in the mean", "on average"),
    ("nothing hides", "exposed"),
    ("in mid-run", "during the run"),
    ("can be true", "valid"),
    ("cannot be told", "is unknown"),
    ("is not told", "is unknown"),
    ("are not told", "are unknown"),
    ("nothing tells", "unknown"),
    ("is judged by", "is compared with"),
    ("are judged by", "are compared with"),
    ("looked at", "checked, profiled"),
    ("holds the others up", "delays the others"),
    ("so many steps", "N steps"),
];

/// Texts in which such a word is a name.
const ALLOWED: &[&str] = &[
    // A column and a row.
    "Outer products",
    // Memory of the CPU, in the terms of CUDA and HIP.
    "host memory",
    // What documents must not claim.
    "closer to the roof",
];

#[test]
fn users_read_the_words_of_the_field() {
    let mut found = Vec::new();
    for (file, text) in texts().into_iter().chain(documents()) {
        let mut prose = without_code(&text);
        for name in ALLOWED {
            prose = prose.replace(name, "");
        }
        let prose = prose.to_lowercase();
        for (word, instead) in WORDS {
            if has_phrase(&prose, word) {
                found.push(format!("{file}: “{word}” ({instead}) in {text:?}"));
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} texts:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// British spellings, as in names of the code.
const BRITISH: &[&str] = &[
    "modelled",
    "modelling",
    "labelled",
    "judgement",
    "ecognis",
    "ptimise",
    "uantis",
    "ynchronis",
    "ormalis",
    "nitialis",
    "ancelled",
    "neighbour",
    "olour",
    "nalysed",
    "ehaviour",
];

/// The code is searched with the words of texts: one spelling for both.
#[test]
fn names_are_spelled_as_texts_are() {
    let folders = [
        "core/src",
        "app/src",
        "cli/src",
        "cli/tests",
        "xtask/src",
        "tests",
    ];
    let files = folders.iter().flat_map(|folder| {
        let files = source::files(folder, "rs").into_iter();
        files.map(move |(path, text)| (format!("{folder}/{}", path.display()), text))
    });
    let mut found = Vec::new();
    for (file, text) in files.filter(|(file, _)| file != "tests/words.rs") {
        for (at, line) in text.lines().enumerate() {
            let line = line.replace("labelledby", "");
            if BRITISH.iter().any(|word| line.contains(word)) {
                found.push(format!("{file}:{}: {}", at + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn phrases_are_whole_words() {
    assert!(has_phrase("far from the roof.", "roof"));
    assert!(!has_phrase("% of roofline", "roof"));
    assert!(has_phrase("is synchronised", "synchronis*"));
    assert_eq!(without_code("run `host work` now"), "run  now");
}

/// The strings of the sources and the help texts of the command line, each with its file.
fn texts() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["core/src", "app/src", "cli/src"] {
        let files = source::files(folder, "rs").into_iter();
        for (path, source) in files.filter(|(path, _)| !is_test(path)) {
            let mut texts = Texts {
                with_docs: folder == "cli/src" && path.with_extension("").starts_with("args"),
                found: Vec::new(),
            };
            texts.visit_file(&syn::parse_file(&source).unwrap());
            // A single word is a key of a file, a class of a style sheet or a name of another tool.
            let sentences = texts.found.into_iter().filter(|text| text.contains(' '));
            found.extend(sentences.map(|text| (format!("{folder}/{}", path.display()), text)));
        }
    }
    found
}

/// The lines of the documentation outside of code blocks, each with its file.
fn documents() -> Vec<(String, String)> {
    let readmes = ["README.md", "python/README.md"].map(|name| {
        let text = fs::read_to_string(source::path(name)).unwrap();
        (name.to_owned(), text)
    });
    let docs = source::files("docs", "md").into_iter();
    let docs = docs.map(|(path, text)| (format!("docs/{}", path.display()), text));
    let all = readmes.into_iter().chain(docs);
    all.flat_map(|(name, text)| {
        let prose = text.split("```").step_by(2).flat_map(str::lines);
        let lines = prose.map(|line| (name.clone(), line.to_owned()));
        lines.collect::<Vec<(String, String)>>()
    })
    .collect()
}

/// Whether a phrase occurs between other words; one with `*` behind it at the beginning of one.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let stem = phrase.strip_suffix('*');
    let phrase = stem.unwrap_or(phrase);
    text.match_indices(phrase).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text
            .get(at + phrase.len()..)
            .and_then(|after| after.chars().next());
        let is_letter =
            |letter: Option<char>| letter.is_some_and(|one| one.is_alphanumeric() || one == '_');
        !is_letter(before) && (stem.is_some() || !is_letter(after))
    })
}

/// Removes text in backticks: switches, function names.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect()
}

/// Whether a source file belongs to tests: by its name, or that of a folder.
fn is_test(path: &Path) -> bool {
    let path = path.with_extension("");
    path.iter().any(|name| {
        let name = name.to_str().unwrap();
        matches!(name, "tests" | "testing" | "samples" | "sample") || name.ends_with("_tests")
    })
}

/// Collects the strings of a file.
struct Texts {
    /// Whether doc comments count, which are help texts in definitions of arguments.
    with_docs: bool,
    found: Vec<String>,
}

impl Texts {
    fn of_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.of_tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                        self.found.push(text.value());
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if self.with_docs && attribute.path().is_ident("doc") {
            visit::visit_attribute(self, attribute);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !module.ident.to_string().ends_with("tests") {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.found.push(text.value());
    }

    fn visit_macro(&mut self, one: &'ast syn::Macro) {
        self.of_tokens(one.tokens.clone());
    }
}
