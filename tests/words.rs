//! The vocabulary of everything that a user reads: the field's terms, and American spelling.
//!
//! Checks every string in the sources outside of tests, since most of them appear on the page, in a document or on the
//! command line. Names from traces and other tools (kernels, operators, columns of the reference) are exempt and listed
//! in [`ALLOWED`].

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
    ("neighbour*", "neighbor"),
    ("colour*", "color"),
    ("analysed", "analyzed"),
];

/// Texts in which such a word is a name.
const ALLOWED: &[&str] = &[
    // A column and a row.
    "Outer products",
    // What documents must not claim.
    "closer to the roof",
];

#[test]
fn users_read_the_words_of_the_field() {
    let mut found = Vec::new();
    for folder in ["core/src", "app/src", "cli/src"] {
        let files = source::files(folder, "rs").into_iter();
        for (path, source) in files.filter(|(path, _)| !is_test(path)) {
            let file = syn::parse_file(&source).unwrap();
            let mut texts = Texts(Vec::new());
            texts.visit_file(&file);
            // A single word is a file key, a class of a style sheet or a name from another tool.
            for text in texts.0.into_iter().filter(|text| text.contains(' ')) {
                let prose = without_code(&text).to_lowercase();
                for (word, instead) in WORDS {
                    if has_phrase(&prose, word) && !ALLOWED.iter().any(|name| text.contains(name)) {
                        found.push(format!(
                            "{folder}/{}: “{word}” ({instead}) in {text:?}",
                            path.display()
                        ));
                    }
                }
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

#[test]
fn phrases_are_whole_words() {
    assert!(has_phrase("far from the roof.", "roof"));
    assert!(!has_phrase("% of roofline", "roof"));
    assert!(has_phrase("is synchronised", "synchronis*"));
    assert_eq!(without_code("run `host work` now"), "run  now");
}

/// Whether a phrase occurs as whole words; with a trailing `*`, at the start of a word.
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
struct Texts(Vec<String>);

impl Texts {
    fn of_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.of_tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                        self.0.push(text.value());
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !module.ident.to_string().ends_with("tests") {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.0.push(text.value());
    }

    fn visit_macro(&mut self, one: &'ast syn::Macro) {
        self.of_tokens(one.tokens.clone());
    }
}
